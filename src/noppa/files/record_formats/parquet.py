"""Parquet: a row a record, in batches that are bounded by bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from noppa.errors import FileError, NoppaError, ParameterError
from noppa.extras import needs
from noppa.files.batch import Batch
from noppa.files.columns import Fields, Selection, text_column
from noppa.files.record_file import CuttableFile, WholeFile
from noppa.files.record_formats.record_format import Section, in_parallel

#: Rows of a batch at most: the size of compressed pages is unknown before they are read.
ROWS = 256
#: Bytes of a batch, as far as the metadata tell.
BYTES = 32 << 20
STRING_TYPES = ("string", "large_string", "string_view")


def pyarrow_parquet() -> Any:
    """pyarrow's module for Parquet, or an error that names what to install."""
    with needs("parquet", "Parquet"):
        import pyarrow.parquet as parquet
    return parquet


class Parquet:
    unit = "record"

    def stream(self, file: WholeFile, selection: Selection) -> Iterator[Batch]:
        with _explained(file.address), _opened(file) as table:
            schema = table.schema_arrow
            name = _text_name(schema, selection, file.address)
            size, rows = file.size(), max(1, table.metadata.num_rows + 1)
            number = 1
            columns = schema.names if selection.records else [name]
            for arrow in _batches(file, table, range(table.metadata.num_row_groups), columns):
                texts, bad = _texts(arrow.column(name), name)
                number += len(texts)
                records = arrow.select(columns).to_pylist() if selection.records else None
                yield Batch(texts, bad, size * number // rows, records=records, column=name)

    def schema(self, file: WholeFile) -> Any:
        """The Arrow schema of all columns."""
        with _explained(file.address), _opened(file) as table:
            return table.schema_arrow

    def tables(self, file: WholeFile) -> Iterator[Any]:
        """All rows with all their columns, as Arrow record batches."""
        with _explained(file.address), _opened(file) as table:
            groups = range(table.metadata.num_row_groups)
            yield from _batches(file, table, groups, table.schema_arrow.names)

    def divide(
        self,
        files: Sequence[CuttableFile],
        sizes: Sequence[int],
        selection: Selection,
        section_size: int,
    ) -> tuple[Fields, list[list[Section]]]:
        footers = in_parallel(_footer, files)
        schema = footers[0][0]
        for file, (other, _) in zip(files, footers, strict=True):
            if not other.equals(schema):
                raise ParameterError(
                    f"{file.address} has other columns than {files[0].address}: encode them one after the other"
                )
        text = _text_name(schema, selection, files[0].address)
        fields = Fields.of("parquet", text, schema, selection)
        return fields, [_sections(metadata, text, section_size) for _, metadata in footers]

    def read(self, file: CuttableFile, start: int, stop: int, fields: Fields) -> Iterator[Batch]:
        names = fields.schema.names
        columns = names if fields.text in names else [*names, fields.text]
        with _explained(file.address), _opened(file) as table:
            row, groups = _row_groups(table.metadata, start, stop)
            for arrow in _batches(file, table, groups, columns):
                first, last = max(start - row, 0), min(stop - row, len(arrow))
                row += len(arrow)
                if first < last:
                    part = arrow.slice(first, last - first)
                    texts, bad = _texts(part.column(fields.text), fields.text)
                    yield Batch(texts, bad, columns=part.select(names))


# Opening


@contextmanager
def _opened(file: WholeFile, **options: Any) -> Iterator[Any]:
    """An open `pyarrow.parquet.ParquetFile`."""
    parquet = pyarrow_parquet()
    source = file.random_access()
    try:
        with parquet.ParquetFile(source, **options) as table:
            yield table
    finally:
        if not isinstance(source, str):
            source.close()


def _footer(file: CuttableFile) -> tuple[Any, Any]:
    """The Arrow schema and the metadata of a file."""
    with _explained(file.address), _opened(file) as table:
        return table.schema_arrow, table.metadata


@contextmanager
def _explained(address: str) -> Iterator[None]:
    """Turn errors of pyarrow into one sentence."""
    pyarrow_parquet()
    import pyarrow

    try:
        yield
    except NoppaError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, KeyError) as error:
        why = str(error).partition("\n")[0] or type(error).__name__
        raise FileError(
            f"{address} cannot be read as Parquet: {why}; write or fetch it again"
        ) from error


def _text_name(schema: Any, selection: Selection, address: str) -> str:
    """The name of the column with the text, which must hold strings."""
    at = text_column(schema.names, selection.column, address)
    name, kind = schema.names[at], schema.field(at).type
    plain = kind.value_type if str(kind).startswith("dictionary") else kind
    if str(plain) not in STRING_TYPES:
        raise ParameterError(
            f"column {name!r} of {address} holds {kind}, not strings: choose another with --column"
        )
    return str(name)


# Cutting


def _sections(metadata: Any, text: str, section_size: int) -> list[Section]:
    """Ranges of rows: small row groups together, large ones divided."""
    columns = range(metadata.num_columns)
    column = next(at for at in columns if metadata.schema.column(at).path == text)
    sections: list[Section] = []
    row = start = size = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        rows, group_size = group.num_rows, group.column(column).total_uncompressed_size
        if size and size + group_size > section_size:
            sections.append(Section(start, row, size, start))
            start, size = row, 0
        pieces = min(-(-group_size // section_size), rows)
        if pieces > 1:
            cuts = [row + rows * at // pieces for at in range(pieces + 1)]
            sections += [
                Section(first, last, group_size // pieces, first) for first, last in pairwise(cuts)
            ]
            start, size = row + rows, 0
        else:
            size += group_size
        row += rows
    if row > start:
        sections.append(Section(start, row, size, start))
    return sections


def _row_groups(metadata: Any, start: int, stop: int) -> tuple[int, list[int]]:
    """The row groups that hold the rows from `start` up to `stop`, and the number of their first row."""
    row, first_row = 0, 0
    groups: list[int] = []
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group).num_rows
        if row < stop and row + rows > start:
            if not groups:
                first_row = row
            groups.append(group)
        row += rows
    return first_row, groups


# Reading


def _batches(
    file: WholeFile, table: Any, groups: Iterable[int], columns: list[str]
) -> Iterator[Any]:
    """Arrow record batches of some row groups, in order, each of about `BYTES` at most."""
    types = {field.name: str(field.type) for field in table.schema_arrow}  # also dictionary<string>
    strings = [name for name in columns if "string" in types[name] or "binary" in types[name]]
    with _opened(file, read_dictionary=strings) as dictionaries:
        for group in groups:
            rows = _rows_of_batch(table.metadata.row_group(group), dictionaries, group, strings)
            yield from table.iter_batches(rows, row_groups=[group], columns=columns)


def _rows_of_batch(metadata: Any, dictionaries: Any, group: int, strings: list[str]) -> int:
    """How many rows of a group to decode at a time: one long string in a dictionary may stand for every row."""
    import pyarrow.compute as compute

    row_size: int = max(0, metadata.total_byte_size) // max(1, metadata.num_rows)
    first = dictionaries.iter_batches(1, row_groups=[group], columns=strings) if strings else ()
    for batch in first:
        for column in batch.columns:
            if hasattr(column, "dictionary"):  # nested columns have none
                row_size += compute.max(compute.binary_length(column.dictionary)).as_py() or 0
        break
    return max(1, min(ROWS, BYTES // max(1, row_size)))


def _texts(column: Any, name: str) -> tuple[list[str | None], list[tuple[int, str]]]:
    """The strings of an Arrow array, None for a bad one, and the index and fault of each bad one."""
    try:
        texts = column.to_pylist()
    except UnicodeDecodeError:
        return _decoded(column)
    bad = [(at, f"its {name!r} is null") for at, text in enumerate(texts) if text is None]
    return texts, bad


def _decoded(column: Any) -> tuple[list[str | None], list[tuple[int, str]]]:
    """The same, value by value, of an array where some string is not UTF-8."""
    texts: list[str | None] = []
    bad = []
    for at, value in enumerate(column):
        try:
            text, fault = value.as_py(), "it is null"
        except UnicodeDecodeError:
            text, fault = None, "it is not UTF-8"
        texts.append(text)
        if text is None:
            bad.append((at, fault))
    return texts, bad

"""What records are made of: the columns of the input, and those of the output."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from noppa.cluster.places import Place
from noppa.cluster.rows import QUOTING
from noppa.errors import FileError, ParameterError
from noppa.records.batch import TEXT, Input, is_clean
from noppa.records.lines import lines_of, parsed
from noppa.records.parquet import explained, pyarrow_parquet, require_strings
from noppa.records.tables import column_of, rows_of

#: Files of JSON lines to look into for their fields, and lines of each.
FILES_SEEN = 16
LINES_SEEN = 1000
#: What a field of JSON becomes; everything else, and a mixture, is kept as the JSON that it was.
KINDS = {bool: "bool", int: "int64", float: "double", str: "string"}
JSON = "json"
REST = "other_fields"


@dataclass(frozen=True)
class Fields:
    """The format, the columns of a record in the file, which of them has the text, and which are kept."""

    form: str
    names: list[str]
    text: str
    header: bool
    encoded: str
    """The Arrow schema of the kept columns, serialised."""

    @cached_property
    def schema(self) -> Any:
        import pyarrow

        return pyarrow.ipc.read_schema(pyarrow.py_buffer(base64.b64decode(self.encoded)))

    @property
    def text_at(self) -> int:
        return self.names.index(self.text)


def fields_of(
    form: str, names: list[str], text: str, header: bool, schema: Any, keep: Sequence[str] | None
) -> Fields:
    if keep is not None:
        unknown = [name for name in keep if name not in schema.names]
        if unknown:
            raise ParameterError(
                f"there is no column {unknown[0]!r} to keep: choose from {', '.join(schema.names)}"
            )
        import pyarrow

        schema = pyarrow.schema([schema.field(name) for name in keep])
    return Fields(form, names, text, header, base64.b64encode(schema.serialize()).decode())


def table_of(
    places: list[Place],
    form: str,
    wanted: Input,
    keep: Sequence[str] | None,
    pool: ThreadPoolExecutor,
) -> tuple[Fields, list[Any]]:
    """What the records of all files are made of, and the opened files where they are Parquet."""
    pyarrow_parquet()
    import pyarrow

    if form == "parquet":
        tables = list(pool.map(opened, places))
        return _parquet(places, tables, wanted, keep), tables
    if form == "lines":
        text = wanted.column or TEXT
        plain = pyarrow.schema([(text, pyarrow.string())])
        return fields_of(form, [text], text, False, plain, keep), []
    if form == "jsonl":
        schema = _json_schema(places, wanted.column or TEXT)
        return fields_of(form, schema.names, wanted.column or TEXT, False, schema, keep), []
    heads = list(pool.map(lambda place: _head(place, form), places))
    full = [at for at, head in enumerate(heads) if head]
    if not full:
        raise FileError(f"{places[0]} is empty: there is no row in it")
    head = heads[full[0]]
    if wanted.header:
        for at in full:
            if heads[at] != head:
                raise ParameterError(
                    f"{places[at]} has other columns than {places[full[0]]}: encode them one after the other"
                )
    names = head if wanted.header else [f"column{at}" for at in range(1, len(head) + 1)]
    names = [name or f"column{at}" for at, name in enumerate(names, 1)]
    if not all(map(is_clean, names)):
        raise FileError(f"{places[full[0]]}: its first row is not UTF-8; mend it")
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ParameterError(f"{places[full[0]]} has two columns {repeated!r}: rename one")
    text = names[column_of(head if wanted.header else None, wanted.column, places[full[0]].address)]
    schema = pyarrow.schema([(name, pyarrow.string()) for name in names])
    return fields_of(form, names, text, wanted.header, schema, keep), []


def opened(place: Place, **options: Any) -> Any:
    """A file of Parquet, with its table of contents read."""
    parquet = pyarrow_parquet()
    with explained(place.address):
        return parquet.ParquetFile(place.stream(), **options)


def _parquet(
    places: list[Place], tables: list[Any], wanted: Input, keep: Sequence[str] | None
) -> Fields:
    schema = tables[0].schema_arrow
    for place, table in zip(places, tables, strict=True):
        if not table.schema_arrow.equals(schema):
            raise ParameterError(
                f"{place} has other columns than {places[0]}: encode them one after the other"
            )
    text = schema.names[column_of(schema.names, wanted.column, places[0].address)]
    require_strings(schema.field(text).type, text, places[0].address)
    return fields_of("parquet", schema.names, text, False, schema, keep)


def _head(place: Place, form: str) -> list[str]:
    delimiter, quoting = QUOTING[form]
    source = place.source()
    try:
        text = io.TextIOWrapper(source.stream, "utf-8-sig", "surrogateescape", newline="")
        first = next(rows_of(text, delimiter, quoting, place.address), [[]])[0]
        text.detach()
    finally:
        source.close()
    return first


def _json_schema(places: list[Place], text: str) -> Any:
    """A column for each field that the first lines of some files have, and one for whatever comes later."""
    import pyarrow

    kinds: dict[str, set[str]] = {text: {"string"}}
    step = -(-len(places) // FILES_SEEN)
    for place in places[::step]:
        source = place.source()
        try:
            lines = (line for some, _ in lines_of(source, place.address) for line in some)
            for line in islice(lines, LINES_SEEN):
                value = parsed(line, text)[0] if line is not None else None
                for name, item in value.items() if isinstance(value, dict) else ():
                    if name != text and is_clean(name):
                        seen = kinds.setdefault(name, set())
                        seen |= set() if item is None else {KINDS.get(type(item), JSON)}
        finally:
            source.close()
    rest = REST
    while rest in kinds:
        rest += "_"
    columns = []
    for name, seen in kinds.items():
        kind = "double" if seen == {"int64", "double"} else JSON
        kind = next(iter(seen)) if len(seen) == 1 else kind
        arrow = pyarrow.string() if kind == JSON else pyarrow.type_for_alias(kind)
        columns.append(pyarrow.field(name, arrow, metadata={"kind": kind}))
    columns.append(pyarrow.field(rest, pyarrow.string(), metadata={"kind": "rest"}))
    return pyarrow.schema(columns)

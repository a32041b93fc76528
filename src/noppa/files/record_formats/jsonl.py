"""JSON lines: an object with the column a line, or a plain string."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Any

from noppa.files.batch import Batch, is_clean
from noppa.files.columns import TEXT, Fields, Selection
from noppa.files.record_file import CuttableFile, WholeFile
from noppa.files.record_formats.byte_ranges import LineFormat, open_lines
from noppa.files.record_formats.lines import line_batches
from noppa.files.text_source import text_source
from noppa.io.compression import Source

#: How many files are sampled for the columns, and lines of each.
SAMPLED_FILES = 16
SAMPLED_LINES = 1000
#: The Arrow type of each JSON type. A column of other or mixed types holds its values as JSON text.
ARROW_TYPES = {bool: "bool", int: "int64", float: "double", str: "string"}
JSON, REST = "json", "rest"
#: The column for values that fit no other: fields that the samples lack, or of another type than there.
OTHER_FIELDS = "other_fields"
#: Bounds of int64, and of the integers that float64 holds exactly.
INT64, EXACT_IN_DOUBLE = 1 << 63, 1 << 53

ARRAY = "a file that is one array is read with --from json"
TYPE_NAMES = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    list: "a list",
    str: "a string",
}


class JsonLines(LineFormat):
    name = "jsonl"
    unit = "line"

    def batches(self, source: Source, address: str, first: bool = True) -> Iterator[Batch]:
        """JSON values as they are written, some at a time; `first` says that a source may begin with a byte order mark."""
        return line_batches(source, address, first)

    def stream(self, file: WholeFile, selection: Selection) -> Iterator[Batch]:
        with closing(text_source(file, selection.encoding)) as source:
            column = selection.column or TEXT
            for batch, values in _parsed_batches(self.batches(source, file.address), column):
                if selection.records:
                    batch.column = column
                    batch.records = [
                        value if isinstance(value, dict) else {column: value} for value in values
                    ]
                yield batch

    def fields(self, files: Sequence[CuttableFile], selection: Selection) -> Fields:
        """A column for each field in the first lines of some files, and one for whatever comes later."""
        text = selection.column or TEXT
        types: dict[str, set[str]] = {text: {"string"}}
        for file in files[:: -(-len(files) // SAMPLED_FILES)]:
            with closing(text_source(file, selection.encoding)) as source:
                values = _values(self.batches(source, file.address), text)
                for value in islice(values, SAMPLED_LINES):
                    _add_types(value, types, text)
        return Fields.of(self.name, text, _schema(types), selection)

    def read(self, file: CuttableFile, start: int, stop: int, fields: Fields) -> Iterator[Batch]:
        with closing(open_lines(file, start, stop, fields.encoding)) as source:
            batches = _parsed_batches(self.batches(source, file.address, start == 0), fields.text)
            for batch, values in batches:
                batch.columns = _columns(batch.texts, values, fields)
                yield batch


def _parsed_batches(batches: Iterator[Batch], column: str) -> Iterator[tuple[Batch, list[Any]]]:
    """The texts of JSON lines, and the JSON values that they stand in; None for a line that is no JSON."""
    for lines in batches:
        texts: list[str | None] = []
        values: list[Any] = []
        bad = list(lines.bad)
        for at, line in enumerate(lines.texts):
            value, text, fault = (None, None, "") if line is None else _parsed(line, column)
            if fault:
                bad.append((at, fault))
            texts.append(text)
            values.append(value)
        yield Batch(texts, sorted(bad), lines.position), values


def _parsed(line: str, column: str) -> tuple[Any, str | None, str]:
    """The JSON value of a line, its text, and the fault of a line without one."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        if line.lstrip().startswith("["):
            return None, None, f"it is no JSON ({error}); {ARRAY}"
        return None, None, f"it is no JSON ({error})" if line.strip() else "it is blank"
    if isinstance(value, str):
        text, fault = value, ""
    elif not isinstance(value, dict):
        more = f"; {ARRAY}" if isinstance(value, list) else ""
        return value, None, f"it is {_type_name(value)}{more}"
    elif column not in value:
        return value, None, f"it has no {column!r}"
    else:
        text = value[column]
        fault = "" if isinstance(text, str) else f"its {column!r} is {_type_name(text)}"
    if not fault and not is_clean(text):
        fault = "it holds half of a surrogate pair, which is no character"
    return value, None if fault else text, fault


def _type_name(value: Any) -> str:
    return TYPE_NAMES.get(type(value), "an object")


# Columns


def _values(batches: Iterator[Batch], column: str) -> Iterator[Any]:
    for batch in batches:
        for line in batch.texts:
            yield None if line is None else _parsed(line, column)[0]


def _add_types(value: Any, types: dict[str, set[str]], text: str) -> None:
    for name, item in value.items() if isinstance(value, dict) else ():
        if name != text and is_clean(name):
            seen = types.setdefault(name, set())
            if item is not None:
                seen.add(ARROW_TYPES.get(type(item), JSON))


def _schema(types: dict[str, set[str]]) -> Any:
    """An Arrow schema whose metadata say how each column holds its values: its type, `JSON` or `REST`."""
    import pyarrow

    rest = OTHER_FIELDS
    while rest in types:
        rest += "_"
    columns = []
    for name, seen in types.items():
        kind = "double" if seen == {"int64", "double"} else JSON
        kind = next(iter(seen)) if len(seen) == 1 else kind
        arrow = pyarrow.string() if kind == JSON else pyarrow.type_for_alias(kind)
        columns.append(pyarrow.field(name, arrow, metadata={"kind": kind}))
    columns.append(pyarrow.field(rest, pyarrow.string(), metadata={"kind": REST}))
    return pyarrow.schema(columns)


def _columns(texts: list[str | None], values: list[Any], fields: Fields) -> Any:
    """The columns to keep, as an Arrow record batch."""
    import pyarrow

    kinds = {field.name: field.metadata[b"kind"].decode() for field in fields.schema}
    rest = next((name for name, kind in kinds.items() if kind == REST), None)
    columns: dict[str, list[Any]] = {name: [None] * len(values) for name in kinds}
    for at, (text, value) in enumerate(zip(texts, values, strict=True)):
        if isinstance(value, dict):
            misfits = _place(value, columns, kinds, at)
            if misfits and rest is not None:
                columns[rest][at] = _json(misfits)
        elif text is not None and fields.text in columns:
            columns[fields.text][at] = text
    arrays = [pyarrow.array(columns[field.name], field.type) for field in fields.schema]
    return pyarrow.record_batch(arrays, schema=fields.schema)


def _place(
    value: dict[str, Any], columns: dict[str, list[Any]], kinds: dict[str, str], at: int
) -> dict[str, Any]:
    """Put the fields of an object into row `at` of their columns, and give back those that fit nowhere."""
    misfits = {}
    for name, item in value.items():
        kind = kinds.get(name, "")
        if item is None:
            continue
        if kind == JSON:
            columns[name][at] = _json(item)
        elif _fits(item, kind):
            columns[name][at] = item
        else:
            misfits[name] = item
    return misfits


def _fits(item: Any, kind: str) -> bool:
    if kind == "string":
        return isinstance(item, str) and is_clean(item)
    if kind == "bool":
        return isinstance(item, bool)
    if kind == "int64":
        return type(item) is int and -INT64 <= item < INT64
    return kind == "double" and (
        type(item) is float or (type(item) is int and abs(item) <= EXACT_IN_DOUBLE)
    )


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if is_clean(text) else json.dumps(value)

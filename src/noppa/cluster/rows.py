"""A shard's records: the columns to keep as Arrow, the texts, and what is wrong with the bad ones."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from noppa.cluster.places import Place, explained
from noppa.errors import FileError
from noppa.io.compression import Source
from noppa.records import parquet
from noppa.records.batch import is_clean
from noppa.records.lines import lines_of, parsed
from noppa.records.tables import cell_of, rows_of

if TYPE_CHECKING:
    from noppa.cluster.fields import Fields
    from noppa.cluster.plan import Shard

#: Delimiter and quoting of each kind of table, as `noppa encode` reads them.
QUOTING = {"csv": (",", csv.QUOTE_MINIMAL), "tsv": ("\t", csv.QUOTE_NONE)}
BEYOND = 1 << 16
WIDEST = 1 << 63


@dataclass
class Rows:
    """Some records one after the other: kept columns, texts with None for a bad one, and why each bad one is."""

    columns: Any
    texts: list[str | None]
    bad: list[tuple[int, str]]


def rows_of_shard(shard: Shard, fields: Fields) -> Iterator[Rows]:
    """The records of a shard, in order, a few thousand at a time."""
    place = Place.of(shard.address)
    with explained(f"{shard.address} cannot be read"):
        if fields.form == "parquet":
            yield from _parquet(place, shard, fields)
            return
        source = place.source() if shard.stop < 0 else _part(place, shard, fields.form)
        try:
            yield from READERS[fields.form](source, shard, fields)
        finally:
            source.close()


def _part(place: Place, shard: Shard, form: str) -> Source:
    """The lines that begin within a range of bytes; that of CSV ends where a row does already."""
    if form == "csv":
        content = place.content(shard.start, shard.stop)
    else:
        # the byte before tells whether the range begins with a line
        content = place.content(max(shard.start - 1, 0), shard.stop)
        begin = content.find(b"\n") + 1 if shard.start else 0
        if shard.start and not begin:
            content = b""  # all of it belongs to a line that began earlier
        else:
            content = content[begin:]
            if content and not content.endswith(b"\n"):
                content += _rest_of_line(place, shard.stop)
    stream = io.BytesIO(content)
    return Source(stream, "none", stream, len(content))


def _rest_of_line(place: Place, at: int) -> bytes:
    parts = []
    while part := place.content(at, at + BEYOND):
        end = part.find(b"\n") + 1
        parts.append(part[:end] if end else part)
        if end or len(part) < BEYOND:
            break
        at += len(part)
    return b"".join(parts)


def _lines(source: Source, shard: Shard, fields: Fields) -> Iterator[Rows]:
    import pyarrow

    for texts, bad in lines_of(source, shard.address, marked=shard.start == 0):
        arrays = [pyarrow.array(texts, pyarrow.string()) for _ in fields.schema]
        yield Rows(pyarrow.record_batch(arrays, schema=fields.schema), texts, bad)


def _jsonl(source: Source, shard: Shard, fields: Fields) -> Iterator[Rows]:
    import pyarrow

    kinds = {field.name: field.metadata[b"kind"].decode() for field in fields.schema}
    rest = next((name for name, kind in kinds.items() if kind == "rest"), None)
    for lines, faults in lines_of(source, shard.address, marked=shard.start == 0):
        columns: dict[str, list[Any]] = {name: [None] * len(lines) for name in kinds}
        texts: list[str | None] = []
        bad = list(faults)
        for at, line in enumerate(lines):
            value: Any = None
            text = None
            if line is not None:
                value, text, fault = parsed(line, fields.text)
                if fault:
                    bad.append((at, fault))
            texts.append(text)
            if isinstance(value, dict):
                left = _place(value, columns, kinds, at)
                if left and rest is not None:
                    columns[rest][at] = _json(left)
            elif text is not None and fields.text in columns:
                columns[fields.text][at] = text
        arrays = [pyarrow.array(columns[field.name], field.type) for field in fields.schema]
        yield Rows(pyarrow.record_batch(arrays, schema=fields.schema), texts, sorted(bad))


def _place(
    value: dict[str, Any], columns: dict[str, list[Any]], kinds: dict[str, str], at: int
) -> dict[str, Any]:
    """Put the fields of an object where they fit, and give back those that fit nowhere."""
    left = {}
    for name, item in value.items():
        kind = kinds.get(name, "")
        if kind == "json" and item is not None:
            columns[name][at] = _json(item)
        elif item is None or _fits(item, kind):
            if kind and kind != "rest":
                columns[name][at] = item
            elif item is not None:
                left[name] = item
        else:
            left[name] = item
    return left


def _fits(item: Any, kind: str) -> bool:
    if kind == "string":
        return isinstance(item, str) and is_clean(item)
    if kind == "bool":
        return isinstance(item, bool)
    if kind == "int64":
        return type(item) is int and -WIDEST <= item < WIDEST
    return kind == "double" and (
        type(item) is float or (type(item) is int and abs(item) <= 1 << 53)
    )


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if is_clean(text) else json.dumps(value)


def _table(source: Source, shard: Shard, fields: Fields) -> Iterator[Rows]:
    import pyarrow

    first = shard.start == 0
    encoding = "utf-8-sig" if first else "utf-8"
    text = io.TextIOWrapper(source.stream, encoding, "surrogateescape", newline="")
    places = [fields.names.index(name) for name in fields.schema.names]
    where = shard.address + (f", after byte {shard.start}" if shard.start else "")
    try:
        blocks = rows_of(text, *QUOTING[fields.form], where)
        if first and fields.header:
            next(blocks, None)
        for some in blocks:
            texts: list[str | None] = []
            bad = []
            for at, row in enumerate(some):
                value, fault = cell_of(row, fields.text_at)
                if not fault and len(row) > len(fields.names):
                    fault = f"it has {len(row)} columns and the table has {len(fields.names)}"
                if fault:
                    value = None
                    bad.append((at, fault))
                texts.append(value)
            arrays = [
                pyarrow.array([_cell(row, place) for row in some], pyarrow.string())
                for place in places
            ]
            yield Rows(pyarrow.record_batch(arrays, schema=fields.schema), texts, bad)
    finally:
        text.detach()


def _cell(row: list[str], place: int) -> str | None:
    if place >= len(row):
        return None
    return row[place] if is_clean(row[place]) else row[place].encode("utf-8", "replace").decode()


def _parquet(place: Place, shard: Shard, fields: Fields) -> Iterator[Rows]:
    from noppa.cluster.fields import opened

    kept = fields.schema.names
    read = kept if fields.text in kept else [*kept, fields.text]
    with parquet.explained(place.address), opened(place) as table:
        row, groups = 0, []
        for group in range(table.metadata.num_row_groups):
            rows = table.metadata.row_group(group).num_rows
            if row < shard.stop and row + rows > shard.start:
                groups.append((group, row))
            row += rows
        if not groups:
            return
        row = groups[0][1]
        numbers = [group for group, _ in groups]
        for batch in parquet.batches_of(table, partial(opened, place), numbers, read):
            begin, end = max(shard.start - row, 0), min(shard.stop - row, len(batch))
            row += len(batch)
            if begin >= end:
                continue
            some = batch.slice(begin, end - begin)
            texts, bad = parquet.texts_of(some.column(fields.text), fields.text)
            yield Rows(some.select(kept), texts, bad)


READERS = {"lines": _lines, "jsonl": _jsonl, "csv": _table, "tsv": _table}


def row_ends(
    place: Place, wanted: list[int], quoting: tuple[str, int], header: bool
) -> Iterator[tuple[int, int]]:
    """For each wanted byte the end of the first row that ends there or later, and the records that end before that.

    The reader itself tells where rows end, so that whatever it takes for quoted is quoted.
    """
    csv.field_size_limit(1 << 30)
    read = 0

    def lines(text: Any) -> Iterator[str]:
        nonlocal read
        for line in text:
            read += len(line)
            yield line

    with place.stream() as file:
        text = io.TextIOWrapper(file, "latin-1", newline="")  # a character is a byte
        delimiter, kind = quoting
        rows = csv.reader(lines(text), delimiter=delimiter, quoting=kind)  # type: ignore[arg-type]
        count = -1 if header else 0
        left = iter(wanted)
        goal = next(left, None)
        try:
            for _ in rows:
                count += 1
                while goal is not None and read >= goal:
                    yield read, count
                    goal = next(left, None)
                if goal is None:
                    break
        except csv.Error as error:
            raise FileError(f"{place}, line {rows.line_num}: {error}; mend the file") from error
        finally:
            text.detach()

"""Inputs to shards: which part of which file each task reads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from noppa.cluster.fields import Fields, table_of
from noppa.cluster.places import Place, explained
from noppa.cluster.rows import QUOTING, row_ends
from noppa.errors import FileError, ParameterError
from noppa.io.compression import MAGIC
from noppa.records.batch import Input

#: Bytes of text of a shard: a second or so of work, and a part of a few hundred megabytes.
SHARD_SIZE = 16 << 20
LOOKING = 16


@dataclass(frozen=True)
class Shard:
    """Records of one file: those that begin from byte `start` up to `stop`, or the rows of Parquet with these numbers.

    `stop` is -1 for a file that has to be read whole. `before` tells how many records of the file come before it, None
    where nobody has counted.
    """

    number: int
    address: str
    start: int
    stop: int
    size: int
    before: int | None = None

    @property
    def name(self) -> str:
        return f"part-{self.number:06d}"


@dataclass(frozen=True)
class Plan:
    """Every shard in order, and what the records are made of."""

    shards: list[Shard]
    fields: Fields


@dataclass(frozen=True)
class Found:
    """A file of the input, its size, and what tells whether it has changed."""

    place: Place
    size: int
    mark: str


def found_files(wanted: Input) -> list[Found]:
    """Every file of the input, in order."""
    places = files_of(wanted.paths)
    forms = {wanted.form_of(place.path): place for place in places}
    if len(forms) > 1:
        (one, first), (other, second), *_ = forms.items()
        raise ParameterError(
            f"{first} is {one} and {second} is {other}: give files of one format, or say which with --from"
        )
    with ThreadPoolExecutor(LOOKING) as pool:  # looking is waiting, on any file system but a disk
        prints = pool.map(Place.fingerprint, places)
        return [Found(place, *found) for place, found in zip(places, prints, strict=True)]


def planned(
    files: list[Found], wanted: Input, most: int = SHARD_SIZE, keep: Sequence[str] | None = None
) -> Plan:
    """Look into every file, and divide it into shards of up to `most` bytes of text."""
    form = wanted.form_of(files[0].place.path)
    places = [file.place for file in files]
    with ThreadPoolExecutor(LOOKING) as pool:
        fields, tables = table_of(places, form, wanted, keep, pool)
        if form == "parquet":
            ranges = [_row_ranges(table, fields, most) for table in tables]
        else:
            ranges = list(pool.map(lambda file: _byte_ranges(file, fields, most), files))
    every = [(place, part) for place, some in zip(places, ranges, strict=True) for part in some]
    shards = [Shard(at, place.address, *part) for at, (place, part) in enumerate(every)]
    return Plan(shards, fields)


def _is_data(path: str, folder: Place) -> bool:
    """Whether a path in a folder is a file of its data: no link to a folder, and not what other programs leave beside it."""
    if folder.is_local and os.path.isdir(path):
        return False
    # such as _SUCCESS
    return not any(part[:1] in ("_", ".") for part in path.removeprefix(folder.path).split("/"))


def files_of(addresses: Sequence[str]) -> list[Place]:
    """The files at addresses, of which each is a file, a folder or a pattern; in order, those of one address by name."""
    places: list[Place] = []
    for address in addresses:
        place = Place.of(address)
        with explained(f"{address} cannot be read"):
            if any(sign in place.path for sign in "*?[") and not place.exists():
                paths = [path for path in place.files.glob(place.path) if place.files.isfile(path)]
            elif place.is_folder():
                paths = [path for path in place.files.find(place.path) if _is_data(path, place)]
            elif place.exists():
                paths = [place.path]
            else:
                raise FileError(f"{address} does not exist")
        if not paths:
            raise FileError(
                f"{address} holds no files: give files, a folder of files, or a pattern"
            )
        places += [Place(place.files, path) for path in sorted(paths)]
    return places


Range = tuple[int, int, int, int | None]


def _byte_ranges(file: Found, fields: Fields, most: int) -> list[Range]:
    """Ranges of bytes of about equal size; a record belongs to the range that it begins in."""
    place, size = file.place, file.size
    if size == 0:
        return []
    if any(place.content(0, 8).startswith(magic) for magic in MAGIC):
        return [(0, -1, size, 0)]
    count = -(-size // most)
    if count == 1:
        return [(0, size, size, 0)]
    even = [size * at // count for at in range(count + 1)]
    if fields.form != "csv":
        return [(start, stop, stop - start, None if start else 0) for start, stop in pairwise(even)]
    # A quoted value may hold line ends, and only the file from its start on tells what is quoted.
    found = [(0, 0), *row_ends(place, even[1:-1], QUOTING["csv"], fields.header), (size, 0)]
    return [
        (start, stop, stop - start, before)
        for (start, before), (stop, _) in pairwise(found)
        if stop > start
    ]


def _row_ranges(table: Any, fields: Fields, most: int) -> list[Range]:
    """Ranges of rows: small row groups together, large ones divided."""
    metadata = table.metadata
    column = next(
        at for at in range(metadata.num_columns)
        if metadata.schema.column(at).path == fields.text
    )  # fmt: skip
    ranges: list[Range] = []
    row = start = size = 0
    for group in range(metadata.num_row_groups):
        facts = metadata.row_group(group)
        rows, weight = facts.num_rows, facts.column(column).total_uncompressed_size
        if size and size + weight > most:
            ranges.append((start, row, size, start))
            start, size = row, 0
        pieces = min(-(-weight // most), rows)
        if pieces > 1:
            cuts = [row + rows * at // pieces for at in range(pieces + 1)]
            ranges += [(a, b, weight // pieces, a) for a, b in pairwise(cuts)]
            start, size = row + rows, 0
        else:
            size += weight
        row += rows
    if row > start:
        ranges.append((start, row, size, start))
    return ranges

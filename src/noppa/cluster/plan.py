"""Inputs to shards: which part of which file each task reads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from noppa.errors import FileError, ParameterError
from noppa.files.batch import Batch
from noppa.files.columns import Fields
from noppa.files.places import Place, explained
from noppa.files.read import Input
from noppa.files.record_formats import FORMATS
from noppa.files.record_formats.byte_ranges import lines_before
from noppa.files.record_formats.parquet import pyarrow_parquet
from noppa.files.record_formats.record_format import in_parallel
from noppa.io.outputs import refuse_input_as_output

#: Bytes of text of a shard: about a second of work, and a part of a few hundred megabytes.
SHARD_SIZE = 16 << 20


@dataclass(frozen=True)
class Shard:
    """The records of one section of a file: see `Section` for what the numbers mean."""

    number: int
    address: str
    start: int
    stop: int
    size: int
    before: int | None = None

    @property
    def part(self) -> str:
        """The name of the file that it becomes in the output."""
        return f"part-{self.number:06d}.parquet"

    def batches(self, fields: Fields) -> Iterator[Batch]:
        """Its records, in order, a few thousand at a time."""
        with explained(f"{self.address} cannot be read"):
            yield from FORMATS[fields.form].read(
                Place.of(self.address), self.start, self.stop, fields
            )

    def bad_record(self, row: int, fault: str, fields: Fields) -> FileError:
        """The error for a bad record, given its row in the shard; the message has its number in the file."""
        before = self.before
        if before is None:
            before = lines_before(Place.of(self.address), self.start) - fields.header
        return FileError(
            f"{self.address}, record {before + row + 1}: {fault}; mend it, or pass --on-error skip or --on-error empty"
        )


@dataclass(frozen=True)
class Plan:
    """Every shard in order, and the columns of their records."""

    shards: list[Shard]
    fields: Fields


@dataclass(frozen=True)
class InputFile:
    """A file of the input, its size, and a mark that changes with its content."""

    place: Place
    size: int
    mark: str


@dataclass(frozen=True)
class Inputs:
    """All files of the input, in order, and how to read them."""

    source: Input
    files: list[InputFile]

    @classmethod
    def of(
        cls,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        form: str | None = None,
        column: str | None = None,
        header: bool = True,
        encoding: str | None = None,
        delimiter: str | None = None,
    ) -> Inputs:
        """The files at paths or addresses, each of which is a file, a folder or a pattern."""
        several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        if not several:
            raise ParameterError("there is no input: give files, folders or patterns")
        source = Input([os.fspath(path) for path in several], form, column, header)
        source = replace(source, encoding=encoding, delimiter=delimiter)
        places = files_of(source.paths)
        forms = {source.form_of(place.path): place for place in places}
        if len(forms) > 1:
            (one, first), (other, second), *_ = forms.items()
            raise ParameterError(
                f"{first} is {one} and {second} is {other}: give files of one format, or say which with --from"
            )
        if column is not None and "lines" in forms:
            raise ParameterError(
                f"{forms['lines']} is read as plain lines, which have no column {column!r}: pass --from csv, tsv, jsonl or "
                "json, or leave out the column"
            )
        fingerprints = in_parallel(Place.fingerprint, places)
        return cls(
            source,
            [InputFile(place, *mark) for place, mark in zip(places, fingerprints, strict=True)],
        )

    def facts(self) -> dict[str, Any]:
        """What the manifest says of the input, so that a change is noticed."""
        source = self.source
        return {
            "input": [(file.place.address, file.size, file.mark) for file in self.files],
            "column": [source.form, source.column, source.header],
            "encoding": [source.encoding, source.delimiter],
        }

    def plan(self, shard_size: int = SHARD_SIZE, keep: Sequence[str] | None = None) -> Plan:
        """Look into every file, and divide it into shards of up to `shard_size` bytes of text."""
        pyarrow_parquet()
        places = [file.place for file in self.files]
        form = FORMATS[self.source.form_of(places[0].path)]
        selection = replace(self.source.selection, keep=keep)
        sizes = [file.size for file in self.files]
        fields, sections = form.divide(places, sizes, selection, shard_size)
        pairs = [
            (place.address, section)
            for place, some in zip(places, sections, strict=True)
            for section in some
        ]
        return Plan([Shard(at, path, *section) for at, (path, section) in enumerate(pairs)], fields)

    def refuse_as_output(self, target: Place, folders: Iterable[os.PathLike[str] | None]) -> None:
        """Refuse an output that is an input, lies in one, or contains one, on any file system; `folders` are those of the model."""
        sources = [*map(Place.of, self.source.paths), *(file.place for file in self.files)]
        if target.is_local:
            local = [place.path for place in sources if place.is_local]
            refuse_input_as_output(target.path, [*local, *folders])
        for source in sources:
            if f"{target}/".startswith(f"{source}/") or f"{source}/".startswith(f"{target}/"):
                raise FileError(f"{target} and the input {source} overlap: choose another output")

    def require_unchanged(self, advice: str) -> None:
        """Refuse the result of a run whose input was changed meanwhile."""
        for file in self.files:
            if file.place.fingerprint() != (file.size, file.mark):
                raise FileError(f"{file.place} was changed while it was read: {advice}")


def files_of(addresses: Sequence[str]) -> list[Place]:
    """The files at addresses, each of which is a file, a folder or a pattern; those of one address sorted by name."""
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


def _is_data(path: str, folder: Place) -> bool:
    """Whether a path in a folder is a data file: no link to a folder, no hidden file, nothing like `_SUCCESS`."""
    if folder.is_local and os.path.isdir(path):
        return False
    return not any(part[:1] in ("_", ".") for part in path.removeprefix(folder.path).split("/"))

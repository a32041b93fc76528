"""The records of a run on disk: its manifest with the plan, what is done, bad records, and the names of all its files.

    output/part-000000.parquet …            the vectors
    output/_bad_rows.jsonl                  all bad records, by file and row
    output/_noppa/manifest.json             what decides the output, and the plan
                  lock                      held by the driver
                  done/0.json …             the outcome of each finished shard
                  bad/0.json …              the bad records of each shard
                  model-…                   the encoder, where workers lack it
                  finished.json             the outcomes of all shards, in place of `done`

A fit has its run folder beside the encoder: `.NAME.work`, with `counts/0.npz`, … for the sums of each shard and `counts.npz`
for those of a pass, and leaves `cluster.json` in the encoder's folder.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from noppa.cluster.plan import Plan, Shard
from noppa.cluster.shard_task import MODEL, Outcome
from noppa.errors import FileError, NoppaError, ParameterError
from noppa.files.columns import Fields
from noppa.files.partial import locked_file
from noppa.files.places import UNFINISHED, Place, explained
from noppa.files.record_formats import FORMATS

#: In the output, with an underscore because readers of a folder of Parquet skip such names.
RUN_FOLDER, BAD_ROWS = "_noppa", "_bad_rows.jsonl"
#: In the run folder.
MANIFEST, FINISHED, LOCK, DONE, BAD = "manifest.json", "finished.json", "lock", "done", "bad"
#: In the folder of a fitted encoder.
FIT_RECORD = "cluster.json"
#: Version of the manifest.
FORMAT = 2
#: What an outcome of `encode` counts.
COUNTS = ("number", "records", "rows", "bad", "zero", "bytes")

#: Called with the records done, as far as they are known, and the bytes of input done.
Progress = Callable[[int, int], None]


class RunFolder:
    """The folder of a run, as its driver and its workers use it."""

    def __init__(self, folder: Place) -> None:
        self.folder = folder

    @classmethod
    def of_output(cls, output: Place) -> RunFolder:
        return cls(output / RUN_FOLDER)

    def has_manifest(self) -> bool:
        return (self.folder / MANIFEST).exists()

    def is_finished(self) -> bool:
        return (self.folder / FINISHED).exists()

    def prepare(self, *names: str) -> None:
        """Make subfolders, and remove the unfinished files that killed writers left in them."""
        for folder in (self.folder, *(self.folder / name for name in names)):
            folder.make()
            remove_unfinished(folder)

    def plan(self, facts: dict[str, Any], what: str, make: Callable[[], Plan]) -> Plan:
        """The plan of an earlier run with the same facts, or a new one, written down.

        facts: all that decides the output. what: the name of the output in messages.
        """
        manifest = self.folder / MANIFEST
        if not manifest.exists():
            new = make()
            self.folder.make()
            manifest.write_json({"format": FORMAT, "asked": facts, "plan": asdict(new)})
            return new
        content = manifest.json()
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise FileError(
                f"{what} was begun by another version of noppa: choose another folder or remove it"
            )
        with readable(manifest):
            require_same(content["asked"], facts, what)
            return _validated_plan(content["plan"])

    # Outcomes of shards

    def write_outcome(self, outcome: Outcome) -> None:
        (self.folder / DONE / f"{outcome['number']}.json").write_json(outcome)

    def outcomes(self) -> dict[int, Outcome]:
        """The shards that earlier runs finished, by number; an outcome that no worker can have written is left out."""
        if self.is_finished():
            with readable(self.folder / FINISHED):
                outcomes = list((self.folder / FINISHED).json()["shards"])
        else:
            done = self.folder / DONE
            outcomes = [(done / name).json() for name in done.sizes() if not name.startswith(".")]
        return {outcome["number"]: outcome for outcome in outcomes if _is_outcome(outcome)}

    def finish(self, outcomes: list[Outcome]) -> None:
        """Write all outcomes into one file, and remove what only a run in progress needs.

        The bad records of each shard stay: a part that is lost later is made again, and then they are listed anew.
        """
        for name in self.folder.names():
            if name.startswith(MODEL):
                (self.folder / name).remove()
        (self.folder / FINISHED).write_json({"shards in all": len(outcomes), "shards": outcomes})
        (self.folder / DONE).remove()

    # Bad records

    def write_bad(self, number: int, bad: list[tuple[int, str]]) -> None:
        """The bad records of a shard: row in the shard, and fault."""
        (self.folder / BAD / f"{number}.json").write_json(bad)

    def write_bad_rows(self, target: Place, plan: Plan, outcomes: dict[int, Outcome]) -> None:
        """List the bad records of all shards by file and row."""

        def lines() -> Iterator[dict[str, Any]]:
            before, file = 0, ""
            for shard in plan.shards:
                before, file = (before if shard.address == file else 0), shard.address
                if outcomes[shard.number]["bad"]:
                    for row, fault in (self.folder / BAD / f"{shard.number}.json").json():
                        yield {"file": file, "row": before + row + 1, "found": fault}
                before += outcomes[shard.number]["records"]

        (target / BAD_ROWS).write_lines(lines())

    # Sums of a fit

    def sums(self, stage: str, number: int | None = None) -> Place:
        """The file with the sums of a pass, of one shard or of all."""
        return self.folder / (f"{stage}.npz" if number is None else f"{stage}/{number}.npz")

    # Lock

    @contextmanager
    def locked(self, what: str) -> Iterator[None]:
        """One driver at a time, where there are locks; a second one is refused."""
        folder = self.folder
        read_only = self.is_finished() and not os.access(folder.path, os.W_OK)
        if not folder.is_local or read_only:
            yield
            return
        folder.make()
        path = Path(folder.path, LOCK)
        with explained(f"cannot write {folder}"), locked_file(path, what):
            try:
                yield
            finally:
                if not self.has_manifest():  # nothing was begun: leave no empty folders
                    with suppress(OSError):
                        path.unlink()
                        path.parent.rmdir()
                        path.parent.parent.rmdir()


def remove_unfinished(folder: Place) -> None:
    """Remove what killed writers left."""
    for name in folder.sizes():
        if name.startswith(UNFINISHED):
            (folder / name).remove()


class ShardProgress:
    """Reports progress over shards, each of which leaves a file in `folder`; pass `at` of several over the same shards."""

    def __init__(
        self,
        progress: Progress | None,
        folder: Place,
        shards: list[Shard],
        at: int = 0,
        passes: int = 1,
        before: Iterable[Outcome] = (),
    ) -> None:
        self.progress, self.folder, self.passes = progress, folder, passes
        self.sizes = {shard.number: shard.size for shard in shards}
        self.first = at * sum(self.sizes.values())
        self.records = self.bytes = 0
        self.has_outcomes = False
        self.next_listing = 0.0
        for outcome in before:
            self._add(outcome)

    def __call__(self, outcome: Outcome) -> None:
        self.has_outcomes = True
        self._add(outcome)
        if self.progress is not None:
            self.progress(self.records, (self.first + self.bytes) // self.passes)

    def _add(self, outcome: Outcome) -> None:
        self.records += outcome["records"]
        self.bytes += self.sizes[outcome["number"]]

    def tick(self) -> None:
        """Count the files where no outcomes arrive before the end; listing takes at most a tenth of the time."""
        if self.progress is None or self.has_outcomes or time.monotonic() < self.next_listing:
            return
        start = time.monotonic()
        done = sum(not name.startswith(".") for name in self.folder.sizes())
        self.next_listing = time.monotonic() + 10 * (time.monotonic() - start)
        size = sum(self.sizes.values()) * done // max(len(self.sizes), 1)
        self.progress(self.records, (self.first + size) // self.passes)


# Validation


@contextmanager
def readable(place: Place) -> Iterator[None]:
    """Report a file whose content makes no sense as damaged."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        if isinstance(error, NoppaError):
            raise
        raise FileError(
            f"{place} is damaged ({type(error).__name__}: {error}): choose another folder, or remove that one"
        ) from error


def _validated_plan(content: Any) -> Plan:
    shards = [Shard(**shard) for shard in content["shards"]]
    for at, shard in enumerate(shards):
        numbers = (shard.number, shard.start, shard.stop, shard.size)
        if shard.number != at or not all(type(number) is int for number in numbers):
            raise ValueError(f"shard {at} is odd")
        if not isinstance(shard.address, str) or not isinstance(shard.before, int | None):
            raise ValueError(f"shard {at} is odd")
    fields = Fields(**content["fields"])
    if fields.form not in FORMATS:
        raise ValueError(f"its format is {fields.form!r}")
    fields.schema  # noqa: B018  raises now where it is damaged
    return Plan(shards, fields)


def _is_outcome(value: Any) -> bool:
    return isinstance(value, dict) and all(
        type(value.get(name)) is int and value[name] >= 0 for name in COUNTS
    )


def require_same(before: dict[str, Any], now: dict[str, Any], what: str) -> None:
    """Refuse to resume what was begun from another input, with another model or other options."""
    now = _as_json(now)
    for name in (*now, *before):
        if now.get(name) == before.get(name):
            continue
        if name == "input":
            then = {file[0]: file for file in before.get(name) or []}
            for file in now.get(name) or []:
                if then.get(file[0], file) != file:
                    raise ParameterError(
                        f"{file[0]} has changed since {what} was begun: choose another folder, or remove that one"
                    )
        raise ParameterError(
            f"{what} was begun with another {name}: give the same again, or choose another folder"
        )


def _as_json(value: Any) -> Any:
    """A value as JSON gives it back: tuples as lists."""
    if isinstance(value, dict):
        return {name: _as_json(item) for name, item in value.items()}
    return [_as_json(item) for item in value] if isinstance(value, (list, tuple)) else value

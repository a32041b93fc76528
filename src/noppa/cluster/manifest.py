"""What was asked and what is done, in the output itself: a run that lost its driver goes on, and a finished one rests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from noppa.cluster.fields import Fields
from noppa.cluster.places import UNFINISHED, Place, explained
from noppa.cluster.plan import Plan, Shard
from noppa.cluster.shard import DONE
from noppa.cluster.tasks import Outcome
from noppa.errors import FileError, NoppaError, ParameterError
from noppa.records.partial import held

MANIFEST, FINISHED = "manifest.json", "finished.json"
FORMAT = 2
LOCK = "lock"
#: What an outcome of `encode` counts.
COUNTS = ("number", "records", "rows", "bad", "zero", "bytes")


class Manifest:
    """The books of a run in a folder of their own."""

    def __init__(self, books: Place, what: str, asked: dict[str, Any]) -> None:
        """`what` is the output's name in messages; `asked` is all that decides what is in it."""
        self.books, self.what, self.asked = books, what, asked

    def plan(self, make: Callable[[], Plan]) -> Plan:
        """The plan of an earlier run that was asked the same, or a new one, written down."""
        if not (self.books / MANIFEST).exists():
            new = make()
            self.books.make()
            facts = {"format": FORMAT, "asked": self.asked, "plan": asdict(new)}
            (self.books / MANIFEST).write_json(facts)
            return new
        content = (self.books / MANIFEST).json()
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise FileError(
                f"{self.what} was begun by another version of noppa: choose another folder or remove it"
            )
        with readable(self.books / MANIFEST):
            compare(content["asked"], self.asked, self.what)
            return _plan(content["plan"])

    def done(self) -> dict[int, Outcome]:
        """What earlier runs finished, by the number of the shard; what no worker can have written counts as not done."""
        if (self.books / FINISHED).exists():
            with readable(self.books / FINISHED):
                outcomes = list((self.books / FINISHED).json()["shards"])
        else:
            outcomes = list(self._outcomes())
        return {outcome["number"]: outcome for outcome in outcomes if _is_outcome(outcome)}

    def _outcomes(self) -> Iterator[Outcome]:
        folder = self.books / DONE
        for name in folder.sizes():
            if not name.startswith("."):
                yield (folder / name).json()

    def finish(self, outcomes: list[Outcome], report: dict[str, Any]) -> None:
        """Write all outcomes down as one, and clear away what only a run in progress needs.

        The lists of bad records stay: a part that is lost later is made again, and they are joined anew.
        """
        (self.books / FINISHED).write_json({**report, "shards": outcomes})
        (self.books / DONE).remove()

    @staticmethod
    def clear(*folders: Place) -> None:
        """Remove what killed writers left behind."""
        for folder in folders:
            for name in folder.sizes():
                if name.startswith(UNFINISHED):
                    (folder / name).remove()


@contextmanager
def alone(books: Place, what: str) -> Iterator[None]:
    """One driver at a time, as far as a disk can tell; a second one is refused."""
    if not books.is_local or ((books / FINISHED).exists() and not os.access(books.path, os.W_OK)):
        yield  # object stores have no locks, and a finished output may be read-only
        return
    books.make()
    path = Path(books.path, LOCK)
    with explained(f"cannot write {books}"), held(path, what):
        try:
            yield
        finally:
            if not (books / MANIFEST).exists():  # nothing was begun
                with suppress(OSError):
                    path.unlink()
                    path.parent.rmdir()
                    path.parent.parent.rmdir()


@contextmanager
def readable(place: Place) -> Iterator[None]:
    """Take a file whose content makes no sense for a damaged one."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        if isinstance(error, NoppaError):
            raise
        raise FileError(
            f"{place} is damaged ({type(error).__name__}: {error}): choose another folder, or remove that one"
        ) from error


def _plan(content: Any) -> Plan:
    """A plan as JSON gave it, of which nothing is believed."""
    shards = [Shard(**shard) for shard in content["shards"]]
    for at, shard in enumerate(shards):
        numbers = (shard.number, shard.start, shard.stop, shard.size)
        if shard.number != at or not all(type(number) is int for number in numbers):
            raise ValueError(f"shard {at} is odd")
        if not isinstance(shard.address, str) or not isinstance(shard.before, int | None):
            raise ValueError(f"shard {at} is odd")
    fields = Fields(**content["fields"])
    fields.schema  # noqa: B018  says now whether it can be read
    return Plan(shards, fields)


def _is_outcome(value: Any) -> bool:
    return isinstance(value, dict) and all(
        type(value.get(name)) is int and value[name] >= 0 for name in COUNTS
    )


def compare(before: dict[str, Any], now: dict[str, Any], what: str) -> None:
    """Refuse to go on with what was begun from another input, with another model or other options."""
    now = _plain(now)  # as JSON gives it back: a tuple is a list there
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


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value

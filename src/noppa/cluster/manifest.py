"""What was asked and what is done, in the output itself: a run that lost its driver goes on, and a finished one rests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from noppa.cluster.fields import Fields
from noppa.cluster.places import UNFINISHED, Place
from noppa.cluster.plan import Plan, Shard
from noppa.cluster.shard import DONE
from noppa.cluster.tasks import Outcome
from noppa.errors import FileError, ParameterError

MANIFEST, FINISHED = "manifest.json", "finished.json"
FORMAT = 1


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
            content = {"format": FORMAT, "asked": self.asked, "plan": asdict(new)}
            (self.books / MANIFEST).write_json(content)
            return new
        content = (self.books / MANIFEST).json()
        if content.get("format") != FORMAT:
            raise FileError(
                f"{self.what} was begun by another version of noppa: choose another folder or remove it"
            )
        compare(content["asked"], self.asked, self.what)
        old = content["plan"]
        return Plan([Shard(**shard) for shard in old["shards"]], Fields(**old["fields"]))

    def done(self) -> dict[int, Outcome]:
        """What earlier runs finished, by the number of the shard."""
        if (self.books / FINISHED).exists():
            outcomes = (self.books / FINISHED).json()["shards"]
        else:
            outcomes = list(self._outcomes())
        return {outcome["number"]: outcome for outcome in outcomes}

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

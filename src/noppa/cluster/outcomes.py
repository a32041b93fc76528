"""Outcomes of shards as the driver takes them: errors raised, the model sent to workers without it, bad records by their rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from noppa.cluster.places import Place
from noppa.cluster.plan import Plan, Shard
from noppa.cluster.shard import BAD
from noppa.cluster.tasks import Job, Outcome, Run, Tick, error_of
from noppa.errors import FileError, NoppaError


def finished(run: Run, job: Job, shards: list[Any], books: Place, tick: Tick) -> Iterable[Outcome]:
    """Outcomes of all shards, as they come; workers that lack the model are sent it, and their shards tried again."""
    left = shards
    for sent in (False, True):
        missing = []
        for outcome in run(job, left, tick):
            if (error := error_of(outcome)) is not None:
                raise error
            if "missing" in outcome:
                missing.append(outcome["missing"])
            else:
                yield outcome
        if not missing:
            return
        if sent:
            raise NoppaError(
                f"the workers do not see {books}: choose an output that every machine can reach"
            )
        job = replace(job, model=job.model.send(books))  # type: ignore[type-var, attr-defined]
        again = set(missing)
        left = [shard for shard in shards if shard.number in again]


def raise_bad(outcome: Outcome, plan: Plan) -> None:
    """A bad record where none is allowed, by the number that it has in its file."""
    if "bad" in outcome and "number" not in outcome:
        number, row, fault = outcome["bad"]
        shard = plan.shards[number]
        row += _before(shard, plan) + 1
        raise FileError(
            f"{shard.address}, record {row}: {fault}; mend it, or pass --on-bad empty or --on-bad drop"
        )


def _before(shard: Shard, plan: Plan) -> int:
    """How many records of its file come before a shard, counted where nobody has yet."""
    if shard.before is not None:
        return shard.before
    lines, left = 0, shard.start
    with Place.of(shard.address).stream() as file:
        while left and (block := file.read(min(left, 1 << 20))):
            lines, left = lines + block.count(b"\n"), left - len(block)
        # the line that a range of bytes begins in the middle of belongs to the range before it
        if block and not block.endswith(b"\n"):
            lines += 1
    return lines - plan.fields.header


def bad_rows(books: Place, plan: Plan, outcomes: dict[int, Outcome]) -> Iterable[dict[str, Any]]:
    before, file = 0, ""
    for shard in plan.shards:
        before, file = (before if shard.address == file else 0), shard.address
        if outcomes[shard.number]["bad"]:
            for row, fault in (books / BAD / f"{shard.number}.json").json():
                yield {"file": file, "row": before + row + 1, "found": fault}
        before += outcomes[shard.number]["records"]

"""Shards one after another in this very process: for small inputs, and to compare the engines with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from noppa.cluster.tasks import Job, Outcome, Run, Tick, attempt
from noppa.errors import ParameterError


@contextmanager
def single(scheduler: str | None = None, workers: int | None = None) -> Iterator[Run]:
    """A function that runs jobs here."""
    if scheduler is not None or workers not in (None, 1):
        raise ParameterError(
            "the engine single is this process: it has no scheduler and one worker"
        )
    yield _run


def _run(job: Job, shards: list[Any], tick: Tick) -> Iterator[Outcome]:
    for shard in shards:
        yield attempt(job, shard)

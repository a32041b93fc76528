"""The engines by name, the options that every run takes, and outcomes with errors raised and the model sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from noppa.cluster.dask_engine import dask
from noppa.cluster.shard_task import Engine, Outcome, Run, ShardJob, Tick, attempt, error_of
from noppa.cluster.spark_engine import spark
from noppa.errors import NoppaError, ParameterError
from noppa.files.places import Place
from noppa.parameters import one_of, whole

ON_ERROR = ("raise", "skip", "empty")
#: What earlier versions called "skip".
DROP = "drop"


@contextmanager
def single(scheduler: str | None = None, workers: int | None = None) -> Iterator[Run]:
    """Shards one after another in this process: for small inputs, and to compare the engines with."""
    if scheduler is not None or workers not in (None, 1):
        raise ParameterError(
            "the engine single is this process: it has no scheduler and one worker"
        )

    def run(job: ShardJob, shards: list[Any], tick: Tick) -> Iterator[Outcome]:
        for shard in shards:
            yield attempt(job, shard)

    yield run


#: The engines by their names; `single` runs in this very process.
ENGINES: dict[str, Engine] = {"dask": dask, "spark": spark, "single": single}


@dataclass(frozen=True)
class RunOptions:
    """The options that `encode` and `fit` both take, validated."""

    engine: str
    scheduler: str | None
    workers: int | None
    on_error: str
    shard_size: int

    def __post_init__(self) -> None:
        one_of(self.engine, "engine", tuple(ENGINES))
        object.__setattr__(self, "shard_size", whole(self.shard_size, "shard_size", 1))
        if self.workers is not None:
            whole(self.workers, "workers", 1)

    def started(self) -> AbstractContextManager[Run]:
        """The engine, for as long as the block lasts."""
        return ENGINES[self.engine](self.scheduler, self.workers)


def checked_on_error(on_error: str) -> str:
    """Return the policy for bad records, or raise."""
    return str(one_of(on_error, "on_error", ON_ERROR))


def outcomes_of(
    run: Run, job: Any, shards: list[Any], shared: Place, tick: Tick = lambda: None
) -> Iterator[Outcome]:
    """The outcomes of all shards as they come, or the first error; workers without the model get it through `shared`.

    job: a `ShardJob` with a `model` and `fields`, where any shard may lack the one or have bad records.
    """
    by_number = {shard.number: shard for shard in shards}
    left = shards
    for sent in (False, True):
        missing = []
        for outcome in run(job, left, tick):
            if (error := error_of(outcome)) is not None:
                raise error
            if "missing" in outcome:
                missing.append(by_number[outcome["missing"]])
            elif "number" not in outcome:
                number, row, fault = outcome["bad"]
                raise by_number[number].bad_record(row, fault, job.fields)
            else:
                yield outcome
        if not missing:
            return
        if sent:
            raise NoppaError(
                f"the workers do not see {shared}: choose an output that every machine can reach"
            )
        job = replace(job, model=job.model.send(shared))
        left = missing

"""A shard as a task of an engine: it gives back what happened, so that no error has to travel as an object."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

from noppa.cluster.models import NoModel
from noppa.cluster.plan import Shard
from noppa.cluster.shard import BadRecord
from noppa.errors import FileError, NoppaError, ParameterError

Outcome = dict[str, Any]
#: Called now and then while an engine works, where it tells nothing by itself.
Tick = Callable[[], None]


class Job(Protocol):
    """What is to be done with each of many shards; it travels to the workers."""

    def run(self, shard: Any) -> Outcome: ...


#: Runs a job for every shard on the engine's workers, and gives the outcomes as they come.
Run = Callable[[Job, list[Any], Tick], Iterator[Outcome]]
#: An engine: from the address of a scheduler, None for one of our own, and a number of workers.
Engine = Callable[[str | None, int | None], AbstractContextManager[Run]]

KINDS = {kind.__name__: kind for kind in (FileError, ParameterError, NoppaError)}


def attempt(job: Job, shard: Shard) -> Outcome:
    """What became of a shard; an error that a user can cause is an outcome, too."""
    try:
        return job.run(shard)
    except NoModel:
        return {"missing": shard.number}
    except BadRecord as error:
        return {"bad": [error.shard, error.row, error.fault]}
    except NoppaError as error:
        name = next((name for name, kind in KINDS.items() if isinstance(error, kind)), "NoppaError")
        return {"error": [name, str(error)]}
    except (OSError, MemoryError) as error:
        return {"error": ["FileError", f"{shard.address}: {error or type(error).__name__}"]}


def error_of(outcome: Outcome) -> NoppaError | None:
    """The error that an outcome tells of."""
    if "error" not in outcome:
        return None
    name, message = outcome["error"]
    return KINDS[name](message)

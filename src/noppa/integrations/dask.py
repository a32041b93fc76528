"""Dask: vectors for a column of a data frame, and the engine of `noppa.integrations.cluster`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from noppa.encoder.models import resolve_model
from noppa.errors import NoppaError
from noppa.extras import needs


def encode(
    frame: Any, column: str = "text", model: Any = None, into: str = "embedding", **options: Any
) -> Any:
    """Add the vectors of `column` to a Dask data frame, as float32 arrays in the column `into`.

    Workers open the model by its name or path. Options are those of `Encoder.encode`.
    """
    add = partial(_add_vectors, column=column, model=resolve_model(model), into=into, **options)
    return frame.map_partitions(add, meta=frame._meta.assign(**{into: None}).astype({into: object}))


def _add_vectors(frame: Any, column: str, model: Any, into: str, **options: Any) -> Any:
    vectors = model.encode(frame[column].tolist(), threads=1, **options)
    return frame.assign(**{into: list(vectors)})


#: Dask stops waiting for a cluster to close after twice this time; a busy machine may need more than its default of 30.
CLOSE_SECONDS = 300


def run_tasks(
    task: Callable[[Any], None], items: Sequence[Any], scheduler: str | None = None
) -> None:
    """Run a task for every item; raise the first error.

    Args:
        scheduler: The address of a scheduler, such as tcp://host:8786; None starts one worker per core here.
    """
    with needs("dask", "Dask"):
        import distributed
    local = {
        "threads_per_worker": 1,
        "host": "127.0.0.1",
        "dashboard_address": "127.0.0.1:0",  # None would mean port 8787, which may be taken
        "silence_logs": logging.CRITICAL,  # errors are raised
        "timeout": CLOSE_SECONDS,
    }
    try:
        client = distributed.Client(scheduler, set_as_default=False, **({} if scheduler else local))
    except OSError as error:
        raise NoppaError(f"no Dask scheduler answers at {scheduler} ({error})") from error
    with client:
        futures = client.map(task, items, pure=False)
        for future in distributed.as_completed(futures, loop=client.loop):
            try:
                future.result()
            except distributed.scheduler.KilledWorker as error:
                raise NoppaError(f"a task killed each worker that tried it: {error}") from error
            future.release()

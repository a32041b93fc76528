"""Shards as tasks of Dask: a cluster that is there, or one of this machine's processes."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from noppa.cluster.tasks import Job, Outcome, Run, Tick, attempt
from noppa.errors import NoppaError, ParameterError
from noppa.threads import available

INSTALL = "Dask needs packages that are not there: pip install 'noppa[dask]'"
HOST = "127.0.0.1"
SECONDS_TO_CONNECT = 15


@contextmanager
def dask(scheduler: str | None = None, workers: int | None = None) -> Iterator[Run]:
    """A function that runs jobs on a Dask cluster; one of our own ends with the block."""
    try:
        import distributed
    except ImportError as error:
        raise ParameterError(INSTALL) from error
    with ExitStack() as stack:
        if scheduler is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="noppa-dask-"))
            scheduler = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=workers or available(),
                    threads_per_worker=1,
                    processes=True,
                    host=HOST,
                    # without an address it would take the usual port, and say so where that is taken
                    dashboard_address=f"{HOST}:0",
                    scheduler_kwargs={"dashboard": False},
                    silence_logs=logging.CRITICAL,
                    local_directory=folder,
                )
            )
        elif workers is not None:
            raise ParameterError(f"{scheduler} has workers of its own: leave out --workers")
        try:
            client = distributed.Client(scheduler, timeout=SECONDS_TO_CONNECT, set_as_default=False)
        except Exception as error:  # of the address, of the network, of another version of Dask
            raise NoppaError(
                f"no Dask scheduler answers at {scheduler}: {error}; start one with `dask scheduler`, or leave out --scheduler"
            ) from error
        stack.enter_context(client)
        yield partial(_run, client)


def _run(client: Any, job: Job, shards: list[Any], tick: Tick) -> Iterator[Outcome]:
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    # the job goes with every task: scattered data would be lost with the worker that holds it
    futures = client.map(partial(attempt, job), shards, pure=False)
    try:
        for future in as_completed(futures, loop=client.loop):
            try:
                outcome: Outcome = future.result()
            except KilledWorker as error:
                raise NoppaError(
                    f"a shard ended every worker that tried it, for want of memory it may be: {error}"
                ) from error
            except ModuleNotFoundError as error:
                raise NoppaError(
                    f"the workers lack a package: {error}; install noppa[dask] there too"
                ) from error
            future.release()
            yield outcome
    finally:
        client.cancel(futures, force=True)

"""Shards as tasks of Dask: on a running cluster, or on processes of this machine."""

from __future__ import annotations

import logging
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any

from noppa.cluster.shard_task import Outcome, Run, ShardJob, Tick, attempt
from noppa.errors import NoppaError, ParameterError
from noppa.extras import needs
from noppa.threads import available

HOST = "127.0.0.1"
SECONDS_TO_CONNECT = 15
#: Dask's default makes workers return memory to the system after every block, which costs much CPU; None unsets it.
SETTINGS = {"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None}


@contextmanager
def dask(scheduler: str | None = None, workers: int | None = None) -> Iterator[Run]:
    """Runs jobs on a Dask cluster; one that is started here ends with the block."""
    with needs("dask", "Dask"):
        import distributed
    if scheduler is not None and workers is not None:
        raise ParameterError(f"{scheduler} has workers of its own: leave out --workers")
    with ExitStack() as stack:
        if scheduler is None:
            cluster = stack.enter_context(_local(distributed, workers or available()))
            client = distributed.Client(cluster, set_as_default=False)
        else:
            try:
                client = distributed.Client(
                    scheduler, timeout=SECONDS_TO_CONNECT, set_as_default=False
                )
            except Exception as error:  # a wrong address, the network, another version of Dask
                raise NoppaError(
                    f"no Dask scheduler answers at {scheduler}: {error}; start one with `dask scheduler`, "
                    "or leave out --scheduler"
                ) from error
        stack.enter_context(client)
        yield partial(_run, client)


@contextmanager
def _local(distributed: Any, workers: int) -> Iterator[Any]:
    """A cluster of processes of this machine, with one thread each."""
    from dask import config as dask_config

    with (
        tempfile.TemporaryDirectory(prefix="noppa-dask-", ignore_cleanup_errors=True) as folder,
        _hidden_main_file(),
    ):
        try:
            with _ignored_interrupts(), dask_config.set(SETTINGS):
                cluster = distributed.LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    host=HOST,
                    # Without an address Dask tries its usual port, and warns where that is taken.
                    dashboard_address=f"{HOST}:0",
                    scheduler_kwargs={"dashboard": False},
                    silence_logs=logging.CRITICAL,
                    local_directory=folder,
                )
        except Exception as error:
            raise NoppaError(f"Dask could not start {workers} workers here: {error}") from error
        with cluster:
            yield cluster


@contextmanager
def _ignored_interrupts() -> Iterator[None]:
    """Children inherit SIG_IGN, so only the driver handles Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _hidden_main_file() -> Iterator[None]:
    """spawn re-imports `__main__`; hide its file so that workers do not run the user's script again.

    Workers need nothing from it: all that they are sent is defined in noppa.
    """
    main = sys.modules["__main__"]
    before = {name: vars(main).get(name) for name in ("__file__", "__spec__")}
    vars(main).update(dict.fromkeys(before))
    try:
        yield
    finally:
        vars(main).update(before)


def _run(client: Any, job: ShardJob, shards: list[Any], tick: Tick) -> Iterator[Outcome]:
    from distributed import as_completed

    # The job is sent with every task: scattered data would be lost with the worker that holds it.
    futures = client.map(partial(attempt, job), shards, pure=False)
    try:
        with _explained():
            # In batches: one round trip for many results.
            for batch in as_completed(futures, loop=client.loop, with_results=True).batches():
                for future, outcome in batch:
                    future.release()
                    yield outcome
    finally:
        with suppress(Exception):  # the scheduler may be gone, and its tasks with it
            client.cancel(futures, force=True)


@contextmanager
def _explained() -> Iterator[None]:
    """Turn errors of Dask into one sentence."""
    from distributed.scheduler import KilledWorker

    try:
        yield
    except NoppaError:
        raise
    except KilledWorker as error:
        raise NoppaError(
            f"a shard ended every worker that tried it, for want of memory it may be: {error}"
        ) from error
    except ModuleNotFoundError as error:
        raise NoppaError(
            f"the workers lack a package: {error}; install noppa[dask] there too"
        ) from error
    except Exception as error:
        raise NoppaError(
            f"Dask gave up: {error}; run the same again, what is done is kept"
        ) from error

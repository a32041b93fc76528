"""Shards as tasks of Spark, through `mapInArrow`: on a running cluster, or on processes of this machine."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from noppa.cluster.shard_task import Outcome, Run, ShardJob, Tick, attempt
from noppa.errors import NoppaError, ParameterError
from noppa.extras import needs
from noppa.threads import available

HOST = "127.0.0.1"
#: How often a task may lose its worker before the run fails; Dask's default.
FAILURES = 4
#: A local JVM only hands out shards: without its second compiler it starts in half the time.
LIGHT_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SECONDS_BETWEEN_TICKS = 0.5
SECONDS_TO_CONNECT = 15
#: Configuration of log4j. Without an appender Spark would use its own, which writes to the terminal.
QUIET = """rootLogger.level = off
rootLogger.appenderRef.none.ref = none
appender.none.type = Null
appender.none.name = none
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = off
"""
#: Marks an outcome in the message of a Java exception.
OUTCOME = "noppa outcome: "


@contextmanager
def spark(scheduler: str | None = None, workers: int | None = None) -> Iterator[Run]:
    """Runs jobs on a Spark cluster; a session that is started here ends with the block.

    scheduler: a master such as spark://host:7077 or yarn, or sc://host for a Spark Connect server; where None, the active
    session of this process if there is one.
    """
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        # pyspark warns about old versions of pandas, which noppa does not use.
        warnings.filterwarnings("ignore", ".*pandas", FutureWarning)
        with needs("spark", "Spark"):
            from pyspark.sql import SparkSession
        session = SparkSession.getActiveSession() if scheduler is None else None
        if session is None:
            if scheduler is not None and workers is not None:
                raise ParameterError(f"{scheduler} has workers of its own: leave out --workers")
            _require_reachable(scheduler or "")
            try:
                session = stack.enter_context(_session(SparkSession.builder, scheduler, workers))
            except Exception as error:
                raise _unreachable(error, scheduler) from error
        yield partial(_run, session)


def _require_reachable(scheduler: str) -> None:
    """Spark itself retries for minutes where no master answers."""
    master = re.fullmatch(r"spark://([^:,]+):(\d+)", scheduler)
    if master is not None:
        try:
            socket.create_connection((master[1], int(master[2])), SECONDS_TO_CONNECT).close()
        except OSError as error:
            raise _unreachable(error, scheduler) from error


@contextmanager
def _session(builder: Any, scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """A session of our own, without logging; its JVM ends with it."""
    if scheduler is not None and scheduler.startswith("sc://"):
        session = builder.remote(scheduler).getOrCreate()
        try:
            yield session
        finally:
            session.stop()
        return
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="noppa-spark-"))
        quiet = Path(folder, "log4j2.properties")
        quiet.write_text(QUIET, encoding="utf-8")
        options = f"-Dlog4j2.configurationFile={quiet.as_uri()}"
        settings = {
            "spark.app.name": "noppa",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.master": scheduler or f"local[{workers or available()},{FAILURES}]",
            "spark.driver.extraJavaOptions": options,
        }
        if scheduler is None:
            stack.enter_context(_environment(SPARK_LOCAL_IP=HOST, PYSPARK_PYTHON=sys.executable))
            settings |= {"spark.driver.bindAddress": HOST, "spark.driver.host": HOST}
            settings["spark.local.dir"] = folder
            settings["spark.driver.extraJavaOptions"] += f" {LIGHT_JVM}"
        stack.enter_context(_ended_jvm())
        session = builder.config(map=settings).getOrCreate()
        stack.callback(session.stop)
        yield session


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


@contextmanager
def _ended_jvm() -> Iterator[None]:
    """End the JVM that a session starts, which would otherwise run as long as this process."""
    from pyspark import SparkContext

    had_gateway = SparkContext._gateway is not None
    try:
        yield
    finally:
        gateway = SparkContext._gateway
        if gateway is not None and not had_gateway:
            SparkContext._gateway = SparkContext._jvm = None
            gateway.shutdown()
            # The JVM exits at the end of its stdin, also when this process is killed.
            gateway.proc.stdin.close()
            gateway.proc.wait()


def _unreachable(error: Exception, scheduler: str | None) -> NoppaError:
    if "JAVA" in str(error):
        return NoppaError(
            "Spark needs Java 17 or later, which is not there: install it, on Debian with "
            "`apt-get install default-jre-headless`"
        )
    return NoppaError(
        f"no Spark answers at {scheduler or 'this machine'}: {_first_line(error)}; check the address, or leave out --scheduler"
    )


def _run(session: Any, job: ShardJob, shards: list[Any], tick: Tick) -> Iterator[Outcome]:
    """One partition for each shard, so that a lost worker costs one shard."""
    rows = session.range(0, len(shards), 1, numPartitions=max(len(shards), 1))
    frame = rows.mapInArrow(_function(job, shards), "outcome string")
    with ThreadPoolExecutor(1) as executor:
        collected = executor.submit(frame.collect)
        try:
            while not wait([collected], SECONDS_BETWEEN_TICKS).done:
                tick()
        except BaseException:
            _cancel(session)
            raise
        error = collected.exception()
    if error is None:
        yield from (json.loads(row["outcome"]) for row in collected.result())
        return
    outcome = re.search(rf"{OUTCOME}(.*?)\n", f"{error}\n")
    if outcome is None:
        raise _explained(error) from error
    yield json.loads(outcome[1])


def _function(job: ShardJob, shards: list[Any]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in batches:
            for at in batch.column(0).to_pylist():
                outcome = attempt(job, shards[at])
                text = json.dumps(outcome)
                if "number" not in outcome and "missing" not in outcome:
                    raise RuntimeError(OUTCOME + text)  # ends the job now, not after the last shard
                yield pyarrow.RecordBatch.from_pydict({"outcome": [text]})

    return run


def _cancel(session: Any) -> None:
    with suppress(Exception):  # Spark Connect has no `sparkContext`, and the driver is about to end
        session.sparkContext.cancelAllJobs()


def _explained(error: BaseException) -> BaseException:
    if not isinstance(error, Exception):
        return error
    if "ModuleNotFoundError" in str(error):
        missing = re.search(r"ModuleNotFoundError: (.*)", str(error))
        return NoppaError(
            f"the workers lack a package: {missing[1] if missing else ''}; install noppa[spark] there too"
        )
    return NoppaError(f"Spark gave up: {_first_line(error)}")


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0][:300]

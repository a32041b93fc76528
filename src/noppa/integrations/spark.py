"""Spark: vectors for a column of a data frame, and the engine of `noppa.integrations.cluster`."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from noppa.encoder.models import resolve_model
from noppa.errors import FileError, NoppaError
from noppa.extras import needs


def encode(
    frame: Any, column: str = "text", model: Any = None, into: str = "embedding", **options: Any
) -> Any:
    """Add the vectors of `column` to a Spark data frame, as arrays of floats in the column `into`.

    Workers open the model by its name or path. Options are those of `Encoder.encode`.
    """
    from pyspark.sql.types import ArrayType, FloatType, StructType

    encoder: Any = resolve_model(model)

    def add_vectors(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in batches:
            vectors = encoder.encode(batch.column(column).to_pylist(), threads=1, **options)
            lists = pyarrow.array(list(vectors), pyarrow.list_(pyarrow.float32()))
            yield pyarrow.RecordBatch.from_arrays(
                [*batch.columns, lists], names=[*batch.schema.names, into]
            )

    schema = StructType([*frame.schema.fields]).add(into, ArrayType(FloatType()))
    return frame.mapInArrow(add_vectors, schema)


def run_tasks(
    task: Callable[[Any], None], items: Sequence[Any], scheduler: str | None = None
) -> None:
    """Run a task for every item; raise the first error.

    Args:
        scheduler: A master such as spark://host:7077 or yarn, or sc://host for Spark Connect; None uses the active session,
            or starts one on this machine.
    """
    with needs("spark", "Spark"):
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                task(items[number])
            yield batch

    active = SparkSession.getActiveSession() if scheduler is None else None
    warnings.filterwarnings(
        "ignore", "PySpark .* pandas", FutureWarning
    )  # which noppa does not use
    try:
        session = active or _start(SparkSession.builder, scheduler)
    except Exception as error:
        raise NoppaError(
            f"Spark did not start: {str(error).strip()[:300]}", "Spark needs Java 17 or later"
        ) from error
    try:
        # One partition per task, so that a lost worker costs one task.
        session.range(0, len(items), 1, len(items)).mapInArrow(run, "id long").collect()
    except PySparkException as error:
        ours = re.search(r"noppa\.errors\.\w+: (.+)", str(error))
        raise (FileError(ours[1]) if ours else NoppaError(f"Spark failed: {error}")) from error
    finally:
        if active is None:
            session.stop()


def _start(builder: Any, scheduler: str | None) -> Any:
    if scheduler is not None and scheduler.startswith("sc://"):
        return builder.remote(scheduler).getOrCreate()
    builder = builder.appName("noppa").config("spark.ui.showConsoleProgress", "false")
    if scheduler is None:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = builder.config("spark.ui.enabled", "false")
    # Four attempts, as on a cluster: a lost worker must not end the job.
    session = builder.master(scheduler or "local[*,4]").getOrCreate()
    session.sparkContext.setLogLevel("OFF")  # errors are raised
    return session

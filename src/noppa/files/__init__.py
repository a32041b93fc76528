"""Read texts from files and write vectors to files, row by row, in constant memory.

    lines | JSON | CSV | TSV | Parquet | Arrow -> read -> Batch -> Job -> .npy | .jsonl | .csv | .parquet | stdout

One row in is one row out, in order. `noppa.integrations.cluster` runs the same jobs on Dask and Spark.
"""

from __future__ import annotations

from noppa.files.checkpoint import Outcome
from noppa.files.formats import FORMATS, Batch, Input
from noppa.files.job import Job, PredictJob
from noppa.files.read import read
from noppa.files.write import WRITERS

__all__ = ["FORMATS", "WRITERS", "Batch", "Input", "Job", "Outcome", "PredictJob", "read"]

"""Text in and vectors out, record by record, in constant memory.

    lines | JSONL | CSV | TSV | Parquet -> read -> Batch -> encode -> write -> .npy | .jsonl | .csv | .parquet | stdout

One record in is one row out, in order. `job` joins the ends, with checkpoints to go on from.
"""

from __future__ import annotations

from noppa.records.batch import Batch, Input
from noppa.records.checkpoint import Outcome
from noppa.records.job import Job
from noppa.records.read import READERS, read
from noppa.records.write import WRITERS

__all__ = ["READERS", "WRITERS", "Batch", "Input", "Job", "Outcome", "read"]

"""Text in and vectors out, record by record, in constant memory.

    lines | JSONL | CSV | TSV | Parquet -> read -> Batch -> encode -> write -> .npy | .jsonl | .csv | .parquet | stdout

One record in is one row out, in order. `record_formats` reads files, whole or in sections; `job` joins the ends on one machine,
with checkpoints to resume from, and `noppa.cluster` on many.
"""

from __future__ import annotations

from noppa.records.batch import Batch
from noppa.records.checkpoint import Outcome
from noppa.records.job import Job
from noppa.records.read import Input, read
from noppa.records.record_formats import FORMATS
from noppa.records.write import WRITERS

__all__ = ["FORMATS", "WRITERS", "Batch", "Input", "Job", "Outcome", "read"]

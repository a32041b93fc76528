"""Text in and vectors out, record by record, in constant memory.

    lines | JSONL | CSV | TSV | Parquet -> read -> Batch -> encode -> write -> .npy | .jsonl | .csv | .parquet | stdout

One record in is one row out, in order. `record_formats` reads files, whole or in sections; `job` joins the ends on one machine,
with checkpoints to resume from, and `noppa.cluster` on many.
"""

from __future__ import annotations

from noppa.files.batch import Batch
from noppa.files.checkpoint import Outcome
from noppa.files.job import Job
from noppa.files.read import Input, read
from noppa.files.record_formats import FORMATS
from noppa.files.write import WRITERS

__all__ = ["FORMATS", "WRITERS", "Batch", "Input", "Job", "Outcome", "read"]

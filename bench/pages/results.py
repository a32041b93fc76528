"""The committed results, as rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from noppa.evaluate import results as records

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"


def lines_of(name: str) -> list[dict[str, Any]]:
    """The lines of a result file as they are."""
    text = (RESULTS / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def records_of(*names: str) -> list[records.Record]:
    paths = [RESULTS / f"{name}.jsonl" for name in names]
    return records.read([path for path in paths if path.exists()])


def timed(rows: Sequence[records.Record]) -> str:
    """What rows took: CPU time, and the clock, which says little where a machine had other work."""
    cpu, wall = (sum(row[name] for row in rows) for name in ("cpu_seconds", "seconds"))
    unit, divisor, digits = ("minutes", 60, 1) if cpu >= 120 else ("seconds", 1, 0)
    machine = "that had other work" if wall > cpu else "that had little else to do"
    return (
        f"{cpu / divisor:.{digits}f} {unit} of CPU time, and {wall / divisor:.{digits}f} {unit} by the clock of a machine "
        f"of two cores {machine}"
    )


NAMES = ("Average", "TfIdf", "SIF", "USIF", "DCT", "S3E", "GEM", "VLAWE", "NoPPA")


def method_rows() -> list[records.Record]:
    rows = [row for row in records_of("ablations", "methods") if row["encoder"] in NAMES]
    return sorted(rows, key=lambda row: (row["vectors"]["file"], NAMES.index(row["encoder"])))


#: The presets of the embedded model, and how a user asks for them.
PRESETS = {"default": "`noppa.load()`", "similarity": '`noppa.load("similarity")`'}


def peer_rows() -> list[records.Record]:
    """The presets of the embedded model, then encoders from elsewhere."""
    presets = [{**row, "encoder": PRESETS[row["encoder"]]} for row in records_of("presets")]
    return [*presets, *records_of("peers")]

"""The committed results, as rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from noppa.paper import results as records

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"


def lines_of(name: str) -> list[dict[str, Any]]:
    """The lines of a result file as they are."""
    text = (RESULTS / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


FIRST_EDITION = "first edition"


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


def plain_rows() -> list[records.Record]:
    """The average and NoPPA on plain word vectors and on the published files, as the embedded model is scored."""
    return records_of("plain")


#: The presets of the embedded model, and how a user asks for them.
PRESETS = {
    "default": "`noppa.load()`",
    "similarity": '`noppa.load("similarity")`',
    "small": '`noppa.load("small")`',
}


def called(preset: str, edition: str) -> str:
    """How tables call a preset of an edition, "first" or "second"."""
    return PRESETS[preset] + (f", {FIRST_EDITION}" if edition == "first" else "")


def peer_rows() -> list[records.Record]:
    """The presets of the embedded model, those of its first edition, then encoders from elsewhere."""
    rows = []
    for edition, file in (("second", "presets"), ("first", "first_edition")):
        own = sorted(records_of(file), key=lambda row: [*PRESETS].index(row["encoder"]))
        rows += [{**row, "encoder": called(row["encoder"], edition)} for row in own]
    return [*rows, *records_of("peers")]

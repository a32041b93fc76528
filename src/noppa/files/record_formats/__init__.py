"""Record formats, one module each: see `RecordFormat` for what each of them knows."""

from __future__ import annotations

from pathlib import Path

from noppa.files.record_formats.json_array import JsonArray
from noppa.files.record_formats.jsonl import JsonLines
from noppa.files.record_formats.lines import Lines
from noppa.files.record_formats.parquet import Parquet
from noppa.files.record_formats.record_format import RecordFormat, Section
from noppa.files.record_formats.tables import CSV, TSV
from noppa.io.compression import MAGIC

#: How texts are read from each format; add to it for one of your own.
FORMATS: dict[str, RecordFormat] = {
    "lines": Lines(),
    "jsonl": JsonLines(),
    "json": JsonArray(),
    "csv": CSV,
    "tsv": TSV,
    "parquet": Parquet(),
}
SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}

__all__ = ["FORMATS", "RecordFormat", "Section", "form_of"]


def form_of(path: str) -> str:
    """The name of the format that a file name stands for, compressed or not: lines where it says nothing."""
    suffixes = [suffix for suffix in Path(path).suffixes if suffix[1:] not in MAGIC.values()]
    return SUFFIXES.get(suffixes[-1] if suffixes else "", "lines")

"""What a record reader takes and gives, and where its bytes come from."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from noppa.io.compression import MAGIC, Source, open_plain
from noppa.parameters import one_of

STDIN = "-"
TEXT = "text"
FORMS = ("lines", "jsonl", "csv", "tsv", "parquet")
SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}


@dataclass(frozen=True)
class Input:
    """Where records come from: paths (`-` for standard input), their format, and the column with the text."""

    paths: Sequence[str]
    form: str | None = None
    column: str | None = None
    header: bool = True

    def __post_init__(self) -> None:
        one_of(self.form, "the input format", (None, *FORMS))

    def form_of(self, path: str) -> str:
        if self.form is not None:
            return self.form
        suffixes = [suffix for suffix in Path(path).suffixes if suffix[1:] not in MAGIC.values()]
        return SUFFIXES.get(suffixes[-1] if suffixes else "", "lines")


@dataclass
class Batch:
    """Records one after the other: `texts`, with None for a bad one, and why each bad one is."""

    texts: list[str | None]
    bad: list[tuple[int, str]] = field(default_factory=list)
    """Place in `texts`, and a sentence that names the file, the record and what was found."""
    position: int = 0
    """Bytes of all files read so far."""
    fingerprint: str = ""
    """Of all records up to the end of this batch, where a checkpoint needs it."""

    def after(self, count: int) -> Batch:
        """The batch without its first records."""
        bad = [(at - count, why) for at, why in self.bad if at >= count]
        return Batch(self.texts[count:], bad, self.position)


def open_input(path: str) -> Source:
    if path == STDIN:
        stream = _stdin()
        return Source(stream, "none", stream, 0)
    return open_plain(Path(path))


def place(source: Source, path: str) -> int:
    return 0 if path == STDIN else source.position()


def shown(path: str) -> str:
    return "standard input" if path == STDIN else path


def is_clean(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _stdin() -> Any:
    """Standard input without a buffer, whose lock a waiting thread would hold when the interpreter ends."""
    try:
        return open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)
    except (OSError, ValueError):
        return sys.stdin.buffer  # not a real file, as in a test

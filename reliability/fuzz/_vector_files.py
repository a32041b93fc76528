"""What the targets for vector files share: a file that holds the data, and what must be true of whatever loads."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from noppa import NoppaError, WordVectors
from noppa.words import formats as files

#: Options by the bits of a byte.
CHOICES: list[dict[str, Any]] = [
    {"on_error": "skip"},
    {"errors": "skip"},
    {"errors": "replace"},
    {"strict": True},
    {"header": True},
    {"header": False},
    {"limit": 2},
    {"dtype": "int8"},
]


def options_of(byte: int) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for bit, choice in enumerate(CHOICES):
        if byte >> bit & 1:
            chosen |= choice
    return chosen


def load(data: bytes, name: str, beside: dict[str, bytes] | None = None, **options: Any) -> None:
    """Load a file with this content: a NoppaError of one line, or finite vectors, one for each word."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for file, content in {name: data, **(beside or {})}.items():
            Path(folder, file).write_bytes(content)
        try:
            # WordVectors.load imports noppa.words.formats late, when the fuzzer no longer adds its counters of coverage.
            words = WordVectors.of(files.read(Path(folder, name), files.Options(**options)))
            words = words.for_tokens([["kuchen", "\udcff", ""]], 1)
        except NoppaError as error:
            return assert_sentence(error)
        rows = words.vectors(np.arange(len(words)))
        assert len(words.words) == len(rows) > 0
        assert np.isfinite(rows).all(), "vectors that are not finite"


def assert_sentence(error: NoppaError) -> None:
    assert "\n" not in str(error), f"an error of several lines: {error}"
    assert len(str(error)) < 2000, "an error without end"


def assert_same(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> None:
    for left, right in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(left, right)

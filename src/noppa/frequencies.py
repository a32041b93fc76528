"""Word probabilities: from a counts file, a dict, a corpus, or the rank, and never guessed in silence.

p(w) is the count of w over the sum of all counts given, with words that differ only in case counted together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from noppa.characters import lower
from noppa.errors import FileError, ParameterError
from noppa.parameters import one_of

#: Share of all tokens for what counts files leave out: punctuation, clitics, digits. Counted by
#: `tools/count_closed_class.py` over 640,000 English sentences of mixed sources.
CLOSED_CLASS: dict[str, float] = {}


@dataclass(frozen=True)
class Probabilities:
    """Probability of each word, which of them were really counted, and where they come from."""

    values: NDArray[np.float64]
    counted: NDArray[np.bool_]
    source: str

    @property
    def estimated(self) -> bool:
        """Whether the values come from the order of the words and not from counts."""
        return not self.counted.any()


def from_counts(
    words: Iterable[str],
    counts: Mapping[str, float] | str | PathLike[str],
    missing: str | float = "smallest",
    errors: str = "strict",
) -> Probabilities:
    """Probabilities of `words` from a dict or from a file of `word count` lines.

    A word without a count gets, with `missing="smallest"`, the smallest probability of any counted word of the
    vocabulary, unless it is punctuation, a clitic or a digit, whose share is known from English text; a number is
    taken as the probability itself.
    """
    if isinstance(counts, Mapping):
        table, source = dict(counts), "a dict of counts"
    else:
        table, source = read_counts(counts, errors), f"counts in {Path(counts).name}"
    merged: Counter[str] = Counter()
    for word, count in table.items():
        if not np.isfinite(count) or count < 0:
            raise ParameterError(f"the count of {word!r} is {count!r}: a count is 0 or more")
        merged[lower(word)] += count
    total = float(sum(merged.values()))
    if total <= 0:
        raise ParameterError(f"{source} adds up to nothing: give at least one word a count above 0")
    forms = [lower(word) for word in words]
    values = np.array([merged.get(form, 0) for form in forms], float) / total
    return _filled(forms, values, source, missing)


def from_ranks(count: int) -> Probabilities:
    """Zipf's law for a vocabulary sorted by falling frequency: p proportional to 1 / rank. An estimate, and marked so."""
    weights = 1 / np.arange(1, count + 1)
    return Probabilities(
        weights / weights.sum(), np.zeros(count, bool), "ranks (Zipf's law, an estimate)"
    )


def given(words: Iterable[str], values: NDArray[np.float64]) -> Probabilities:
    """Probabilities a user already has; NaN marks a word without one."""
    bad = np.flatnonzero((values < 0) | (values > 1) | np.isinf(values))
    if len(bad):
        raise ParameterError(
            f"probability {bad[0]} is {values[bad[0]]!r}: it must lie between 0 and 1, or be NaN where unknown"
        )
    if np.isnan(values).all():
        raise ParameterError("every probability is NaN: give at least one, or none at all")
    known = ~np.isnan(values)
    filled = _filled([lower(word) for word in words], np.where(known, values, 0.0), "given", "smallest")
    return Probabilities(np.where(known, values, filled.values), known, "given")


def read_counts(path: str | PathLike[str], errors: str = "strict") -> dict[str, float]:
    """The `word count` lines of a UTF-8 file; a repeated word adds up.

    errors: what to do with a word that is not UTF-8: "strict", "replace" or "skip", as for vector files.
    """
    one_of(errors, "errors", ("strict", "replace", "skip"))
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise FileError(f"counts file {path}: {error.strerror or error}") from error
    counts: Counter[str] = Counter()
    offset = 0
    for number, line in enumerate(content.split(b"\n"), 1):
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            if errors == "strict":
                raise FileError(
                    f"counts file {path}, line {number}: byte {offset + error.start} is not UTF-8; "
                    "pass errors='replace' or errors='skip'"
                ) from error
            text = line.decode("utf-8", "replace") if errors == "replace" else ""
        offset += len(line) + 1
        text = text.strip(" \t\r")
        if not text:
            continue
        word, _, count = text.replace("\t", " ").rpartition(" ")
        try:
            counts[word.rstrip(" ")] += float(count)
            if not word:
                raise ValueError
        except ValueError:
            raise FileError(
                f"counts file {path}, line {number}: expected a word and a count, found {text[:60]!r}"
            ) from None
    return dict(counts)


def _filled(
    forms: list[str], values: NDArray[np.float64], source: str, missing: str | float
) -> Probabilities:
    """The values with the `missing` policy in place of zeros."""
    counted = values > 0
    if missing == "smallest":
        smallest = values[counted].min() if counted.any() else 1e-9
        fill = np.array([CLOSED_CLASS.get(form, smallest) for form in forms], float)
    elif isinstance(missing, (int, float)) and 0 <= missing <= 1:
        fill = np.full(len(forms), float(missing))
    else:
        raise ParameterError(f"missing must be 'smallest' or a probability, not {missing!r}")
    return Probabilities(np.where(counted, values, fill), counted, source)

"""N-grams: words and runs of neighbouring words that training texts share, and texts as weighted rows of them.

A run of words is known by the number of the run without its last word and the number of that word, so that looking n-grams
up needs no strings: one native look-up of words, then a binary search for each length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.classify.sparse_rows import SparseRows, sparse_rows
from noppa.text.characters import lower
from noppa.text.tokenizer import Split
from noppa.words.lexicon import Lexicon
from noppa.words.texts import tokens_of

Keys = NDArray[np.int64]
CASE = "lower"


@dataclass(frozen=True, eq=False)
class Occurrences:
    """N-grams as they stand in texts: text, first token, and column of each, all (occurrences,); `lengths` in words."""

    rows: NDArray[np.int64]
    places: NDArray[np.int64]
    columns: NDArray[np.int64]
    lengths: NDArray[np.int64]


class Ngrams:
    """The n-grams of a classifier.

    lexicon: their words, lower-cased. keys: for each length from 2 on, sorted, the run before times the number of words,
    plus the last word. shortest: those below this many words are no columns. idf (columns,): inverse document frequencies.
    """

    def __init__(
        self, lexicon: Lexicon, keys: Sequence[Keys], shortest: int, idf: NDArray[np.float32]
    ) -> None:
        self.lexicon, self.keys, self.shortest, self.idf = lexicon, tuple(keys), shortest, idf

    @property
    def longest(self) -> int:
        return len(self.keys) + 1

    @property
    def counts(self) -> list[int]:
        """How many runs of words of each length are known."""
        return [len(self.lexicon), *map(len, self.keys)]

    def __len__(self) -> int:
        return sum(self.counts[self.shortest - 1 :])

    def rows(self, texts: list[str], tokenizer: Split | None, threads: int) -> SparseRows:
        """TF-IDF of texts, each row of length one: (1 + log count) idf."""
        return self._weighted(self.counted(texts, tokenizer, threads))

    def counted(self, texts: list[str], tokenizer: Split | None, threads: int) -> SparseRows:
        """How often each n-gram is in texts."""
        found = self.occurrences(texts, tokenizer, threads)
        ones, shape = np.ones(len(found.rows)), (len(texts), len(self))
        return sparse_rows(found.rows, found.columns, ones, shape)

    def occurrences(self, texts: list[str], tokenizer: Split | None, threads: int) -> Occurrences:
        """Every n-gram of texts at its place."""
        ids, offsets = self._word_ids(texts, tokenizer, threads)
        rows = np.repeat(np.arange(len(texts)), np.diff(offsets))
        starts = np.arange(len(ids)) - np.repeat(offsets[:-1], np.diff(offsets))
        found = []
        for length, runs in enumerate(self._runs(ids, rows), 1):
            if length >= self.shortest:
                at = np.flatnonzero(runs >= 0)
                columns = runs[at] + sum(self.counts[self.shortest - 1 : length - 1])
                found.append((rows[at], starts[at], columns, np.full(len(at), length)))
        return Occurrences(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def _word_ids(
        self, texts: list[str], tokenizer: Split | None, threads: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        look_up = self.lexicon.known
        if tokenizer is None:
            ids, offsets = look_up.look_up(texts, threads)
        else:
            ids, offsets = look_up.look_up_tokens(tokens_of(texts, tokenizer))
        return ids.astype(np.int64), offsets

    def _runs(self, ids: NDArray[np.int64], rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The number of the run of each length that begins at each token, -1 where none is known."""
        runs = [ids]
        for keys in self.keys:
            before, last = runs[-1][:-1], ids[len(runs) :]
            size = len(last)
            fits = (before[:size] >= 0) & (last >= 0) & (rows[:size] == rows[len(runs) :])
            key = before[:size] * len(self.lexicon) + last
            at = np.searchsorted(keys, key)
            at[at == len(keys)] = 0
            known = fits & (keys[at] == key) if len(keys) else np.zeros(size, bool)
            runs.append(np.where(known, at, -1))
        return runs

    def _weighted(self, counts: SparseRows) -> SparseRows:
        """Counts as TF-IDF."""
        values = (1 + np.log(counts.values, dtype=np.float64)) * self.idf.astype(np.float64)[
            counts.ids
        ]
        lengths = np.sqrt(counts.row_sums(values**2))
        values /= np.where(lengths > 0, lengths, 1)[counts.row_numbers]
        return SparseRows(values.astype(np.float32), counts.ids, counts.offsets, counts.width)

    @cached_property
    def names(self) -> list[str]:
        """The n-gram of each column, words joined by spaces."""
        words = self.lexicon.words
        runs, names = [words], list(words if self.shortest == 1 else [])
        for length, keys in enumerate(self.keys, 2):
            before, last = np.divmod(keys, len(words))
            runs.append([f"{runs[-1][a]} {words[b]}" for a, b in zip(before, last, strict=True)])
            if length >= self.shortest:
                names += runs[-1]
        return names


@dataclass(frozen=True, eq=False)
class _Level:
    """Runs of one length: their sorted keys, which of them begins at each token or -1, and in how many texts each is."""

    keys: Keys
    runs: NDArray[np.int64]
    frequencies: NDArray[np.int64]

    def kept(self, least: int) -> _Level:
        keep = self.frequencies >= least
        runs = np.append(_renumbered(keep), -1)[self.runs]
        return _Level(self.keys[keep], runs, self.frequencies[keep])


def learn(
    texts: list[str],
    tokenizer: Split | None,
    lengths: tuple[int, int],
    least: int,
    most: int,
) -> Ngrams | None:
    """The n-grams of `lengths` words that at least `least` texts have; where those are more than `most`, the frequent ones.

    None where there is no such n-gram.
    """
    token_lists = tokens_of(texts, tokenizer or kernels.tokenize)
    numbers: dict[str, int] = {}
    tokens = (lower(token) for tokens in token_lists for token in tokens)
    ids = np.fromiter((numbers.setdefault(token, len(numbers)) for token in tokens), np.int64)
    rows = np.repeat(np.arange(len(texts)), [len(tokens) for tokens in token_lists])
    levels = [_level(np.arange(len(numbers)), ids, rows).kept(least)]
    for _ in range(1, lengths[1]):
        levels.append(_longer(levels, rows, len(numbers)).kept(least))
    frequencies = np.concatenate([level.frequencies for level in levels[lengths[0] - 1 :]])
    if len(frequencies) > most:
        least = int(np.partition(frequencies, -most - 1)[-most - 1]) + 1
    if not (frequencies >= least).any():
        return None
    return _numbered_anew(list(numbers), levels, least, lengths[0], len(texts))


def _level(keys: Keys, runs: NDArray[np.int64], rows: NDArray[np.int64]) -> _Level:
    """With the number of texts that each run is in."""
    known = runs >= 0
    count = int(rows[-1]) + 1 if len(rows) else 1
    once = np.unique(runs[known] * count + rows[: len(runs)][known]) // count
    return _Level(keys, runs, np.bincount(once, minlength=len(keys)))


def _longer(levels: list[_Level], rows: NDArray[np.int64], words: int) -> _Level:
    """Runs of one word more than those of the last level; the words of the first level have their old numbers as keys."""
    length, first, before = len(levels), levels[0], levels[-1].runs
    last = first.runs[length:]
    before = before[: len(last)]
    known = (before >= 0) & (last >= 0) & (rows[: len(last)] == rows[length:])
    keys, numbers = np.unique(before[known] * words + first.keys[last[known]], return_inverse=True)
    runs = np.full(len(last), -1)
    runs[known] = numbers
    return _level(keys, runs, rows)


def _numbered_anew(
    words: list[str], levels: list[_Level], least: int, shortest: int, texts: int
) -> Ngrams:
    """Runs in at least `least` texts; all parts of such a run are in as many, so that none is left out."""
    keeps = [level.frequencies >= least for level in levels]
    kept_words = levels[0].keys[keeps[0]]
    word_numbers = np.full(len(words), -1)
    word_numbers[kept_words] = np.arange(len(kept_words))
    tables = []
    before_numbers = map(_renumbered, keeps)
    for level, keep, before in zip(levels[1:], keeps[1:], before_numbers, strict=False):
        run, last = np.divmod(level.keys[keep], len(words))
        tables.append(before[run] * len(kept_words) + word_numbers[last])
    frequencies = [level.frequencies[keep] for level, keep in zip(levels, keeps, strict=True)]
    df = np.concatenate(frequencies[shortest - 1 :])
    idf = np.log((1 + texts) / (1 + df)) + 1
    lexicon = Lexicon.of([words[at] for at in kept_words], 0, "skip", CASE)
    return Ngrams(lexicon, tables, shortest, idf.astype(np.float32))


def _renumbered(keep: NDArray[np.bool_]) -> NDArray[np.int64]:
    """New numbers of those that are kept, in their order; -1 for the others."""
    return np.where(keep, np.cumsum(keep) - 1, -1)

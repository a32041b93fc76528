"""Texts, or pairs of texts, as features: dense columns from vectors, and sparse rows of n-grams.

A run of words is identified by the number of the run without its last word and the number of that word. So looking n-grams
up needs no strings: one native lookup of words, then a binary search for each length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.display import dataclass_repr
from noppa.encoder.encoder import Encoder
from noppa.errors import InputError
from noppa.text.characters import lower
from noppa.text.tokenizer import Split
from noppa.words.lexicon import Lexicon
from noppa.words.texts import texts_of, tokens_of

Array = NDArray[np.float32]
Float = NDArray[np.float64]
Ints = NDArray[np.int64]
CASE = "lower"
#: Names of the two columns that an n-gram has in a classifier of pairs: its difference, and its product.
DIFFERENT, SHARED = "in one text: ", "in both texts: "


@dataclass(frozen=True)
class Texts:
    """Texts to classify, or pairs of texts by their two sides."""

    __repr__ = dataclass_repr

    sides: tuple[list[str], ...]

    @classmethod
    def parse(cls, collection: Any) -> Texts:
        """Accept a collection of texts, `(left, right)` with a collection each, or a collection of pairs of texts."""
        if isinstance(collection, str):
            raise InputError("a single text was given", "give a collection of texts")
        is_pair = isinstance(collection, tuple) and len(collection) == 2
        if is_pair and not any(isinstance(item, str) for item in collection):
            left, right = (texts_of(side) for side in collection)
            if len(left) != len(right):
                raise InputError(f"the two sides have {len(left)} and {len(right)} texts")
            return cls((left, right))
        items = list(collection) if isinstance(collection, Iterator) else collection
        if _are_pairs(items):
            return cls(tuple(texts_of([pair[side] for pair in items]) for side in (0, 1)))
        return cls((texts_of(items),))

    def __len__(self) -> int:
        return len(self.sides[0])

    @property
    def paired(self) -> bool:
        """Whether these are pairs."""
        return len(self.sides) == 2

    @property
    def flat(self) -> list[str]:
        """All texts, the left sides before the right sides."""
        return [text for side in self.sides for text in side]

    def item(self, row: int) -> str | tuple[str, ...]:
        """Return a text, or a pair."""
        item = tuple(side[row] for side in self.sides)
        return item if self.paired else item[0]


def _are_pairs(items: Any) -> bool:
    if getattr(items, "ndim", 1) == 2:
        return items.shape[1] == 2 and not hasattr(items, "columns")
    first = items[0] if isinstance(items, (list, tuple)) and len(items) else None
    return isinstance(first, (list, tuple)) and len(first) == 2


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Rows of mostly zeros: row r has `values` (nonzeros,) in the columns `ids` (nonzeros,), from offsets[r] to offsets[r + 1]."""

    values: Array
    ids: NDArray[np.int32]
    offsets: Ints
    width: int

    @classmethod
    def from_triplets(
        cls, rows: Ints, ids: Ints, values: Float, shape: tuple[int, int]
    ) -> SparseRows:
        """Build from triplets in any order; values of the same place are added up."""
        count, width = shape
        keys, places = np.unique(rows * width + ids, return_inverse=True)
        sums = np.bincount(places, values, len(keys)).astype(np.float32)
        offsets = np.searchsorted(keys, np.arange(count + 1) * width)
        return cls(sums, (keys % max(width, 1)).astype(np.int32), offsets.astype(np.int64), width)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def row_numbers(self) -> Ints:
        """The row of each value, (nonzeros,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @cached_property
    def transposed(self) -> SparseRows:
        """The transposed matrix."""
        order = np.argsort(self.ids, kind="stable")
        counts = np.bincount(self.ids, minlength=self.width)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        rows = self.row_numbers[order].astype(np.int32)
        return SparseRows(self.values[order], rows, offsets, len(self))

    def times(self, matrix: Array, threads: int) -> Array:
        """Return the product with a matrix (width, columns), (rows, columns)."""
        table = np.ascontiguousarray(matrix, np.float32)
        product = kernels.sparse_product(self.values, self.ids, self.offsets, table, threads)
        return np.asarray(product, np.float32)

    def row_sums(self, values: Float) -> Float:
        """Return sums (rows,) of one number per nonzero, each row in its own order, so that other rows do not matter."""
        return np.asarray(np.bincount(self.row_numbers, values, len(self)), np.float64)


@dataclass(frozen=True, eq=False)
class Features:
    """How texts become columns: by an encoder (None for no vectors) and by n-grams (None for none).

    unit: scale vectors to length one.
    """

    __repr__ = dataclass_repr

    encoder: Any
    ngrams: Ngrams | None
    paired: bool
    unit: bool = False

    @property
    def tokenizer(self) -> Split | None:
        """The tokenizer of the encoder, None for the default."""
        return getattr(self.encoder, "other_split", None)

    @property
    def dim(self) -> int:
        """The number of dense columns."""
        return 0 if self.encoder is None else int(self.encoder.dim) * (1 + self.paired)

    @property
    def ngram_columns(self) -> int:
        """The number of sparse columns."""
        return 0 if self.ngrams is None else len(self.ngrams) * (1 + self.paired)

    def dense(self, texts: Texts, threads: int) -> list[Array]:
        """Return blocks (n, width): the vectors; for pairs, |u - v| and u * v."""
        if self.encoder is None:
            return []
        sides = [self._vectors(side, threads) for side in texts.sides]
        if not self.paired:
            return sides
        left, right = sides
        return [np.abs(left - right), left * right]

    def _vectors(self, texts: list[str], threads: int) -> Array:
        options: dict[str, Any] = {"normalize": True} if self.unit else {}
        if isinstance(self.encoder, Encoder):
            options["threads"] = threads
        return np.asarray(self.encoder.encode(texts, **options), np.float32)

    def sparse(self, texts: Texts, threads: int) -> SparseRows:
        """Return rows of n-grams (n, columns); for pairs, |a - b| and a * b."""
        if self.ngrams is None:
            nothing = np.empty(0, np.float32), np.empty(0, np.int32)
            return SparseRows(*nothing, np.zeros(len(texts) + 1, np.int64), 0)
        sides = [self.ngrams.rows(side, self.tokenizer, threads) for side in texts.sides]
        return _compare(*sides) if self.paired else sides[0]

    @property
    def ngram_names(self) -> list[str]:
        """The name of each column of `sparse`."""
        names = [] if self.ngrams is None else self.ngrams.names
        if not self.paired:
            return names
        return [kind + name for kind in (DIFFERENT, SHARED) for name in names]


def _compare(left: SparseRows, right: SparseRows) -> SparseRows:
    """Return |a - b| and a * b side by side, (n, 2 width)."""
    count, width = len(left), left.width
    a, b = (side.row_numbers * width + side.ids for side in (left, right))
    keys = np.union1d(a, b)
    values = np.zeros((2, len(keys)))
    values[0, np.searchsorted(keys, a)] = left.values
    values[1, np.searchsorted(keys, b)] = right.values
    rows, ids = np.divmod(keys, max(width, 1))
    both = np.flatnonzero(values.all(axis=0))
    apart = np.flatnonzero(values[0] != values[1])
    return SparseRows.from_triplets(
        np.concatenate([rows[apart], rows[both]]),
        np.concatenate([ids[apart], ids[both] + width]),
        np.concatenate([np.abs(values[0] - values[1])[apart], values.prod(axis=0)[both]]),
        (count, 2 * width),
    )


# N-grams


class Occurrences(NamedTuple):
    """N-grams in texts: the text, first token, column and number of words of each, all (occurrences,)."""

    rows: Ints
    places: Ints
    columns: Ints
    lengths: Ints


class Ngrams:
    """Words and runs of neighbouring words that training texts share.

    lexicon: their words in lower case. keys: for each length from 2, sorted, the number of the run without its last word, times
    the number of words, plus the last word. shortest: shorter runs are no columns. idf (columns,): inverse document frequencies.
    """

    def __init__(self, lexicon: Lexicon, keys: Sequence[Ints], shortest: int, idf: Array) -> None:
        self.lexicon, self.keys, self.shortest, self.idf = lexicon, tuple(keys), shortest, idf
        #: The number of known runs of each length.
        self.counts = [len(lexicon), *map(len, keys)]

    @property
    def longest(self) -> int:
        """The largest number of words."""
        return len(self.keys) + 1

    def __len__(self) -> int:
        return sum(self.counts[self.shortest - 1 :])

    def rows(self, texts: list[str], tokenizer: Split | None, threads: int) -> SparseRows:
        """Return TF-IDF of texts, (1 + log count) idf, each row scaled to length one."""
        counts = self.counted(texts, tokenizer, threads)
        idf = self.idf.astype(np.float64)[counts.ids]
        values = (1 + np.log(counts.values, dtype=np.float64)) * idf
        lengths = np.sqrt(counts.row_sums(values**2))
        values /= np.where(lengths > 0, lengths, 1)[counts.row_numbers]
        return SparseRows(values.astype(np.float32), counts.ids, counts.offsets, counts.width)

    def counted(self, texts: list[str], tokenizer: Split | None, threads: int) -> SparseRows:
        """Return the count of each n-gram in texts."""
        found = self.occurrences(texts, tokenizer, threads)
        ones, shape = np.ones(len(found.rows)), (len(texts), len(self))
        return SparseRows.from_triplets(found.rows, found.columns, ones, shape)

    def occurrences(self, texts: list[str], tokenizer: Split | None, threads: int) -> Occurrences:
        """Return every n-gram of texts with its place."""
        known = self.lexicon.known
        if tokenizer is None:
            words, offsets = known.look_up(texts, threads)
        else:
            words, offsets = known.look_up_tokens(tokens_of(texts, tokenizer))
        ids, lengths = words.astype(np.int64), np.diff(offsets)
        rows = np.repeat(np.arange(len(texts)), lengths)
        starts = np.arange(len(ids)) - np.repeat(offsets[:-1], lengths)
        found = []
        for length, runs in enumerate(self._runs(ids, rows), 1):
            if length >= self.shortest:
                tokens = np.flatnonzero(runs >= 0)
                columns = runs[tokens] + sum(self.counts[self.shortest - 1 : length - 1])
                found.append((rows[tokens], starts[tokens], columns, np.full(len(tokens), length)))
        return Occurrences(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def _runs(self, ids: Ints, rows: Ints) -> list[Ints]:
        """Return, for each length, the number of the run that begins at each token, -1 if it is unknown."""
        runs = [ids]
        for keys in self.keys:
            before, last = runs[-1][:-1], ids[len(runs) :]
            size = len(last)
            fits = (before[:size] >= 0) & (last >= 0) & (rows[:size] == rows[len(runs) :])
            wanted = before[:size] * len(self.lexicon) + last
            places = np.searchsorted(keys, wanted)
            places[places == len(keys)] = 0
            known = fits & (keys[places] == wanted) if len(keys) else np.zeros(size, bool)
            runs.append(np.where(known, places, -1))
        return runs

    @cached_property
    def names(self) -> list[str]:
        """The n-gram of each column, its words separated by spaces."""
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
    """Runs of one length: their sorted keys, the run that begins at each token (or -1), and the number of texts with each."""

    keys: Ints
    runs: Ints
    frequencies: Ints

    @classmethod
    def frequent(cls, keys: Ints, runs: Ints, rows: Ints, least: int) -> _Level:
        """Count the texts with each run, and keep the runs that at least `least` texts have."""
        known = runs >= 0
        count = int(rows[-1]) + 1 if len(rows) else 1
        once = np.unique(runs[known] * count + rows[: len(runs)][known]) // count
        frequencies = np.bincount(once, minlength=len(keys))
        keep = frequencies >= least
        return cls(keys[keep], np.append(_renumber(keep), -1)[runs], frequencies[keep])


def learn_ngrams(
    texts: list[str],
    tokenizer: Split | None,
    lengths: tuple[int, int],
    least: int,
    most: int,
) -> Ngrams | None:
    """Return the n-grams of `lengths` words that at least `least` texts have, at most the `most` frequent; None without any."""
    token_lists = tokens_of(texts, tokenizer or kernels.tokenize)
    numbers: dict[str, int] = {}
    tokens = (lower(token) for tokens in token_lists for token in tokens)
    ids = np.fromiter((numbers.setdefault(token, len(numbers)) for token in tokens), np.int64)
    rows = np.repeat(np.arange(len(texts)), [len(tokens) for tokens in token_lists])
    levels = [_Level.frequent(np.arange(len(numbers)), ids, rows, least)]
    for length in range(1, lengths[1]):
        last = levels[0].runs[length:]
        before = levels[-1].runs[: len(last)]
        known = (before >= 0) & (last >= 0) & (rows[: len(last)] == rows[length:])
        pairs = before[known] * len(numbers) + levels[0].keys[last[known]]
        keys, found = np.unique(pairs, return_inverse=True)
        runs = np.full(len(last), -1)
        runs[known] = found
        levels.append(_Level.frequent(keys, runs, rows, least))
    frequencies = np.concatenate([level.frequencies for level in levels[lengths[0] - 1 :]])
    if len(frequencies) > most:
        least = int(np.partition(frequencies, -most - 1)[-most - 1]) + 1
    if not (frequencies >= least).any():
        return None
    return _select(list(numbers), levels, least, lengths[0], len(texts))


def _select(
    words: list[str], levels: list[_Level], least: int, shortest: int, texts: int
) -> Ngrams:
    """Keep the runs that at least `least` texts have; at least as many have each part of such a run, so that all parts stay."""
    keeps = [level.frequencies >= least for level in levels]
    kept_words = levels[0].keys[keeps[0]]
    word_numbers = np.full(len(words), -1)
    word_numbers[kept_words] = np.arange(len(kept_words))
    tables = []
    for level, keep, before in zip(levels[1:], keeps[1:], map(_renumber, keeps), strict=False):
        run, last = np.divmod(level.keys[keep], len(words))
        tables.append(before[run] * len(kept_words) + word_numbers[last])
    frequencies = [level.frequencies[keep] for level, keep in zip(levels, keeps, strict=True)]
    df = np.concatenate(frequencies[shortest - 1 :])
    idf = np.log((1 + texts) / (1 + df)) + 1
    lexicon = Lexicon.from_words([words[number] for number in kept_words], 0, "skip", CASE)
    return Ngrams(lexicon, tables, shortest, idf.astype(np.float32))


def _renumber(keep: NDArray[np.bool_]) -> Ints:
    """Return consecutive numbers for what is kept, and -1 for the rest."""
    return np.where(keep, np.cumsum(keep) - 1, -1)

"""Texts, or pairs of texts, as the two kinds of features: blocks of dense columns from vectors, sparse rows of n-grams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.classify.ngrams import Ngrams
from noppa.classify.sparse_rows import SparseRows, sparse_rows
from noppa.display import dataclass_repr
from noppa.errors import InputError
from noppa.text.tokenizer import Split
from noppa.words.texts import texts_of

Array = NDArray[np.float32]
#: What an n-gram of a pair is a column for: how differently both texts have it, and how much they share it.
DIFFERENT, SHARED = "in one text: ", "in both texts: "


@dataclass(frozen=True)
class Texts:
    """Texts to classify, or pairs of texts by their two sides."""

    __repr__ = dataclass_repr

    sides: tuple[list[str], ...]

    @classmethod
    def of(cls, collection: Any) -> Texts:
        """A collection of texts, `(left, right)` with a collection each, or a collection of pairs of texts."""
        if isinstance(collection, str):
            raise InputError("one text was given where a collection is expected: give [text]")
        if isinstance(collection, tuple) and len(collection) == 2 and not _is_text(collection):
            left, right = (texts_of(side) for side in collection)
            if len(left) != len(right):
                raise InputError(
                    f"pairs need as many texts on both sides, and there are {len(left)} and {len(right)}"
                )
            return cls((left, right))
        items = list(collection) if isinstance(collection, Iterator) else collection
        if _pairs(items):
            return cls(tuple(texts_of([pair[side] for pair in items]) for side in (0, 1)))
        return cls((texts_of(items),))

    def __len__(self) -> int:
        return len(self.sides[0])

    @property
    def paired(self) -> bool:
        return len(self.sides) == 2

    @property
    def flat(self) -> list[str]:
        """All texts, the left ones before the right ones."""
        return [text for side in self.sides for text in side]

    def take(self, rows: NDArray[np.int64]) -> Texts:
        return Texts(tuple([side[row] for row in rows] for side in self.sides))


def _is_text(collection: tuple[Any, ...]) -> bool:
    return any(isinstance(item, str) for item in collection)


def _pairs(items: Any) -> bool:
    """Whether a collection holds pairs of texts."""
    if getattr(items, "ndim", 1) == 2:
        return items.shape[1] == 2 and not hasattr(items, "columns")
    first = items[0] if isinstance(items, (list, tuple)) and len(items) else None
    return isinstance(first, (list, tuple)) and len(first) == 2


@dataclass(frozen=True, eq=False)
class Features:
    """How texts become columns: by an encoder (None for no vectors) and by n-grams (None for none)."""

    __repr__ = dataclass_repr

    encoder: Any
    ngrams: Ngrams | None
    paired: bool
    unit: bool = False
    """Scale vectors to length one."""

    @property
    def tokenizer(self) -> Split | None:
        return getattr(self.encoder, "other_split", None)

    @property
    def ngram_columns(self) -> int:
        return 0 if self.ngrams is None else len(self.ngrams) * (1 + self.paired)

    def dense(self, texts: Texts, threads: int) -> list[Array]:
        """Blocks (n, width): the vectors; of pairs, |u - v| and u * v."""
        if self.encoder is None:
            return []
        sides = [self._vectors(side, threads) for side in texts.sides]
        if not self.paired:
            return sides
        left, right = sides
        return [np.abs(left - right), left * right]

    def _vectors(self, texts: list[str], threads: int) -> Array:
        options: dict[str, Any] = {"normalize": True} if self.unit else {}
        if hasattr(self.encoder, "encode_ids"):  # an encoder from elsewhere knows no threads
            options["threads"] = threads
        return np.asarray(self.encoder.encode(texts, **options), np.float32)

    def sparse(self, texts: Texts, threads: int) -> SparseRows:
        """Rows of n-grams (n, ngram_columns); of pairs, |a - b| and a * b."""
        if self.ngrams is None:
            return SparseRows(
                np.empty(0, np.float32),
                np.empty(0, np.int32),
                np.zeros(len(texts) + 1, np.int64),
                0,
            )
        sides = [self.ngrams.rows(side, self.tokenizer, threads) for side in texts.sides]
        return sides[0] if not self.paired else _compared(*sides)

    @property
    def ngram_names(self) -> list[str]:
        """What each column of `sparse` is called."""
        names = [] if self.ngrams is None else self.ngrams.names
        if not self.paired:
            return names
        return [kind + name for kind in (DIFFERENT, SHARED) for name in names]


def _compared(left: SparseRows, right: SparseRows) -> SparseRows:
    """|a - b| and a * b side by side, (n, 2 width)."""
    count, width = len(left), left.width
    a, b = (side.row_numbers * width + side.ids for side in (left, right))
    keys = np.union1d(a, b)
    values = np.zeros((2, len(keys)))
    values[0, np.searchsorted(keys, a)] = left.values
    values[1, np.searchsorted(keys, b)] = right.values
    rows, ids = np.divmod(keys, max(width, 1))
    both = np.flatnonzero(values.all(axis=0))
    apart = np.flatnonzero(values[0] != values[1])
    return sparse_rows(
        np.concatenate([rows[apart], rows[both]]),
        np.concatenate([ids[apart], ids[both] + width]),
        np.concatenate([np.abs(values[0] - values[1])[apart], values.prod(axis=0)[both]]),
        (count, 2 * width),
    )

"""What `deduplicate` gives: the rows that are kept, and for each removed one the row it repeats and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.dedupe.near_duplicates import NearDuplicates, Progress
from noppa.display import Displayed, Table, View, cut, dataclass_repr, frame
from noppa.errors import ParameterError
from noppa.io.table_file import arrow_table, write_table
from noppa.parameters import number, whole
from noppa.text.characters import is_word_character, lower
from noppa.text.tokenizer import Split

#: The lowest threshold, and how many steps of `down_to` lie between it and 1.
LOWEST, STEPS = 0.5, 500
#: Removed rows that `print` shows, and characters of a text there.
SHOWN, WIDTH = 10, 50

Numbers = NDArray[np.int64]


class Removed(NamedTuple):
    """A row that repeats another: of the texts, or of the reference where `in_reference`.

    row, repeats: the numbers of both. similarity: their cosine. text, repeated_text: the texts themselves.
    words: those that both texts have, in the order of the removed one, in lower case.
    """

    row: int
    repeats: int
    in_reference: bool
    similarity: float
    words: tuple[str, ...]
    text: str
    repeated_text: str

    def __repr__(self) -> str:
        return dataclass_repr(self)


@dataclass(frozen=True, eq=False)
class Compared:
    """Texts with their vectors: all that finds the duplicates at any threshold. Numbers count the reference first."""

    texts: Sequence[str]
    reference: Sequence[str]
    firsts: Numbers
    """The first row with the same text, (reference + texts,)."""
    different: Numbers
    """Rows whose text is no row's before them."""
    near: NearDuplicates
    """The vectors of those."""
    tokenizer: Split | None
    threads: int | None = None
    progress: Progress | None = None

    __repr__ = dataclass_repr

    @property
    def copies(self) -> int:
        """How many texts are the very same as one before them."""
        is_copy = self.firsts != np.arange(len(self.firsts))
        return int(np.count_nonzero(is_copy[len(self.reference) :]))

    def at(self, threshold: float) -> Duplicates:
        """The duplicates at a threshold from `LOWEST` to 1."""
        checked = number(threshold, "threshold", LOWEST, 1)
        places, cosines = self.near.leaders(checked, self.threads, self.progress)
        of_first = np.searchsorted(self.different, self.firsts)
        leaders = np.where(places >= 0, self.different[places], -1)[of_first]
        # The same text as a kept row repeats that; the same as a removed one repeats what that repeats.
        is_copy = self.firsts != np.arange(len(self.firsts))
        of_kept = is_copy & (leaders < 0)
        leaders[of_kept] = self.firsts[of_kept]
        similarities = cosines[of_first]
        similarities[of_kept] = 1
        own = slice(len(self.reference), None)
        return Duplicates(self, checked, leaders[own], similarities[own])


@dataclass(frozen=True, eq=False, repr=False)
class Duplicates(Displayed):
    """Rows of texts that repeat an earlier kept one, or one of the reference, with a cosine from `threshold` on."""

    compared: Compared
    threshold: float
    leaders: Numbers
    """The row that each repeats, counted from the first of the reference on, -1 for a kept one, (texts,)."""
    similarities: NDArray[np.float32]

    @property
    def texts(self) -> Sequence[str]:
        """All texts that were given, the reference not among them."""
        return self.compared.texts

    @property
    def kept(self) -> Numbers:
        """The numbers of the kept rows, in order."""
        return np.flatnonzero(self.leaders < 0)

    @property
    def removed(self) -> RemovedRows:
        """The other rows, in order."""
        return RemovedRows(self, np.flatnonzero(self.leaders >= 0))

    @property
    def kept_texts(self) -> list[str]:
        """The texts of the kept rows, in order."""
        return [self.texts[row] for row in self.kept.tolist()]

    def at(self, threshold: float) -> Duplicates:
        """The same for another threshold; nothing is encoded again."""
        return self.compared.at(threshold)

    def down_to(self, rows: int) -> Duplicates:
        """At most so many rows kept: the highest threshold in steps of 0.001 that leaves no more, and then again the
        removed rows that are least similar to what they repeat, until there are as many.
        """
        rows = whole(rows, "rows", 1)
        below, above = 0, STEPS  # of LOWEST, and of 1
        found = self.at(1)
        if len(found.kept) <= rows:
            return found
        found = self.at(LOWEST)
        if len(found.kept) > rows:
            raise ParameterError(
                f"{len(found.kept)} rows differ even at a threshold of {LOWEST:g}: take some of those to have {rows}"
            )
        while above - below > 1:
            middle = (below + above) // 2
            tried = self.at(LOWEST + (1 - LOWEST) * middle / STEPS)
            if len(tried.kept) <= rows:
                below, found = middle, tried
            else:
                above = middle
        return found._with_more(rows - len(found.kept))

    def _with_more(self, count: int) -> Duplicates:
        """With the removed rows kept that are least similar to what they repeat."""
        removed = np.flatnonzero(self.leaders >= 0)
        again = removed[np.argsort(self.similarities[removed], kind="stable")[:count]]
        leaders, similarities = self.leaders.copy(), self.similarities.copy()
        leaders[again], similarities[again] = -1, 0
        return Duplicates(self.compared, self.threshold, leaders, similarities)

    # Seeing

    def __repr__(self) -> str:
        return f"Duplicates({len(self.kept)} kept, {len(self.removed)} removed, threshold={self.threshold:g})"

    def __str__(self) -> str:
        removed = self.removed
        lines = [self._summary, *(_line(one) for one in removed[:SHOWN])]
        more = len(removed) - SHOWN
        return "\n".join([*lines, *([f"… and {more:,} more"] if more > 0 else [])])

    @property
    def _summary(self) -> str:
        return (
            f"{len(self.texts):,} texts: {len(self.kept):,} kept, {len(self.removed):,} repeat another "
            f"with a cosine of {self.threshold:g} or more"
        )

    def _view(self) -> View:
        columns = ("row", "text", "repeats", "repeated_text", "similarity", "words")
        rows = [[getattr(one, name) for name in columns] for one in self.removed[:SHOWN]]
        more = len(self.removed) - SHOWN
        blocks = [Table(columns, rows)] if rows else []
        return View(self._summary, [*blocks, *([f"… and {more:,} more"] if more > 0 else [])])

    def to_arrow(self) -> Any:
        """The removed rows as an Arrow table with the fields of `Removed` as columns."""
        return arrow_table(Removed, self.removed)

    def to_pandas(self) -> Any:
        """The removed rows as a frame with the fields of `Removed` as columns."""
        rows = list(self.removed)
        return frame({name: [getattr(one, name) for one in rows] for name in Removed._fields})

    def save(self, path: str | PathLike[str]) -> None:
        """Write the removed rows to a .csv, .jsonl or .parquet file."""
        write_table(path, Removed, self.removed)


class RemovedRows(Sequence[Removed]):
    """Removed rows, each made when somebody asks for it."""

    def __init__(self, duplicates: Duplicates, rows: Numbers) -> None:
        self._of, self._rows = duplicates, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self._made(row) for row in self._rows[at].tolist()]
        return self._made(int(self._rows[at]))

    def __iter__(self) -> Iterator[Removed]:
        return map(self._made, self._rows.tolist())

    def __repr__(self) -> str:
        return f"RemovedRows({len(self)} rows)"

    def _made(self, row: int) -> Removed:
        compared = self._of.compared
        repeats = int(self._of.leaders[row]) - len(compared.reference)
        in_reference = repeats < 0
        if in_reference:
            repeats += len(compared.reference)
        text = compared.texts[row]
        other = (compared.reference if in_reference else compared.texts)[repeats]
        similarity = float(self._of.similarities[row])
        words = shared_words(text, other, compared.tokenizer)
        return Removed(row, repeats, in_reference, similarity, words, text, other)


def shared_words(text: str, other: str, tokenizer: Split | None) -> tuple[str, ...]:
    """The words of a text that another one has too, once each, in lower case; punctuation is no word."""
    split = tokenizer or kernels.tokenize
    words, others = (dict.fromkeys(_words(split(one))) for one in (text, other))
    return tuple(word for word in words if word in others)


def _words(tokens: Iterable[str]) -> Iterator[str]:
    return (lower(token) for token in tokens if any(map(is_word_character, token)))


def _line(one: Removed) -> str:
    where = "reference row" if one.in_reference else "row"
    return f"{one.similarity:.4f}  row {one.row} {cut(one.text, WIDTH)!r} repeats {where} {one.repeats} {cut(one.repeated_text, WIDTH)!r}"

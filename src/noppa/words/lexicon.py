"""The vocabulary: words to row numbers, without their vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.constants import CASE, DROPPED
from noppa.errors import ParameterError
from noppa.parameters import one_of, whole
from noppa.text.tokenizer import ENGLISH, Tokenizer

UNKNOWN = ("skip", "zero", "unk", "pieces", "ngrams")
UNK = "<unk>"

#: Row numbers (tokens,) of several texts, -1 for a dropped token, and the bounds of each text (texts + 1,).
Ids = tuple[NDArray[np.int32], NDArray[np.int64]]


class Lexicon:
    """Words as UTF-8, one after the other in `text`, each between two of `bounds` (words + 1,); the last are `pieces`.

    slots: the hash table over all words but the pieces; built on first use if None.
    tokenizer: how texts are split for these words.
    base: the vocabulary that these words are a selection of, which splits texts for them.
    With the policy `ngrams` the pieces are words that were composed from their n-grams and are found as they are spelled.
    """

    def __init__(
        self,
        text: NDArray[np.uint8],
        bounds: NDArray[np.int64],
        slots: NDArray[np.uint64] | None = None,
        pieces: int = 0,
        unknown: str = "skip",
        case: str = "exact-then-lower",
        tokenizer: Tokenizer = ENGLISH,
        base: Lexicon | None = None,
    ) -> None:
        self.text, self.bounds, self._saved_slots = text, bounds, slots
        self.pieces, self.unknown, self.case = pieces, unknown, case
        #: How many of the first rows are words, not pieces.
        self.whole_words = len(bounds) - 1 - pieces
        self.tokenizer, self._base = tokenizer, base
        if self.whole_words < 1:
            raise ParameterError(
                f"pieces={pieces}, but there are {len(self)} rows and at least one must be a word"
            )
        if unknown == "pieces" and not pieces:
            raise ParameterError(
                "unknown='pieces' needs rows of pieces, and there are none: give pieces=, the number of the last rows that are "
                "pieces, or use 'skip' or 'zero'"
            )
        if unknown == "unk" and self.known.find(UNK) < 0:
            raise ParameterError(
                f"unknown='unk' needs a row called {UNK}, and there is none: use 'skip' or 'zero'"
            )

    @classmethod
    def from_words(
        cls,
        words: Sequence[str],
        pieces: int = 0,
        unknown: str = "skip",
        case: str = "exact-then-lower",
        tokenizer: Tokenizer = ENGLISH,
    ) -> Lexicon:
        """Return the vocabulary of a list of words, with options that are checked."""
        try:
            text, bounds = joined([word.encode() for word in words])
        except UnicodeEncodeError as error:
            raise ParameterError(
                f"the word {error.object!a} holds half of a surrogate pair, which is no character: no text has it"
            ) from None
        unknown, case = one_of(unknown, "unknown", UNKNOWN), one_of(case, "case", CASE)
        return cls(text, bounds, None, whole(pieces, "pieces"), unknown, case, tokenizer)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @cached_property
    def words(self) -> list[str]:
        """Return every word, in the order of the rows."""
        text, bounds = self.text.tobytes(), self.bounds.tolist()
        return [text[begin:end].decode("utf-8", "replace") for begin, end in pairwise(bounds)]

    @property
    def plain_words(self) -> list[str]:
        """Return the words without the pieces."""
        return self.words[: self.whole_words]

    @cached_property
    def _index(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        return kernels.build_slots(self.text, self.bounds[: self.whole_words + 1])

    @cached_property
    def _piece_index(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        return kernels.build_slots(self.text, self.bounds[self.whole_words :])

    @property
    def slots(self) -> NDArray[np.uint64]:
        """Return the hash table over the whole words, saved or built."""
        return self._index[0] if self._saved_slots is None else self._saved_slots

    @property
    def repeated(self) -> NDArray[np.int64]:
        """Return the rows whose word or piece has an earlier row, which a lookup never returns."""
        if not self.pieces:
            return self._index[1]
        return np.append(self._index[1], self._piece_index[1] + self.whole_words)

    @cached_property
    def known(self) -> kernels.Vocabulary:
        """Return the lookup of whole words alone; an unknown one is -1 whatever the policy."""
        return self._vocabulary(DROPPED)

    @cached_property
    def vocabulary(self) -> kernels.Vocabulary:
        """Return the lookup by the policy: -1 is dropped, `len(self)` is a zero vector, pieces give several rows."""
        if self.unknown == "skip" or (self.unknown == "ngrams" and not self.pieces):
            return self.known
        if self.unknown in ("pieces", "ngrams"):
            return kernels.Vocabulary(
                self.text, self.bounds, self.slots, CASE[self.case], DROPPED, self.pieces, self._piece_index[0],
                self.tokenizer.scanner_options, self.unknown == "ngrams",
            )  # fmt: skip
        return self._vocabulary(len(self) if self.unknown == "zero" else self.known.find(UNK))

    def _vocabulary(self, unknown: int) -> kernels.Vocabulary:
        bounds, how = self.bounds[: self.whole_words + 1], self.tokenizer.scanner_options
        return kernels.Vocabulary(self.text, bounds, self.slots, CASE[self.case], unknown, how=how)

    @property
    def tokens(self) -> Callable[[str], list[str]]:
        """Return the function that splits a text for these words."""
        if self._base is not None:
            return self._base.tokens
        tokenize, tokenizer = self.vocabulary.tokenize, self.tokenizer
        if not tokenizer.uses_package:
            return tokenize
        return lambda text: tokenizer.segment_runs(tokenize(text))

    def look_up(self, texts: list[str], threads: int, seen: list[int] | None = None) -> Ids:
        """Look texts up by the policy.

        seen: adds the words, and those that are known whole, to these two numbers: see `KnownShare`.
        """
        if self._base is not None or self.tokenizer.uses_package:
            return self.vocabulary.look_up_tokens([self.tokens(text) for text in texts], seen)
        return self.vocabulary.look_up(texts, threads, seen)

    def row(self, word: str) -> int:
        """Return the row of a whole word, -1 if it is unknown."""
        return int(self.known.look_up_tokens([[word]])[0][0])

    # Other vocabularies of the same words

    def with_tokenizer(self, tokenizer: Tokenizer) -> Lexicon:
        """Return the same words for texts that are split in another way; nothing is copied."""
        return Lexicon(
            self.text, self.bounds, self.slots, self.pieces, self.unknown, self.case, tokenizer
        )

    def select(self, rows: NDArray[np.int64], composed: list[bytes]) -> Lexicon:
        """Return the words of some rows, followed by composed words; texts are split as before."""
        bounds = self.bounds
        names = [self.text[bounds[row] : bounds[row + 1]].tobytes() for row in rows.tolist()]
        text, ends = joined(names + composed)
        return Lexicon(
            text, ends, None, len(composed), self.unknown, self.case, self.tokenizer, self
        )

    def as_whole_words(self) -> Lexicon:
        """Return all rows as whole words; others are skipped."""
        slots = None if self.pieces else self._saved_slots
        return Lexicon(self.text, self.bounds, slots, 0, "skip", self.case, self.tokenizer)

    def without_pieces(self) -> Lexicon:
        """Return the whole words alone; the policy `pieces` becomes `skip`."""
        bounds = self.bounds[: self.whole_words + 1]
        unknown = "skip" if self.unknown == "pieces" else self.unknown
        text = self.text[: bounds[-1]]
        return Lexicon(text, bounds, self._saved_slots, 0, unknown, self.case, self.tokenizer)

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the native objects and the list of words, which are rebuilt on first use."""
        built = {"vocabulary", "known", "words"}
        return {name: value for name, value in self.__dict__.items() if name not in built}


def joined(names: list[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return names as one array of bytes, and their bounds (names + 1,)."""
    bounds = np.array([0, *accumulate(map(len, names))], np.int64)
    return np.frombuffer(b"".join(names), np.uint8), bounds

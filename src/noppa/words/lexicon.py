"""The vocabulary: words to row numbers, without their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
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


class Lexicon:
    """Words as UTF-8, one after the other in `text`, each between two of `bounds` (words + 1,); the last are `pieces`.

    slots: the hash table over all words but the pieces; built where None.
    tokenizer: how texts are split for these words.
    base: the vocabulary that these words are some of, which splits texts for them; None where they are all.
    With the policy `ngrams` the pieces are words that were composed from their n-grams, found as they stand.
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
        self.tokenizer, self._base = tokenizer, base
        self.text, self.bounds, self._saved_slots = text, bounds, slots
        self.pieces = whole(pieces, "pieces")
        self.unknown: str = one_of(unknown, "unknown", UNKNOWN)
        self.case: str = one_of(case, "case", CASE)
        if self.pieces >= len(self):
            raise ParameterError(
                f"pieces={pieces}, but there are {len(self)} rows and at least one must be a word"
            )
        if unknown == "pieces" and not pieces:
            raise ParameterError(
                "unknown='pieces' needs rows of pieces, and there are none: say how many of the last rows "
                "are pieces with pieces=, or use 'skip' or 'zero'"
            )
        if unknown == "unk" and self.known.find(UNK) < 0:
            raise ParameterError(
                f"unknown='unk' needs a row called {UNK}, and there is none: use 'skip' or 'zero'"
            )

    @classmethod
    def of(cls, words: Sequence[str], *options: Any) -> Lexicon:
        """A list of words, with `pieces`, `unknown`, `case` and `tokenizer`."""
        try:
            text = [word.encode() for word in words]
        except UnicodeEncodeError as error:
            raise ParameterError(
                f"the word {error.object!a} holds half of a surrogate pair, which is no character: no text has it"
            ) from None
        bounds = np.cumsum([0, *map(len, text)], dtype=np.int64)
        return cls(np.frombuffer(b"".join(text), np.uint8), bounds, None, *options)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def whole_words(self) -> int:
        """How many rows are words and no pieces: the first ones."""
        return len(self) - self.pieces

    @cached_property
    def words(self) -> list[str]:
        """Every word, in the order of the rows."""
        text, bounds = self.text.tobytes(), self.bounds.tolist()
        return [text[begin:end].decode("utf-8", "replace") for begin, end in pairwise(bounds)]

    @property
    def plain_words(self) -> list[str]:
        """The words without the pieces."""
        return self.words[: self.whole_words]

    @cached_property
    def _index(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        return kernels.build_slots(self.text, self.bounds[: self.whole_words + 1])

    @cached_property
    def _piece_index(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        return kernels.build_slots(self.text, self.bounds[self.whole_words :])

    @property
    def repeated(self) -> NDArray[np.int64]:
        """Rows whose word or piece has an earlier row: look-up never gives them."""
        if not self.pieces:
            return self._index[1]
        return np.append(self._index[1], self._piece_index[1] + self.whole_words)

    @cached_property
    def known(self) -> kernels.Vocabulary:
        """Look-up of whole words alone; an unknown one is -1 whatever the policy."""
        return self._vocabulary(DROPPED)

    @cached_property
    def vocabulary(self) -> kernels.Vocabulary:
        """Look-up by the policy: -1 is dropped, row `len(self)` is a vector of zeros, pieces give several rows a word."""
        if self.unknown == "skip" or (self.unknown == "ngrams" and not self.pieces):
            return self.known
        if self.unknown in ("pieces", "ngrams"):
            return kernels.Vocabulary(
                self.text, self.bounds, self.slots, CASE[self.case], DROPPED, self.pieces, self._piece_index[0],
                self.tokenizer.scanner_options, self.unknown == "ngrams",
            )  # fmt: skip
        return self._vocabulary(len(self) if self.unknown == "zero" else self.known.find(UNK))

    def _vocabulary(self, unknown: int) -> kernels.Vocabulary:
        bounds = self.bounds[: self.whole_words + 1]
        return kernels.Vocabulary(
            self.text,
            bounds,
            self.slots,
            CASE[self.case],
            unknown,
            how=self.tokenizer.scanner_options,
        )

    def tokens(self, text: str) -> list[str]:
        """The tokens of a text, split for these words."""
        if self._base is not None:
            return self._base.tokens(text)
        return self.tokenizer.segment_runs(self.vocabulary.tokenize(text))

    def look_up(
        self, texts: list[str], threads: int, seen: list[int] | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The rows (tokens,) of texts by the policy, and their offsets (texts + 1,).

        seen: telling words and how many of them are known whole, to which those of the texts are added.
        """
        if self.tokenizer.uses_package or self._base is not None:
            return self.vocabulary.look_up_tokens([self.tokens(text) for text in texts], seen)
        return self.vocabulary.look_up(texts, threads, seen)

    def with_tokenizer(self, tokenizer: Tokenizer) -> Lexicon:
        """The same words for texts that are split in another way; nothing is copied."""
        if tokenizer == self.tokenizer:
            return self
        slots = self.slots if self._saved_slots is None else self._saved_slots
        return Lexicon(
            self.text, self.bounds, slots, self.pieces, self.unknown, self.case, tokenizer
        )

    @property
    def slots(self) -> NDArray[np.uint64]:
        """The hash table over the whole words, saved or built; the NumPy twin has and saves an empty one."""
        return (
            self._index[0]
            if self._saved_slots is None or not len(self._saved_slots)
            else self._saved_slots
        )

    def row(self, word: str) -> int:
        """The row of a whole word, -1 where it is unknown."""
        return int(self.known.look_up_tokens([[word]])[0][0])

    def some(self, rows: NDArray[np.int64], composed: list[bytes]) -> Lexicon:
        """The words of some rows, and behind them words that were composed; texts are split as before."""
        text, bounds = self.text, self.bounds
        names = [text[bounds[row] : bounds[row + 1]].tobytes() for row in rows.tolist()] + composed
        joined = np.frombuffer(b"".join(names), np.uint8)
        ends = np.cumsum([0, *map(len, names)], dtype=np.int64)
        return Lexicon(
            joined, ends, None, len(composed), self.unknown, self.case, self.tokenizer, self
        )

    def plain(self) -> Lexicon:
        """All rows as whole words, and others skipped."""
        slots = None if self.pieces else self._saved_slots
        return Lexicon(self.text, self.bounds, slots, 0, "skip", self.case, self.tokenizer)

    def without_pieces(self) -> Lexicon:
        """The whole words alone; the policy `pieces` becomes `skip`."""
        bounds = self.bounds[: self.whole_words + 1]
        unknown = "skip" if self.unknown == "pieces" else self.unknown
        return Lexicon(
            self.text[: bounds[-1]],
            bounds,
            self._saved_slots,
            0,
            unknown,
            self.case,
            self.tokenizer,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the native objects and the list of words, which are rebuilt on first use."""
        built = {"vocabulary", "known", "words"}
        return {name: value for name, value in self.__dict__.items() if name not in built}

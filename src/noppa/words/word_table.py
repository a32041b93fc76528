"""Words, their rows and their probabilities, kept together: what every method pools from."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noppa import _native as kernels
from noppa.errors import ParameterError, UnknownWordError
from noppa.parameters import numbers, short_repr
from noppa.text.tokenizer import ENGLISH, Tokenizer
from noppa.words.frequencies import Probabilities
from noppa.words.lexicon import Lexicon
from noppa.words.matrix import Matrix
from noppa.words.ngram_vectors import NgramVectors

NO_PROBABILITIES = (
    "{method} needs word probabilities and these word vectors have none: give counts with "
    "words.with_counts(file or dict), count your own text with words.with_corpus(texts), or estimate them from the "
    "order of the words with words.with_ranks()"
)

T = TypeVar("T", bound="WordTable")


class WordTable:
    """A lexicon, the matrix of its rows and their probabilities. A change gives another table that shares the rest.

    ordered_columns: (start, stop) of columns of which the first matter most, None where there are none such.
    path: the saved folder that is mapped into memory, None where a table is not just what its folder holds.
    header_checksum: of that folder's header.
    ngrams: rows of character n-grams, of which words get a vector that the table lacks; None but for fastText models.
    base: the table that this one has the words of some texts of, see `for_tokens`.
    """

    def __init__(
        self, lexicon: Lexicon, rows: Matrix, probabilities: Probabilities | None = None
    ) -> None:
        self.lexicon, self.rows = lexicon, rows
        self.word_probabilities = probabilities
        self.ordered_columns: tuple[int, int] | None = None
        self.path: Path | None = None
        self.header_checksum: str | None = None
        self.ngrams: NgramVectors | None = None
        self.base: WordTable | None = None

    @property
    def matrix(self) -> NDArray[Any]:
        """The vectors as they are stored, (words, dim); (words, bytes) where columns are packed."""
        return self.rows.values

    @property
    def scales(self) -> NDArray[Any] | None:
        """What a quantized row is multiplied by, or None."""
        return self.rows.scales

    @property
    def words(self) -> list[str]:
        """Every word, in the order of the rows, the pieces last."""
        return self.lexicon.words

    @property
    def pieces(self) -> int:
        """How many of the last rows are pieces."""
        return self.lexicon.pieces

    @property
    def vocabulary(self) -> kernels.Vocabulary:
        """What turns texts and tokens into row numbers, by the `unknown` policy."""
        return self.lexicon.vocabulary

    @property
    def table(self) -> kernels.Table:
        """The vectors as the kernels take them."""
        return self.rows.table

    @property
    def tokenizer(self) -> Tokenizer:
        """How texts are split for these words."""
        return self.lexicon.tokenizer

    def tokens(self, text: str) -> list[str]:
        """The tokens of a text, split for these words."""
        return self.lexicon.tokens(text)

    @property
    def unknown(self) -> str:
        return self.lexicon.unknown

    @property
    def case(self) -> str:
        return self.lexicon.case

    @property
    def repeated(self) -> NDArray[np.int64]:
        """Rows whose word has an earlier row: look-up never gives them."""
        return self.lexicon.repeated

    @property
    def dim(self) -> int:
        return self.rows.dim

    @property
    def probabilities(self) -> NDArray[np.float64] | None:
        """Probability of each word, (words,), or None."""
        return self.word_probabilities.values if self.word_probabilities else None

    @property
    def counted(self) -> NDArray[np.bool_] | None:
        """Which probabilities come from a count of that word, (words,), or None."""
        return self.word_probabilities.counted if self.word_probabilities else None

    def needed_probabilities(self, method: str) -> NDArray[np.float64]:
        """The probabilities, or an error that names the ways to get them."""
        if self.word_probabilities is None:
            raise ParameterError(NO_PROBABILITIES.format(method=method))
        return self.word_probabilities.values

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.lexicon.row(word) >= 0

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        row = self.lexicon.row(word) if isinstance(word, str) else -1
        if row < 0 and self.ngrams is not None and isinstance(word, str):
            names, vectors = self.ngrams.composed([word], 1)
            if names:
                return np.asarray(vectors[0])
        if row < 0:
            raise UnknownWordError(
                f"{short_repr(word)} is not among the {self.lexicon.whole_words} words of the vocabulary"
            )
        return np.asarray(self.vectors([row])[0])

    def __repr__(self) -> str:
        source = self.word_probabilities.source if self.word_probabilities else "none"
        size = f"{self.lexicon.whole_words} words" + f", {self.pieces} pieces" * bool(self.pieces)
        own = "" if self.tokenizer == ENGLISH else f", tokenizer: {self.tokenizer}"
        return (
            f"{type(self).__name__}({size}, dim={self.dim}, {self.rows.storage}, "
            f"probabilities: {source}{own})"
        )

    def vectors(self, rows: ArrayLike) -> NDArray[np.float32]:
        """Rows of the matrix as float32, (rows, dim)."""
        index = numbers(rows, "an array of row numbers")
        if index.size and (
            index.dtype.kind == "f" or not 0 <= index.min() <= index.max() < len(self)
        ):
            raise ParameterError(
                f"row numbers are whole and lie between 0 and {len(self) - 1}, not {short_repr(rows)}"
            )
        return self.rows.vectors(index)

    def for_tokens(self: T, sentences: list[list[str]], threads: int, always: bool = False) -> T:
        """The words of these sentences alone, with rows for those that the table lacks, composed from their n-grams; the
        table itself where none can be, unless `always`.
        """
        if self.ngrams is None:
            return self
        ids, _ = self.lexicon.known.look_up_tokens(sentences)
        tokens = (token for sentence in sentences for token in sentence)
        lacking = (token for token, row in zip(tokens, ids.tolist(), strict=True) if row < 0)
        names, vectors = self.ngrams.composed(lacking, threads)
        if not (names or always):
            return self
        rows = np.unique(ids[ids >= 0]).astype(np.int64)
        rows = rows if len(rows) else np.zeros(1, np.int64)  # a table has at least one word
        before, probabilities = self.word_probabilities, None
        if before is not None:
            rare = np.full(len(names), before.values.min())
            probabilities = before.of_rows(rows).with_pieces(len(names), rare, None)
        return self._changed(
            lexicon=self.lexicon.some(rows, names),
            rows=Matrix(np.concatenate([self.rows.vectors(rows), vectors]), None),
            word_probabilities=probabilities,
            base=self,
        )

    def with_tokenizer(self: T, tokenizer: Tokenizer | str) -> T:
        """The same words for texts that are split in another way: see `Tokenizer`; a name such as `fr` or `zh` will do."""
        how = Tokenizer.parse(tokenizer)
        return (
            self
            if how == self.tokenizer
            else self._changed(lexicon=self.lexicon.with_tokenizer(how))
        )

    def without_pieces(self: T) -> T:
        """The whole words alone, nothing copied."""
        if not self.pieces:
            return self
        whole = slice(self.lexicon.whole_words)
        probabilities = self.word_probabilities and self.word_probabilities.of_rows(whole)
        return self._changed(
            lexicon=self.lexicon.without_pieces(),
            rows=self.rows.some(whole),
            word_probabilities=probabilities,
        )

    def without_ngrams(self: T) -> T:
        """The rows that are there alone, as a table like any other, nothing copied."""
        return (
            self
            if self.ngrams is None
            else self._changed(lexicon=self.lexicon.plain(), ngrams=None, base=None)
        )

    def columns(self: T, start: int, stop: int) -> T:
        """The same words with the columns from `start` up to `stop` of their vectors, which are not copied."""
        self._require_table("some of their columns")
        rows, (first, last) = self.rows.columns(start, stop), self.ordered_columns or (0, 0)
        kept = (0, min(stop, last) - start) if first <= start < last else None
        return self._changed(rows=rows, ordered_columns=kept)

    @property
    def ordered(self) -> bool:
        """Whether the first of all columns matter most, so that a mean of the vectors may be cut to fewer."""
        return self.ordered_columns == (0, self.dim)

    def with_scales(self: T, scales: ArrayLike) -> T:
        """The same words with other scales of their quantized vectors, which are not copied: each word counts more or less."""
        self._require_table("other scales")
        return self._changed(rows=self.rows.with_scales(scales))

    def _require_table(self, what: str) -> None:
        """Refuse a change of the rows that those of n-grams would not follow."""
        if self.ngrams is not None:
            raise ParameterError(
                f"words with n-grams cannot be given {what}: freeze them to a table first, with keep= or texts= of load"
            )

    def shares_with(self, other: WordTable) -> bool:
        """Whether all but the vectors is the same object in both."""
        return self.lexicon is other.lexicon and self.word_probabilities is other.word_probabilities

    def _changed(self: T, **parts: Any) -> T:
        """A table with other parts, which is no longer what its folder holds."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **parts, path=None, header_checksum=None)
        return other

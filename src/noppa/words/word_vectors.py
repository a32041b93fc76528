"""Tokens to ids: the vocabulary, its vectors, and the probability of each word."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noppa.errors import ParameterError, UnknownWordError, warn
from noppa.io import storage
from noppa.kernels.backend import kernels
from noppa.parameters import numbers, shown
from noppa.text.texts import texts_of
from noppa.text.tokens import Tokenizer
from noppa.words import frequencies, word_folder
from noppa.words.counting import counts_of
from noppa.words.coverage import Coverage, coverage_of
from noppa.words.frequencies import Probabilities, WordCounts
from noppa.words.lexicon import Lexicon
from noppa.words.matrix import Matrix

if TYPE_CHECKING:
    from noppa.words.formats import Loaded, Options, Report
    from noppa.words.formats.load_options import Progress

NO_PROBABILITIES = (
    "{method} needs word probabilities and these word vectors have none: give counts with "
    "words.with_counts(file or dict), count your own text with words.with_corpus(texts), or estimate them from the "
    "order of the words with words.with_ranks()"
)


class WordVectors:
    """A vocabulary with its vectors, matrix (words, dim), and the probability of each word.

    A word is looked up as it is, then in lower case (`case`), then by the `unknown` policy: `skip` drops it, `zero`
    gives it a vector of zeros, `unk` the row called `<unk>`, `pieces` the rows of its pieces (see `noppa.text.pieces`).

    scales: of an int8 matrix, one a row, (words,), or one a row and block of columns, (words, blocks).
    blocks: how many columns each scale of a row is for.
    pieces: how many of the last rows are pieces of words and no words; `##ing` is one that continues a word.

    >>> words = WordVectors(["a", "cake"], [[0.1, 0.2], [0.3, 0.4]])
    >>> len(words), words.dim, "Cake" in words
    (2, 2, True)
    """

    path: Path | None
    report: Report | None
    _probabilities: Probabilities | None

    def __init__(
        self,
        words: Sequence[str],
        matrix: ArrayLike,
        probabilities: ArrayLike | None = None,
        *,
        scales: ArrayLike | None = None,
        unknown: str = "skip",
        case: str = "exact-then-lower",
        pieces: int = 0,
        blocks: Sequence[int] = (),
    ) -> None:
        words = texts_of(words)
        self._set(
            rows=Matrix.of(words, matrix, scales, blocks),
            lexicon=Lexicon.of(words, pieces, unknown, case),
        )
        if probabilities is not None:
            values = numbers(probabilities, "an array of probabilities").astype(float)
            if values.shape != (len(words),):
                raise ParameterError(
                    f"{len(words)} words need {len(words)} probabilities, not an array of shape {values.shape}"
                )
            self._probabilities = frequencies.given(words, values)
        self._warn_of_repeated()

    def _warn_of_repeated(self) -> None:
        if len(self.repeated):
            first = self.words[self.repeated[0]]
            warn(
                f"{len(self.repeated)} words stand more than once, the first is {first!r}: "
                "the first vector of each counts"
            )

    def _set(self, lexicon: Lexicon, rows: Matrix) -> None:
        self.lexicon, self.rows = lexicon, rows
        self.path = None
        self.report = None
        self._probabilities = None

    @property
    def matrix(self) -> NDArray[Any]:
        """The vectors as they are stored, (words, dim)."""
        return self.rows.values

    @property
    def scales(self) -> NDArray[np.float32] | None:
        """What an 8-bit row is multiplied by, or None."""
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
    def unknown(self) -> str:
        return self.lexicon.unknown

    @property
    def case(self) -> str:
        return self.lexicon.case

    @property
    def repeated(self) -> NDArray[np.int64]:
        """Row numbers whose word stands before: they are never looked up."""
        return self.lexicon.repeated

    @property
    def dim(self) -> int:
        return int(self.matrix.shape[1])

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.lexicon.row(word) >= 0

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        row = self.lexicon.row(word) if isinstance(word, str) else -1
        if row < 0:
            raise UnknownWordError(
                f"{shown(word)} is not among the {self.lexicon.whole_words} words of the vocabulary"
            )
        return np.asarray(self.vectors([row])[0])

    def __repr__(self) -> str:
        source = self._probabilities.source if self._probabilities else "none"
        size = f"{self.lexicon.whole_words} words" + f", {self.pieces} pieces" * bool(self.pieces)
        return f"WordVectors({size}, dim={self.dim}, {self.matrix.dtype}, probabilities: {source})"

    def vectors(self, rows: ArrayLike) -> NDArray[np.float32]:
        """Rows of the matrix as float32, (rows, dim)."""
        index = numbers(rows, "an array of row numbers")
        if index.size and (
            index.dtype.kind == "f" or not 0 <= index.min() <= index.max() < len(self)
        ):
            raise ParameterError(
                f"row numbers are whole and lie between 0 and {len(self) - 1}, not {shown(rows)}"
            )
        return self.rows.vectors(index)

    def without_pieces(self) -> WordVectors:
        """The whole words alone, nothing copied."""
        if not self.pieces:
            return self
        count = self.lexicon.whole_words
        other = self._with(self._probabilities and self._probabilities.of_rows(slice(count)))
        other.lexicon, other.rows = self.lexicon.without_pieces(), self.rows.some(slice(count))
        return other

    def shares_with(self, other: WordVectors) -> bool:
        """Whether all but the vectors is the same object in both."""
        return self.lexicon is other.lexicon and self._probabilities is other._probabilities

    def columns(self, start: int, stop: int) -> WordVectors:
        """The same words with the columns from `start` up to `stop` of their vectors, which are not copied."""
        other = self._with(self._probabilities)
        other.rows = self.rows.columns(start, stop)
        return other

    def with_scales(self, scales: ArrayLike) -> WordVectors:
        """The same words with other scales of their 8-bit vectors, which are not copied: each word counts more or less."""
        other = self._with(self._probabilities)
        other.rows = self.rows.with_scales(scales)
        return other

    # Word probabilities

    @property
    def probabilities(self) -> NDArray[np.float64] | None:
        """Probability of each word, (words,), or None."""
        return self._probabilities.values if self._probabilities else None

    @property
    def counted(self) -> NDArray[np.bool_] | None:
        """Which probabilities come from a count of that word, (words,), or None."""
        return self._probabilities.counted if self._probabilities else None

    def needed_probabilities(self, method: str) -> NDArray[np.float64]:
        """The probabilities, or an error that names the ways to get them."""
        if self._probabilities is None:
            raise ParameterError(NO_PROBABILITIES.format(method=method))
        return self._probabilities.values

    def with_counts(
        self,
        counts: Mapping[str, float] | str | PathLike[str],
        missing: str | float = "smallest",
        errors: str = "strict",
    ) -> WordVectors:
        """The same vectors with probabilities from a dict or a file of `word count` lines.

        `missing` is the probability of words without a count: `"smallest"` (the smallest one counted; punctuation,
        clitics and digits get their share in English text) or a number. `errors` is for words of the file that are
        not UTF-8, as in `load`.
        """
        return self._counted(frequencies.from_counts(self._whole_words, counts, missing, errors))

    def with_corpus(
        self,
        texts: Iterable[str],
        tokenizer: Tokenizer | None = None,
        missing: str | float = "smallest",
    ) -> WordVectors:
        """The same vectors with probabilities counted over your own texts."""
        return self.with_word_counts(self.count(texts, tokenizer), missing)

    def count(self, texts: Iterable[str], tokenizer: Tokenizer | None = None) -> WordCounts:
        """How often each word occurs in texts; the counts of parts of a corpus add up."""
        return counts_of(self.lexicon, texts, kernels.tokenize if tokenizer is None else tokenizer)

    def with_word_counts(
        self, counts: WordCounts, missing: str | float = "smallest"
    ) -> WordVectors:
        """The same vectors with the probabilities of what `count` gave."""
        found = counts.probabilities(self._whole_words, missing)
        pieces = counts.pieces / max(counts.total, 1) if self.unknown == "pieces" else None
        return self._counted(found, pieces)

    def with_ranks(self) -> WordVectors:
        """The same vectors with probabilities estimated from the order of the words, most frequent first."""
        return self._counted(frequencies.from_ranks(self.lexicon.whole_words))

    @property
    def _whole_words(self) -> list[str]:
        return self.words[: self.lexicon.whole_words]

    def _counted(
        self, found: Probabilities, shares: NDArray[np.float64] | None = None
    ) -> WordVectors:
        """With these probabilities of whole words, and of pieces: their shares, or what they had."""
        before = self.probabilities
        kept = None if before is None else before[self.lexicon.whole_words :]
        return self._with(found.with_pieces(self.pieces, kept, shares))

    def _with(self, probabilities: Probabilities | None) -> WordVectors:
        other = object.__new__(WordVectors)
        other.__dict__.update(self.__dict__)
        other.path = None
        other._probabilities = probabilities
        return other

    def coverage(self, texts: Iterable[str], tokenizer: Tokenizer | None = None) -> Coverage:
        """How many tokens and different words of the texts are known, and which frequent ones are not."""
        split = kernels.tokenize if tokenizer is None else tokenizer
        return coverage_of(self.lexicon, texts, split)

    # Files

    def save(self, path: str | PathLike[str]) -> None:
        """Write a folder that `load` maps into memory; an existing one is replaced only by a complete new one."""
        word_folder.write(path, self.lexicon, self.rows, self._probabilities)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str] | Any,
        limit: int | None = None,
        keep: Collection[str] | None = None,
        dtype: str | None = None,
        *,
        drop: Collection[str] = ("</s>",),
        header: bool | None = None,
        errors: str = "strict",
        on_error: str = "error",
        strict: bool = False,
        member: str | None = None,
        vocabulary: str | PathLike[str] | None = None,
        unknown: str | None = None,
        case: str | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        verify: bool = False,
    ) -> WordVectors:
        """Word vectors from a saved folder, any common vector file, or a gensim `KeyedVectors` object.

        The content decides, not the name: GloVe text, word2vec text and binary, fastText `.vec`, `.npy` or safetensors
        with a vocabulary beside it; plain, gz, bz2, xz, zip or zst. What was met is in `report`. A saved folder is
        mapped into memory as it is; `limit`, `keep` or another `dtype` copies what they ask for.

        limit: only the first rows. keep: only these words. drop: never these words.
        dtype: float32, float16, or int8 with a scale a row; None takes a saved folder as it is, and a file as float32.
        header: whether line 1 is `count dim`; found out where None.
        errors: what to do with a word that is not UTF-8: "strict", "replace" or "skip".
        on_error: what to do with a line that cannot be read: "error" or "skip".
        strict: refuse a file that ends early, instead of a warning.
        member: which file of a zip archive. vocabulary: where the words of a matrix file are.
        unknown, case: as of `WordVectors`; a saved folder has its own.
        progress: called with the bytes read so far and in all.
        verify: compare the checksums of a saved folder's large files too, which reads them whole.
        """
        saved = None
        if isinstance(path, (str, PathLike)) and os.path.isfile(Path(path) / storage.HEADER):
            verified = storage.EVERY_BYTE if verify else storage.VERIFIED_BYTES
            saved = cls.open_folder(Path(path), unknown, case, verified)
            stored = str(saved.matrix.dtype)
            dtype = stored if dtype is None else dtype
            if limit is None and keep is None and isinstance(dtype, str) and dtype == stored:
                return saved
        # Takes as long to import as all the rest, and a saved folder needs it not.
        from noppa.words import formats as files

        options = files.Options(
            limit, keep, drop, "float32" if dtype is None else dtype, header, errors, on_error, strict, member, vocabulary, threads, progress
        )  # fmt: skip
        if saved is not None:
            return saved._picked(options)
        return cls.of(files.read(path, options), unknown or "skip", case or "exact-then-lower")

    @classmethod
    def of(
        cls, loaded: Loaded, unknown: str = "skip", case: str = "exact-then-lower"
    ) -> WordVectors:
        """What `noppa.words.formats.vector_reader` gave, as it is."""
        words = object.__new__(cls)
        words._set(
            Lexicon(loaded.text, loaded.bounds, None, 0, unknown, case),
            Matrix(loaded.matrix, loaded.scales),
        )
        words.report = loaded.report
        words._warn_of_repeated()
        return words

    @classmethod
    def open_folder(
        cls,
        path: Path,
        unknown: str | None = None,
        case: str | None = None,
        verified: int = storage.VERIFIED_BYTES,
    ) -> WordVectors:
        """A saved folder as it is, its files up to `verified` bytes compared with their checksums."""
        lexicon, rows, probabilities = word_folder.read(path, unknown, case, verified)
        words = object.__new__(cls)
        words._set(lexicon, rows)
        words._probabilities = probabilities
        words.path = path.absolute()
        return words

    def _picked(self, options: Options) -> WordVectors:
        """Some words of these, or all of them in another type, with all the pieces and the probabilities."""
        from noppa.words.formats.row_buffer import picked

        rows, matrix = picked(self.lexicon, self.rows, options, self.path)
        other = WordVectors(
            [self.words[row] for row in rows.tolist()],
            matrix.values,
            scales=matrix.scales,
            unknown=self.unknown,
            case=self.case,
            pieces=self.pieces,
            blocks=matrix.blocks,
        )
        other._probabilities = self._probabilities and self._probabilities.of_rows(rows)
        return other

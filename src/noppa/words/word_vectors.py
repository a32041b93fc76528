"""`WordVectors`: a vocabulary, its vectors and the probability of each word, from lists, vector files or saved folders."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noppa import _native as kernels
from noppa.constants import CASE
from noppa.errors import FileError, ParameterError, UnknownWordError, warn
from noppa.io import storage
from noppa.parameters import boolean, numbers, one_of, short_repr, whole
from noppa.text.tokenizer import ENGLISH, Split, Tokenizer
from noppa.threads import thread_count
from noppa.words import frequencies
from noppa.words import storage as word_folder
from noppa.words.coverage import Coverage, measure_coverage
from noppa.words.frequencies import Probabilities, count_tokens, words_of_texts
from noppa.words.lexicon import UNKNOWN, Lexicon
from noppa.words.matrix import Matrix
from noppa.words.ngram_vectors import NgramVectors
from noppa.words.texts import texts_of

if TYPE_CHECKING:
    from noppa.words.formats import Loaded, Options, Report
    from noppa.words.formats.rows import Progress

NO_NGRAMS = (
    "unknown='ngrams' needs the n-grams of a whole fastText model, a .bin or .ftz file loaded without limit, keep and texts, "
    "and these words have none: use 'skip' or 'zero'"
)
NO_PROBABILITIES = (
    "{method} needs word probabilities and these word vectors have none: give counts with words.with_counts(file or dict), "
    "count your own text with words.with_corpus(texts), or estimate them from the order of the words with words.with_ranks()"
)
#: Rows compared at a time by `nearest`.
BLOCK = 1 << 15


class WordVectors:
    """A vocabulary with its vectors, matrix (words, dim), and the probability of each word.

    A word is looked up as it is, then in lower case (`case`), then by the `unknown` policy: `skip` drops it, `zero`
    gives it a vector of zeros, `unk` the row called `<unk>`, `pieces` the rows of its pieces, `ngrams` the vector that a
    fastText model composes from its character n-grams. Methods that change something return another object that shares the
    rest.

    Args:
        words: The words, one per row, most frequent first.
        matrix: Their vectors, (words, dim).
        probabilities: Of each word, (words,); NaN for a word without one.
        scales: Of an int8 matrix, one per row, (words,).
        unknown: What to do with an unknown word.
        case: `exact-then-lower`, `exact` or `lower`.
        pieces: How many of the last rows are pieces of words; `##ing` continues a word.
        ordered: Whether the first columns matter most, so that a mean of the vectors may be cut to fewer.
        tokenizer: How texts are split for these words, a `Tokenizer` or its name: `fr`, `tr`, `zh`, `whitespace`, …

    Attributes:
        report: How the vector file was read, None for words from anywhere else.
        ordered_columns: (start, stop) of columns of which the first matter most, or None.
        path: The saved folder that is mapped into memory, None if these words differ from it.
        ngrams: Vectors of character n-grams, only for fastText models.

    >>> words = WordVectors(["a", "cake"], [[0.1, 0.2], [0.3, 0.4]])
    >>> len(words), words.dim, "Cake" in words
    (2, 2, True)
    """

    report: Report | None = None
    word_probabilities: Probabilities | None = None
    ordered_columns: tuple[int, int] | None = None
    path: Path | None = None
    header_checksum: str | None = None
    ngrams: NgramVectors | None = None
    #: The words that these were selected from for some texts: see `for_tokens`.
    base: WordVectors | None = None

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
        ordered: bool = False,
        tokenizer: Tokenizer | str = ENGLISH,
    ) -> None:
        if isinstance(unknown, str) and unknown == "ngrams":
            raise ParameterError(NO_NGRAMS)
        words, tokenizer = texts_of(words), Tokenizer.parse(tokenizer)
        self.rows = Matrix.from_arrays(words, matrix, scales)
        self.lexicon = Lexicon.from_words(words, pieces, unknown, case, tokenizer)
        if boolean(ordered, "ordered"):
            self.ordered_columns = 0, self.dim
        if probabilities is not None:
            values = numbers(probabilities, "an array of probabilities").astype(float)
            if values.shape != (len(words),):
                raise ParameterError(
                    f"{len(words)} words need {len(words)} probabilities, not an array of shape {values.shape}"
                )
            self.word_probabilities = frequencies.from_values(words, values)
        self._warn_of_repeated()

    @classmethod
    def _from_parts(cls, **parts: Any) -> WordVectors:
        """Return words of attributes that were checked before."""
        words = object.__new__(cls)
        words.__dict__.update(parts)
        return words

    def _changed(self, **parts: Any) -> WordVectors:
        """Return words with other parts, which are no longer those of their folder."""
        return self._from_parts(**{**self.__dict__, **parts, "path": None, "header_checksum": None})

    def _warn_of_repeated(self) -> None:
        if len(self.repeated):
            first = self.words[self.repeated[0]]
            warn(
                f"{len(self.repeated)} words occur more than once, the first is {first!r}: "
                "the first vector of each counts"
            )

    # Content

    @property
    def matrix(self) -> NDArray[Any]:
        """Return the vectors as they are stored, (words, dim); (words, bytes) if columns are packed."""
        return self.rows.values

    @property
    def scales(self) -> NDArray[Any] | None:
        """Return the factors of quantized rows, or None."""
        return self.rows.scales

    @property
    def words(self) -> list[str]:
        """Return every word, in the order of the rows, the pieces last."""
        return self.lexicon.words

    @property
    def pieces(self) -> int:
        """Return how many of the last rows are pieces."""
        return self.lexicon.pieces

    @property
    def vocabulary(self) -> kernels.Vocabulary:
        """Return the native lookup of texts and tokens, by the `unknown` policy."""
        return self.lexicon.vocabulary

    @property
    def table(self) -> kernels.Table:
        """Return the vectors as the kernels take them."""
        return self.rows.table

    @property
    def tokenizer(self) -> Tokenizer:
        """Return how texts are split for these words."""
        return self.lexicon.tokenizer

    def tokens(self, text: str) -> list[str]:
        """Split a text for these words."""
        return self.lexicon.tokens(text)

    @property
    def unknown(self) -> str:
        return self.lexicon.unknown

    @property
    def case(self) -> str:
        return self.lexicon.case

    @property
    def repeated(self) -> NDArray[np.int64]:
        """Return the rows whose word has an earlier row, which a lookup never returns."""
        return self.lexicon.repeated

    @property
    def dim(self) -> int:
        return self.rows.dim

    @property
    def ordered(self) -> bool:
        """Return whether the first of all columns matter most, so that a mean of the vectors may be cut to fewer."""
        return self.ordered_columns == (0, self.dim)

    @property
    def probabilities(self) -> NDArray[np.float64] | None:
        """Return the probability of each word, (words,), or None."""
        return self.word_probabilities.values if self.word_probabilities else None

    @property
    def counted(self) -> NDArray[np.bool_] | None:
        """Return which probabilities come from a count of that word, (words,), or None."""
        return self.word_probabilities.counted if self.word_probabilities else None

    def needed_probabilities(self, method: str) -> NDArray[np.float64]:
        """Return the probabilities, or raise an error that names the ways to get them."""
        if self.word_probabilities is None:
            raise ParameterError(NO_PROBABILITIES.format(method=method))
        return self.word_probabilities.values

    def __len__(self) -> int:
        return len(self.rows.values)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.lexicon.row(word) >= 0

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        row = self.lexicon.row(word) if isinstance(word, str) else -1
        if row >= 0:
            return np.asarray(self.rows.vectors([row])[0])
        if self.ngrams is not None and isinstance(word, str):
            names, vectors = self.ngrams.composed([word], 1)
            if names:
                return np.asarray(vectors[0])
        raise UnknownWordError(
            f"{short_repr(word)} is not among the {self.lexicon.whole_words} words of the vocabulary"
        )

    def vectors(self, rows: ArrayLike) -> NDArray[np.float32]:
        """Return rows of the matrix as float32, (rows, dim)."""
        index = numbers(rows, "an array of row numbers")
        if index.size and (
            index.dtype.kind == "f" or not 0 <= index.min() <= index.max() < len(self)
        ):
            raise ParameterError(
                f"row numbers must be integers from 0 to {len(self) - 1}, not {short_repr(rows)}"
            )
        return self.rows.vectors(index)

    def nearest(self, word: str, n: int = 10) -> list[tuple[str, float]]:
        """Return the `n` words with the largest cosine to `word`, which is not among them, largest first."""
        n, words, query = whole(n, "n", 1), self.without_pieces(), self[word].astype(float)
        cosines = np.zeros(len(words))
        for start in range(0, len(words), BLOCK):
            numbers = np.arange(start, min(start + BLOCK, len(words)))
            rows = words.rows.vectors(numbers).astype(float)
            lengths = np.linalg.norm(rows, axis=1) * (np.linalg.norm(query) or 1)
            cosines[start : start + BLOCK] = rows @ query / np.where(lengths > 0, lengths, 1)
        order = np.argsort(-cosines, kind="stable")[: n + 1 + len(words.repeated)].tolist()
        itself = words.words[words.lexicon.row(word)]
        others = [
            (words.words[row], float(cosines[row])) for row in order if words.words[row] != itself
        ]
        return others[:n]

    def coverage(
        self, texts: Iterable[str], tokenizer: Split | Tokenizer | str | None = None
    ) -> Coverage:
        """Measure how many tokens and different words of the texts are known, and list the unknown ones."""
        return measure_coverage(
            lambda words: self.for_tokens([words], 1).lexicon, texts, self._split(tokenizer)
        )

    def __repr__(self) -> str:
        source = self.word_probabilities.source if self.word_probabilities else "none"
        size = f"{self.lexicon.whole_words} words" + f", {self.pieces} pieces" * bool(self.pieces)
        tokenizer = "" if self.tokenizer == ENGLISH else f", tokenizer: {self.tokenizer}"
        return f"WordVectors({size}, dim={self.dim}, {self.rows.storage}, probabilities: {source}{tokenizer})"

    # Word probabilities

    def with_counts(
        self,
        counts: Mapping[str, float] | str | PathLike[str],
        missing: str | float = "smallest",
        on_error: str = "raise",
    ) -> WordVectors:
        """Return the same vectors with probabilities from counts.

        Args:
            counts: A dict, a file of `word count` lines, or a language of the package wordfreq, which has 42:
                `wordfreq:de` (`pip install 'noppa[wordfreq]'`).
            missing: The probability of words without a count: `"smallest"` (the smallest one counted; punctuation,
                clitics and digits get their share in English text) or a number.
            on_error: What to do with lines of the file that are not UTF-8: "raise" or "skip".
        """
        words = self.lexicon.plain_words
        return self._with_probabilities(frequencies.from_counts(words, counts, missing, on_error))

    def with_corpus(
        self,
        texts: Iterable[str],
        tokenizer: Split | Tokenizer | str | None = None,
        missing: str | float = "smallest",
    ) -> WordVectors:
        """Return the same vectors with probabilities counted over your own texts."""
        split = self._split(tokenizer)
        return self._with_probabilities(
            *frequencies.from_texts(self.lexicon, texts, split, missing)
        )

    def _split(self, tokenizer: Split | Tokenizer | str | None) -> Split:
        """Return the function from a text to tokens that a user asks for, by default that of these words."""
        if isinstance(tokenizer, (str, Tokenizer)):
            return self.with_tokenizer(tokenizer).tokens
        return self.tokens if tokenizer is None else tokenizer

    def with_ranks(self) -> WordVectors:
        """Return the same vectors with probabilities estimated from the order of the words, most frequent first."""
        return self._with_probabilities(frequencies.from_ranks(self.lexicon.whole_words))

    def _with_probabilities(
        self, of_words: Probabilities, piece_shares: NDArray[np.float64] | None = None
    ) -> WordVectors:
        """Set the probabilities of whole words; pieces have their shares, or what they had before."""
        before = self.probabilities
        of_pieces = None if before is None else before[self.lexicon.whole_words :]
        return self._changed(
            word_probabilities=of_words.with_pieces(self.pieces, of_pieces, piece_shares)
        )

    # Other forms of the same words

    def with_tokenizer(self, tokenizer: Tokenizer | str) -> WordVectors:
        """Return the same words for texts that are split in another way: a `Tokenizer`, or a name such as `fr` or `zh`."""
        tokenizer = Tokenizer.parse(tokenizer)
        if tokenizer == self.tokenizer:
            return self
        return self._changed(lexicon=self.lexicon.with_tokenizer(tokenizer))

    def without_pieces(self) -> WordVectors:
        """Return the whole words alone, nothing copied."""
        if not self.pieces:
            return self
        whole_words = slice(self.lexicon.whole_words)
        probabilities = self.word_probabilities and self.word_probabilities.select(whole_words)
        return self._changed(
            lexicon=self.lexicon.without_pieces(),
            rows=self.rows.select(whole_words),
            word_probabilities=probabilities,
        )

    def without_ngrams(self) -> WordVectors:
        """Return the rows that exist as a table like any other, nothing copied."""
        if self.ngrams is None:
            return self
        return self._changed(lexicon=self.lexicon.as_whole_words(), ngrams=None, base=None)

    def columns(self, start: int, stop: int) -> WordVectors:
        """Return the same words with the columns from `start` up to `stop` of their vectors, which are not copied."""
        self._require_table("a selection of columns")
        rows, (first, last) = self.rows.columns(start, stop), self.ordered_columns or (0, 0)
        ordered = (0, min(stop, last) - start) if first <= start < last else None
        return self._changed(rows=rows, ordered_columns=ordered)

    def with_scales(self, scales: ArrayLike) -> WordVectors:
        """Return the same words with other scales of their quantized vectors, so that each word counts more or less."""
        self._require_table("other scales")
        return self._changed(rows=self.rows.with_scales(scales))

    def quantized(
        self, bits: int | Sequence[int] = 4, blocks: int | Sequence[int] = 64
    ) -> WordVectors:
        """Return the same words with vectors of 4 or 8 bits per column, and a float16 scale per row and block of columns.

        4 bits are one of 16 levels that fit a normal distribution: they move a vector by about 9 % of its length, 8 bits by
        0.7 %.

        Args:
            bits: 4 or 8, or one of them for each block.
            blocks: How many columns a block has, the last perhaps fewer; or the widths of all.

        >>> words = WordVectors(["a", "cake"], [[0.1, 0.2], [0.3, 0.4]]).quantized()
        >>> words.matrix.shape, words.dim
        ((2, 1), 2)
        """
        self._require_table("other bits")
        return self._changed(rows=self.rows.quantized(bits, blocks))

    def _require_table(self, change: str) -> None:
        """Raise for a change of the rows that the rows of n-grams would not follow."""
        if self.ngrams is not None:
            raise ParameterError(
                f"words with n-grams cannot be given {change}: freeze them to a table first, with keep= or texts= of load"
            )

    def for_tokens(
        self, sentences: list[list[str]], threads: int, always: bool = False
    ) -> WordVectors:
        """Return the words of these sentences alone, with vectors composed from n-grams for those that the table lacks.

        Returns the table itself if none can be composed, unless `always`.
        """
        if self.ngrams is None:
            return self
        ids, _ = self.lexicon.known.look_up_tokens(sentences)
        tokens = (token for sentence in sentences for token in sentence)
        unknown = (token for token, row in zip(tokens, ids.tolist(), strict=True) if row < 0)
        names, vectors = self.ngrams.composed(unknown, threads)
        if not (names or always):
            return self
        rows = np.unique(ids[ids >= 0]).astype(np.int64)
        rows = rows if len(rows) else np.zeros(1, np.int64)  # a table has at least one word
        before, probabilities = self.word_probabilities, None
        if before is not None:
            rarest = np.full(len(names), before.values.min())
            probabilities = before.select(rows).with_pieces(len(names), rarest)
        return self._changed(
            lexicon=self.lexicon.select(rows, names),
            rows=Matrix(np.concatenate([self.rows.vectors(rows), vectors]), None),
            word_probabilities=probabilities,
            base=self,
        )

    def frozen(self, texts: Iterable[str], threads: int | None = None) -> WordVectors:
        """Return a fastText model's words of these texts as a table, with unlisted ones composed once and for all.

        Other word vectors stay as they are.
        """
        if self.ngrams is None:
            return self
        return self._table_of(sorted(count_tokens(texts, self.tokens)), threads)

    def _table_of(self, words: list[str], threads: int | None) -> WordVectors:
        return self.for_tokens([words], thread_count(threads), always=True).without_ngrams()

    # Files

    def save(self, path: str | PathLike[str]) -> None:
        """Write a folder that `load` maps into memory; an existing one is replaced only by a complete new one."""
        word_folder.write(path, self)

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
        on_error: str = "raise",
        strict: bool = False,
        member: str | None = None,
        vocabulary: str | PathLike[str] | None = None,
        unknown: str | None = None,
        case: str | None = None,
        tokenizer: Tokenizer | str | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        verify: bool = False,
        texts: Iterable[str] | None = None,
    ) -> WordVectors:
        """Load word vectors from a saved folder, any common vector file, or a gensim `KeyedVectors` object.

        The content decides, not the name: GloVe text, word2vec text and binary, fastText `.vec`, `.npy` or safetensors
        with a vocabulary next to it; plain, gz, bz2, xz, zip or zst. fastText's own `.bin` and `.ftz` are mapped and give the
        probabilities of their words; unlisted words are composed from character n-grams, whenever a text has one, or once
        and for all with `keep` or `texts`, which freeze the model to a table. A saved folder is mapped into memory as it is;
        `limit`, `keep` or another `dtype` makes a copy.

        Args:
            path: The folder, file or object.
            limit: Load the first rows only.
            keep: Load these words only.
            dtype: float32, float16, or int8 with a scale per row. By default a folder stays as it is, and a file becomes
                float32.
            drop: Never load these words.
            header: Whether line 1 is `count dim`; detected by default.
            on_error: What to do with a line that cannot be read, or a word that is not UTF-8: "raise" or "skip".
            strict: Raise for a file that ends early, instead of a warning.
            member: Which file of a zip archive to load.
            vocabulary: The file with the words of a matrix file.
            unknown: As for `WordVectors`, like `case` and `tokenizer`; a saved folder has its own.
            threads: How many threads parse a text file.
            progress: Called with the bytes read so far and in all.
            verify: Compare the checksums of a saved folder's large files too, which reads them whole.
            texts: Load only the words of these texts, split by `tokenizer`, and those of `keep`.
        """
        if unknown is not None:
            one_of(unknown, "unknown", UNKNOWN)
        if case is not None:
            one_of(case, "case", CASE)
        tokenizer = None if tokenizer is None else Tokenizer.parse(tokenizer)
        if texts is not None:
            keep = words_of_texts(texts, tokenizer or ENGLISH) | set(keep or ())
        saved = None
        if isinstance(path, (str, PathLike)) and storage.is_saved_folder(path):
            verified = storage.EVERY_BYTE if verify else storage.VERIFIED_BYTES
            saved = cls.open_folder(Path(path), unknown, case, verified)
            saved = saved if tokenizer is None else saved.with_tokenizer(tokenizer)
            as_stored = dtype is None or (
                isinstance(dtype, str) and dtype == str(saved.matrix.dtype)
            )
            if limit is None and keep is None and as_stored:
                return saved
        # Imported lazily: doubles import time, unused for saved folders.
        from noppa.words import formats

        options = formats.Options(
            limit, keep, drop, "float32" if dtype is None else dtype, header, on_error, strict, member, vocabulary, threads, progress
        )  # fmt: skip
        if saved is not None:
            return saved._selected(options, as_stored)
        loaded = formats.read(path, options)
        return cls.from_loaded(loaded, unknown, case or "exact-then-lower", tokenizer or ENGLISH)

    @classmethod
    def from_loaded(
        cls,
        loaded: Loaded,
        unknown: str | None = None,
        case: str = "exact-then-lower",
        tokenizer: Tokenizer = ENGLISH,
    ) -> WordVectors:
        """Return what `formats.read` gave; `unknown` is by default `ngrams` for a model that has some, else `skip`."""
        unknown = unknown or ("skip" if loaded.ngrams is None else "ngrams")
        if unknown == "ngrams" and loaded.ngrams is None:
            raise ParameterError(NO_NGRAMS)
        words = cls._from_parts(
            lexicon=Lexicon(loaded.text, loaded.bounds, None, 0, unknown, case, tokenizer),
            rows=Matrix(loaded.matrix, loaded.scales),
            word_probabilities=loaded.probabilities,
            ngrams=loaded.ngrams if unknown == "ngrams" else None,
            report=loaded.report,
        )
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
        """Open a saved folder as it is, and compare its files up to `verified` bytes with their checksums."""
        parts = storage.read_snapshot(
            path, lambda place: word_folder.read(place, unknown, case, verified)
        )
        return cls._from_parts(**parts, path=path.absolute())

    def _selected(self, options: Options, as_stored: bool) -> WordVectors:
        """Return the rows of a saved folder that the options leave, all pieces among them, as stored or in their dtype."""
        from noppa.words.formats.rows import in_dtype

        lexicon, keep = self.lexicon, options.keep
        if self.ngrams is not None and keep is not None:
            words = [word for word in keep if word not in options.drop]
            table = self._table_of(words, options.threads)
            return table._changed(rows=Matrix(*in_dtype(table.matrix, options.dtype)))
        kept = set(keep or ())
        rows = [row for row, word in enumerate(lexicon.plain_words) if keep is None or word in kept]
        rows = rows[: options.limit]
        if not rows:
            raise FileError(
                f"{self.path} gave no vectors: none of its {lexicon.whole_words} words is kept"
            )
        row_numbers = np.array([*rows, *range(lexicon.whole_words, len(lexicon))], np.int64)
        unknown = "skip" if self.unknown == "ngrams" else self.unknown
        names = [self.words[row] for row in row_numbers.tolist()]
        probabilities = self.word_probabilities
        selected = self._changed(
            lexicon=Lexicon.from_words(names, self.pieces, unknown, self.case, self.tokenizer),
            rows=self.rows.select(row_numbers)
            if as_stored
            else Matrix(*in_dtype(self.rows.vectors(row_numbers), options.dtype)),
            word_probabilities=probabilities and probabilities.select(row_numbers),
            ngrams=None,
        )
        selected._warn_of_repeated()
        return selected

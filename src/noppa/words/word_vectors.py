"""`WordVectors`: a word table made from lists and arrays, vector files or saved folders, with counts from any source."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noppa.errors import ParameterError, warn
from noppa.io import storage
from noppa.parameters import boolean, numbers
from noppa.text.tokenizer import ENGLISH, Split, Tokenizer
from noppa.threads import thread_count
from noppa.words import frequencies, quantization, word_folder
from noppa.words.counting import BLOCK, WordCounts, counts_of, words_of_texts
from noppa.words.coverage import Coverage, measure_coverage
from noppa.words.frequencies import Probabilities
from noppa.words.lexicon import Lexicon
from noppa.words.matrix import Matrix
from noppa.words.texts import blocks_of, texts_of, tokens_of
from noppa.words.word_table import WordTable

if TYPE_CHECKING:
    from noppa.words.formats import Loaded, Options, Report
    from noppa.words.formats.rows import Progress


NO_NGRAMS = (
    "unknown='ngrams' needs the n-grams of a whole fastText model, a .bin or .ftz file loaded without limit, keep and texts, "
    "and these words have none: use 'skip' or 'zero'"
)


class WordVectors(WordTable):
    """A vocabulary with its vectors, matrix (words, dim), and the probability of each word.

    A word is looked up as it is, then in lower case (`case`), then by the `unknown` policy: `skip` drops it, `zero`
    gives it a vector of zeros, `unk` the row called `<unk>`, `pieces` the rows of its pieces (see `noppa.text.pieces`),
    `ngrams` what a fastText model composes from its character n-grams.

    scales: of an int8 matrix, one a row, (words,), or one a row and block of columns, (words, blocks).
    blocks: how many columns each scale of a row is for.
    bits: 4 or 8 for each block of a uint8 matrix of packed rows, (words, bytes), which `quantized` makes.
    ordered: whether the first columns matter most, so that a mean of the vectors may be cut to fewer.
    pieces: how many of the last rows are pieces of words and no words; `##ing` is one that continues a word.
    tokenizer: how texts are split for these words, a `Tokenizer` or the name of one: `fr`, `tr`, `zh`, `whitespace`, …
    report: how the vector file was read, None for words from anywhere else.

    >>> words = WordVectors(["a", "cake"], [[0.1, 0.2], [0.3, 0.4]])
    >>> len(words), words.dim, "Cake" in words
    (2, 2, True)
    """

    report: Report | None = None

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
        bits: Sequence[int] = (),
        ordered: bool = False,
        tokenizer: Tokenizer | str = ENGLISH,
    ) -> None:
        if isinstance(unknown, str) and unknown == "ngrams":
            raise ParameterError(NO_NGRAMS)
        words, how = texts_of(words), Tokenizer.parse(tokenizer)
        rows = Matrix.of(words, matrix, scales, blocks, bits)
        super().__init__(Lexicon.of(words, pieces, unknown, case, how), rows)
        if boolean(ordered, "ordered"):
            self.ordered_columns = 0, self.dim
        if probabilities is not None:
            values = numbers(probabilities, "an array of probabilities").astype(float)
            if values.shape != (len(words),):
                raise ParameterError(
                    f"{len(words)} words need {len(words)} probabilities, not an array of shape {values.shape}"
                )
            self.word_probabilities = frequencies.given(words, values)
        self._warn_of_repeated()

    @classmethod
    def _from(cls, table: WordTable) -> WordVectors:
        """A table whose parts were checked when they were made."""
        words = object.__new__(cls)
        words.__dict__.update(table.__dict__)
        return words

    def _warn_of_repeated(self) -> None:
        if len(self.repeated):
            first = self.words[self.repeated[0]]
            warn(
                f"{len(self.repeated)} words stand more than once, the first is {first!r}: "
                "the first vector of each counts"
            )

    # Word probabilities

    def with_counts(
        self,
        counts: Mapping[str, float] | str | PathLike[str],
        missing: str | float = "smallest",
        on_error: str = "raise",
    ) -> WordVectors:
        """The same vectors with probabilities from a dict, a file of `word count` lines, or the package wordfreq.

        wordfreq has 42 languages: `with_counts("wordfreq:de")`; it comes with `pip install 'noppa[wordfreq]'`.
        `missing` is the probability of words without a count: `"smallest"` (the smallest one counted; punctuation,
        clitics and digits get their share in English text) or a number. `on_error` is for lines of the file that
        are not UTF-8: "raise" or "skip".
        """
        words = self.lexicon.plain_words
        return self._with_probabilities(frequencies.from_counts(words, counts, missing, on_error))

    def with_corpus(
        self,
        texts: Iterable[str],
        tokenizer: Split | Tokenizer | str | None = None,
        missing: str | float = "smallest",
    ) -> WordVectors:
        """The same vectors with probabilities counted over your own texts."""
        return self.with_word_counts(self.count(texts, tokenizer), missing)

    def count(
        self, texts: Iterable[str], tokenizer: Split | Tokenizer | str | None = None
    ) -> WordCounts:
        """How often each word occurs in texts; the counts of parts of a corpus add up."""
        return counts_of(self.lexicon, texts, self._split(tokenizer))

    def _split(self, tokenizer: Split | Tokenizer | str | None) -> Split:
        """The function from a text to tokens that a user asks for; that of these words where None."""
        if isinstance(tokenizer, (str, Tokenizer)):
            return self.with_tokenizer(tokenizer).tokens
        return self.tokens if tokenizer is None else tokenizer

    def with_word_counts(
        self, counts: WordCounts, missing: str | float = "smallest"
    ) -> WordVectors:
        """The same vectors with the probabilities of what `count` gave."""
        shares = counts.piece_shares() if self.unknown == "pieces" else None
        words = self.lexicon.plain_words
        return self._with_probabilities(counts.probabilities(words, missing), shares)

    def with_ranks(self) -> WordVectors:
        """The same vectors with probabilities estimated from the order of the words, most frequent first."""
        return self._with_probabilities(frequencies.from_ranks(self.lexicon.whole_words))

    def _with_probabilities(
        self, of_words: Probabilities, piece_shares: NDArray[np.float64] | None = None
    ) -> WordVectors:
        """With these probabilities of whole words; pieces have their shares, or what they had before."""
        before = self.probabilities
        of_pieces = None if before is None else before[self.lexicon.whole_words :]
        return self._changed(
            word_probabilities=of_words.with_pieces(self.pieces, of_pieces, piece_shares)
        )

    def coverage(
        self, texts: Iterable[str], tokenizer: Split | Tokenizer | str | None = None
    ) -> Coverage:
        """How many tokens and different words of the texts are known, and which frequent ones are not."""
        return measure_coverage(
            lambda words: self.for_tokens([words], 1).lexicon, texts, self._split(tokenizer)
        )

    # Storage

    def quantized(
        self, bits: int | Sequence[int] = 4, blocks: int | Sequence[int] = 64
    ) -> WordVectors:
        """The same words with vectors of 4 or 8 bits a column, and a float16 scale for each row and block of columns.

        bits: 4 or 8, or one of them for each block. blocks: how many columns a block has, the last perhaps fewer; or the
        widths of all. 4 bits are one of 16 levels that fit a normal distribution: they move a vector by about 9 % of its
        length, 8 bits by 0.7 %.

        >>> words = WordVectors(["a", "cake"], [[0.1, 0.2], [0.3, 0.4]]).quantized()
        >>> words.matrix.shape, words.dim
        ((2, 1), 2)
        """
        self._require_table("other bits")
        return self._changed(rows=quantization.quantized(self.rows, bits, blocks))

    def frozen(self, texts: Iterable[str], threads: int | None = None) -> WordVectors:
        """The words of these texts as a table, where words are a whole fastText model: those that it does not list are
        composed from their n-grams once and for all. Other words stay as they are.
        """
        if self.ngrams is None:
            return self
        blocks = (tokens_of(texts_of(block), self.tokens) for block in blocks_of(texts, BLOCK))
        return self._table_of(
            [sorted({token for block in blocks for one in block for token in one})], threads
        )

    def _table_of(self, sentences: list[list[str]], threads: int | None) -> WordVectors:
        return self.for_tokens(sentences, thread_count(threads), always=True).without_ngrams()

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
        """Word vectors from a saved folder, any common vector file, or a gensim `KeyedVectors` object.

        The content decides, not the name: GloVe text, word2vec text and binary, fastText `.vec`, `.npy` or safetensors
        with a vocabulary beside it; plain, gz, bz2, xz, zip or zst. fastText's own `.bin` and `.ftz` are mapped and give the
        probabilities of their words; words that they do not list are composed from character n-grams, whenever a text has
        one, or once and for all with `keep` or `texts`, which freeze the model to a table.
        `report` tells how a file was read. A saved folder is mapped into memory as it is; `limit`, `keep` or another
        `dtype` copies what they ask for.

        limit: only the first rows. keep: only these words. drop: never these words.
        texts: only the words of these texts, split by `tokenizer`, and those of `keep`.
        dtype: float32, float16, or int8 with a scale a row; None takes a saved folder as it is, and a file as float32.
        header: whether line 1 is `count dim`; detected where None.
        on_error: what to do with a line that cannot be read, or a word that is not UTF-8: "raise" or "skip".
        strict: refuse a file that ends early, instead of a warning.
        member: which file of a zip archive. vocabulary: where the words of a matrix file are.
        unknown, case, tokenizer: as of `WordVectors`; a saved folder has its own.
        progress: called with the bytes read so far and in all.
        verify: compare the checksums of a saved folder's large files too, which reads them whole.
        """
        how = None if tokenizer is None else Tokenizer.parse(tokenizer)
        if texts is not None:
            keep = words_of_texts(texts, how or ENGLISH) | set(keep or ())
        saved = None
        if isinstance(path, (str, PathLike)) and storage.is_saved_folder(path):
            verified = storage.EVERY_BYTE if verify else storage.VERIFIED_BYTES
            saved = cls.open_folder(Path(path), unknown, case, verified)
            saved = saved if how is None else saved.with_tokenizer(how)
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
        return cls.of(loaded, unknown, case or "exact-then-lower", how or ENGLISH)

    @classmethod
    def of(
        cls,
        loaded: Loaded,
        unknown: str | None = None,
        case: str = "exact-then-lower",
        tokenizer: Tokenizer = ENGLISH,
    ) -> WordVectors:
        """What `noppa.words.formats.read` gave; `unknown` where None is `ngrams` for a model that has some, else `skip`."""
        unknown = unknown or ("skip" if loaded.ngrams is None else "ngrams")
        if unknown == "ngrams" and loaded.ngrams is None:
            raise ParameterError(NO_NGRAMS)
        lexicon = Lexicon(loaded.text, loaded.bounds, None, 0, unknown, case, tokenizer)
        table = WordTable(lexicon, Matrix(loaded.matrix, loaded.scales), loaded.probabilities)
        table.ngrams = loaded.ngrams if unknown == "ngrams" else None
        words = cls._from(table)
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
        return cls._from(word_folder.read(path, unknown, case, verified))

    def _selected(self, options: Options, as_stored: bool) -> WordVectors:
        """The rows of a saved folder that the options leave, as stored or in their dtype, checked as those of a user are."""
        from noppa.words.formats.rows import selected_rows

        if self.ngrams is not None and options.keep is not None:
            from noppa.words.formats.rows import in_dtype

            asked = [word for word in options.keep if word not in options.drop]
            table = self._table_of([asked], options.threads)
            return table._changed(rows=Matrix(*in_dtype(table.matrix, options.dtype)))
        row_numbers, rows = selected_rows(self, options, as_stored)
        words = WordVectors(
            [self.words[row] for row in row_numbers.tolist()],
            rows.values,
            scales=rows.scales,
            unknown="skip" if self.unknown == "ngrams" else self.unknown,
            case=self.case,
            pieces=self.pieces,
            blocks=rows.blocks,
            bits=rows.bits,
            tokenizer=self.tokenizer,
        )
        if self.word_probabilities is not None:
            words.word_probabilities = self.word_probabilities.of_rows(row_numbers)
        words.ordered_columns = self.ordered_columns
        return words

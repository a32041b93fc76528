"""Tokens to ids: the vocabulary, its vectors, and the probability of each word."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noppa import frequencies, storage
from noppa.backend import kernels
from noppa.coverage import Coverage, coverage_of
from noppa.errors import FileError, NoppaWarning, ParameterError, UnknownWordError
from noppa.frequencies import Probabilities
from noppa.texts import blocks_of, texts_of
from noppa.tokens import Tokenizer

if TYPE_CHECKING:
    from noppa.files import Loaded, Options, Report
    from noppa.files.options import Progress

KIND = "words"
CASES = {"exact-then-lower": 0, "exact": 1, "lower": 2}
UNKNOWN = ("skip", "zero", "unk")
UNK = "<unk>"
LARGEST = 1e15
BLOCK = 4096

NO_PROBABILITIES = (
    "{method} needs word probabilities and these word vectors have none: give counts with "
    "words.with_counts(file or dict), count your own text with words.with_corpus(texts), or estimate them from the "
    "order of the words with words.with_ranks()"
)


class WordVectors:
    """A vocabulary with its vectors, matrix (words, dim), and the probability of each word.

    A word is looked up as it is, then in lower case (`case`), then by the `unknown` policy: `skip` drops it, `zero`
    gives it a vector of zeros, `unk` the row called `<unk>`.

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
    ) -> None:
        words = texts_of(words)
        rows = _checked_matrix(words, matrix, scales)
        text = [word.encode("utf-8", "replace") for word in words]
        self._set(
            np.frombuffer(b"".join(text), np.uint8),
            np.cumsum([0, *map(len, text)], dtype=np.int64),
            None,
            rows,
            None if scales is None else np.ascontiguousarray(scales, np.float32),
            unknown,
            case,
        )
        if probabilities is not None:
            values = np.array(probabilities, float)
            if values.shape != (len(words),):
                raise ParameterError(
                    f"{len(words)} words need {len(words)} probabilities, not an array of shape {values.shape}"
                )
            self._probabilities = frequencies.given(words, values)
        self._warn_of_repeated()

    def _warn_of_repeated(self) -> None:
        if len(self.repeated):
            first = self.words[self.repeated[0]]
            warnings.warn(
                f"{len(self.repeated)} words stand more than once, the first is {first!r}: "
                "the first vector of each counts",
                NoppaWarning,
                stacklevel=3,
            )

    def _set(
        self,
        text: NDArray[np.uint8],
        bounds: NDArray[np.int64],
        slots: NDArray[np.uint64] | None,
        matrix: NDArray[Any],
        scales: NDArray[np.float32] | None,
        unknown: str,
        case: str,
    ) -> None:
        if unknown not in UNKNOWN:
            raise ParameterError(f"unknown must be one of {', '.join(UNKNOWN)}, not {unknown!r}")
        if case not in CASES:
            raise ParameterError(f"case must be one of {', '.join(CASES)}, not {case!r}")
        self._text, self._bounds, self._slots = text, bounds, slots
        self.matrix, self.scales = matrix, scales
        self.unknown, self.case = unknown, case
        self.path = None
        self.report = None
        self._probabilities = None
        if unknown == "unk" and self.known.find(UNK) < 0:
            raise ParameterError(
                f"unknown='unk' needs a row called {UNK}, and there is none: use 'skip' or 'zero'"
            )

    @cached_property
    def _index(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        return kernels.build_slots(self._text, self._bounds)

    @property
    def repeated(self) -> NDArray[np.int64]:
        """Row numbers whose word stands before: they are never looked up."""
        return self._index[1]

    @cached_property
    def known(self) -> kernels.Vocabulary:
        """Look-up where an unknown word is -1, whatever the policy."""
        return self._vocabulary(-1)

    @cached_property
    def vocabulary(self) -> kernels.Vocabulary:
        """Look-up with the unknown-word policy: -1 is dropped, `len(words)` stands for a vector of zeros."""
        if self.unknown == "skip":
            return self.known
        return self._vocabulary(len(self) if self.unknown == "zero" else self.known.find(UNK))

    def _vocabulary(self, unknown: int) -> kernels.Vocabulary:
        slots = self._slots
        if slots is None or not len(slots):
            slots = self._index[0]
        return kernels.Vocabulary(self._text, self._bounds, slots, CASES[self.case], unknown)

    @cached_property
    def table(self) -> kernels.Table:
        return kernels.Table(self.matrix, self.scales)

    @cached_property
    def words(self) -> list[str]:
        """Every word, in the order of the rows."""
        whole, bounds = self._text.tobytes(), self._bounds.tolist()
        return [whole[begin:end].decode("utf-8", "replace") for begin, end in pairwise(bounds)]

    @property
    def encoded_words(self) -> tuple[bytes, NDArray[np.int64]]:
        """Every word as UTF-8, one after the other, and where each lies, (words + 1,)."""
        return self._text.tobytes(), self._bounds

    @property
    def dim(self) -> int:
        return int(self.matrix.shape[1])

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._row(word) >= 0

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        row = self._row(word) if isinstance(word, str) else -1
        if row < 0:
            raise UnknownWordError(f"{word!r} is not among the {len(self)} words of the vocabulary")
        return np.asarray(self.vectors([row])[0])

    def __repr__(self) -> str:
        source = self._probabilities.source if self._probabilities else "none"
        return f"WordVectors({len(self)} words, dim={self.dim}, {self.matrix.dtype}, probabilities: {source})"

    def _row(self, word: str) -> int:
        return int(self.known.look_up_tokens([[word]])[0][0])

    def vectors(self, rows: ArrayLike) -> NDArray[np.float32]:
        """Rows of the matrix as float32, (rows, dim)."""
        index = np.asarray(rows, np.int64)
        found: NDArray[np.float32] = self.matrix[index].astype(np.float32)
        if self.scales is not None:
            found *= self.scales[index, None]
        return found

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
        return self._with(frequencies.from_counts(self.words, counts, missing, errors))

    def with_corpus(
        self,
        texts: Iterable[str],
        tokenizer: Tokenizer | None = None,
        missing: str | float = "smallest",
    ) -> WordVectors:
        """The same vectors with probabilities counted over your own texts."""
        split = tokenizer or kernels.tokenize
        counts: Counter[str] = Counter()
        for block in blocks_of(texts, BLOCK):
            for text in texts_of(block):
                counts.update(split(text))
        return self._with(
            frequencies.from_counts(self.words, counts, missing, source="counts of a corpus")
        )

    def with_ranks(self) -> WordVectors:
        """The same vectors with probabilities estimated from the order of the words, most frequent first."""
        return self._with(frequencies.from_ranks(len(self)))

    def _with(self, probabilities: Probabilities) -> WordVectors:
        other = object.__new__(WordVectors)
        other.__dict__.update(self.__dict__)
        other.path = None
        other._probabilities = probabilities
        return other

    def coverage(self, texts: Iterable[str], tokenizer: Tokenizer | None = None) -> Coverage:
        """How many tokens and different words of the texts are known, and which frequent ones are not."""
        return coverage_of(self.known, texts, tokenizer or kernels.tokenize)

    # Files

    def save(self, path: str | PathLike[str]) -> None:
        """Write a folder that `load` maps into memory; an existing one is replaced only by a complete new one."""
        arrays: dict[str, NDArray[Any]] = {
            "text": self._text,
            "bounds": self._bounds,
            "slots": self._index[0] if self._slots is None else self._slots,
            "matrix": self.matrix,
        }
        if self.scales is not None:
            arrays["scales"] = self.scales
        if self._probabilities is not None:
            arrays["probabilities"] = self._probabilities.values
            arrays["counted"] = self._probabilities.counted
        header = {
            "words": len(self),
            "dim": self.dim,
            "unknown": self.unknown,
            "case": self.case,
            "probabilities": self._probabilities.source if self._probabilities else None,
        }
        storage.write_folder(path, KIND, header, arrays)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str] | Any,
        limit: int | None = None,
        keep: Collection[str] | None = None,
        dtype: str = "float32",
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
        dtype: float32, float16, or int8 with a scale a row.
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
        if isinstance(path, (str, PathLike)) and (Path(path) / storage.HEADER).is_file():
            saved = cls._open(Path(path), unknown, case, verify)
            if limit is None and keep is None and dtype in ("float32", str(saved.matrix.dtype)):
                return saved
        # Takes as long to import as all the rest, and a saved folder needs it not.
        from noppa import files

        options = files.Options(
            limit, keep, drop, dtype, header, errors, on_error, strict, member, vocabulary, threads, progress
        )  # fmt: skip
        if saved is not None:
            return saved._picked(options)
        return cls.of(files.read(path, options), unknown or "skip", case or "exact-then-lower")

    @classmethod
    def of(
        cls, loaded: Loaded, unknown: str = "skip", case: str = "exact-then-lower"
    ) -> WordVectors:
        """What `noppa.files.read` gave, as it is."""
        words = object.__new__(cls)
        words._set(loaded.text, loaded.bounds, None, loaded.matrix, loaded.scales, unknown, case)
        words.report = loaded.report
        words._warn_of_repeated()
        return words

    @classmethod
    def _open(cls, path: Path, unknown: str | None, case: str | None, verify: bool) -> WordVectors:
        folder = storage.read_folder(path, KIND, verify)
        words = object.__new__(cls)
        arrays, header = folder.arrays, folder.header
        try:
            words._set(
                arrays["text"],
                arrays["bounds"],
                arrays["slots"],
                arrays["matrix"],
                arrays.get("scales"),
                unknown or header["unknown"],
                case or header["case"],
            )
            if header["probabilities"] is not None:
                words._probabilities = Probabilities(
                    arrays["probabilities"], arrays["counted"], header["probabilities"]
                )
        except KeyError as error:
            raise FileError(
                f"{path} is damaged: it lacks {error}; copy the folder again"
            ) from error
        words.path = path.absolute()
        return words

    def _picked(self, options: Options) -> WordVectors:
        """Some rows of these words, or all of them in another type, with their probabilities."""
        from noppa.files.rows import in_dtype

        wanted = None if options.keep is None else set(options.keep)
        rows = np.array(
            [row for row, word in enumerate(self.words) if wanted is None or word in wanted],
            np.int64,
        )[: options.limit]
        names = [self.words[row] for row in rows.tolist()]
        if not names:
            raise FileError(f"{self.path} gave no vectors: none of its {len(self)} words is kept")
        matrix, scales = in_dtype(self.vectors(rows), options.dtype)
        other = WordVectors(names, matrix, scales=scales, unknown=self.unknown, case=self.case)
        if self._probabilities is not None:
            other._probabilities = replace(
                self._probabilities,
                values=self._probabilities.values[rows],
                counted=self._probabilities.counted[rows],
            )
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the native objects, which are built again where they are needed."""
        built = {"table", "vocabulary", "known"}
        return {name: value for name, value in self.__dict__.items() if name not in built}


def _checked_matrix(words: list[str], matrix: ArrayLike, scales: ArrayLike | None) -> NDArray[Any]:
    """The matrix in a type that the kernels read, finite and as long as the list of words."""
    rows = np.asarray(matrix)
    if rows.ndim != 2 or rows.shape[0] != len(words) or rows.shape[1] == 0 or not words:
        raise ParameterError(
            f"{len(words)} words need a matrix of shape ({len(words)}, dim) with at least one row and column, "
            f"not {rows.shape}"
        )
    if scales is not None:
        if rows.dtype != np.int8 or np.shape(scales) != (len(words),):
            raise ParameterError("scales belong to an int8 matrix, one a row")
    elif rows.dtype == np.int8:
        raise ParameterError("an int8 matrix needs scales, one a row")
    elif rows.dtype not in (np.float32, np.float16):
        if rows.dtype.kind not in "fiu":
            raise ParameterError(f"a matrix of {rows.dtype} holds no numbers")
        rows = rows.astype(np.float32)
    for start in range(0, len(rows), 1 << 16):
        block = rows[start : start + (1 << 16)]
        bad = np.argwhere(~(np.abs(block.astype(np.float32)) <= LARGEST))
        if len(bad):
            row, column = bad[0][0] + start, bad[0][1]
            raise ParameterError(
                f"the vector of {words[row]!r} has {rows[row, column]} at dimension {column}: "
                f"values must be finite and at most {LARGEST:g} in size"
            )
    return np.ascontiguousarray(rows)

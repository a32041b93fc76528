"""fastText models, `.bin` and `.ftz`: words of the dictionary, and any other word from its character n-grams.

The vector of a word is the mean of its own row and of the rows of its n-grams; a word that the dictionary lacks has those of
its n-grams alone. The input matrix is mapped into memory, and only the rows that are needed are read. In a quantized model
(`.ftz`) each part of a row is the number of one of 256 centroids.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.errors import FileError
from noppa.io.compression import Source
from noppa.text.characters import lower
from noppa.threads import thread_count
from noppa.words.formats.arrays import add_matrix
from noppa.words.formats.rows import LARGEST_DIM, Options, Rows
from noppa.words.frequencies import Probabilities, filled
from noppa.words.lexicon import Lexicon
from noppa.words.ngram_vectors import (
    LONGEST_NGRAM,
    MappedRows,
    NgramVectors,
    Pruned,
    RowSource,
)

VERSIONS = (11, 12)
SUPERVISED = 3
#: The twelve numbers and the double after the version.
ARGUMENTS = "<12id"
MOST_ROWS = 2**31 - 1
UNPACKED_AT_ONCE = 1 << 22
CENTROIDS = 256


def read_fasttext(path: Path, plain: Source, rows: Rows) -> FastText:
    """Read the words of a model into `rows`, with `keep` also words composed from n-grams; `plain` is its content."""
    options = rows.options
    if plain.compression == "none":
        model = FastText(path)
    else:
        with _unpacked(path, plain, options) as file:
            model = FastText(path, file)
    words, numbers = model.select(options.keep)
    add_matrix(words, _Vectors(model, words, numbers, thread_count(options.threads)), None, rows)
    model.file.forget_pages()
    return model


@contextmanager
def _unpacked(path: Path, plain: Source, options: Options) -> Iterator[IO[bytes]]:
    """Yield the content of a compressed model in an unnamed temporary file, which vanishes when it is unmapped."""
    import tempfile

    folder = str(options.scratch or tempfile.gettempdir())
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            while part := plain.read(UNPACKED_AT_ONCE):
                file.write(part)
                if options.progress is not None:
                    options.progress(plain.position(), plain.size)
            file.flush()
            yield file
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(
            f"{path} is compressed and cannot be unpacked into {folder}: {error.strerror or error}",
            "make room, set TMPDIR to another folder, or unpack it yourself",
        ) from error


@dataclass(frozen=True)
class _Vectors:
    """The matrix for `add_matrix`, computed block by block."""

    model: FastText
    words: list[bytes]
    numbers: NDArray[np.int64]
    threads: int

    def __getitem__(self, block: slice) -> NDArray[np.float32]:
        return self.model.vectors(self.words[block], self.numbers[block], self.threads)


class FastText:
    """A model: its dictionary, and the rows of its words and then of their n-grams, mapped or quantized."""

    def __init__(self, path: Path, unpacked: IO[bytes] | None = None) -> None:
        self.file = file = _File(path, unpacked)
        self.dim, bucket, *lengths = _arguments(file)
        self.lexicon, self.counts, pruned = _dictionary(file)
        count = bucket if pruned is None else len(pruned[0])
        codes = _ProductCodes(file) if file.flag("whether its input is quantized") else None
        rows, width = codes.shape if codes else file.take("<2q", "the size of its matrix")
        if width != self.dim or rows != len(self.lexicon) + count or rows > MOST_ROWS:
            raise file.damaged(f"a matrix of {rows} rows and {width} columns does not fit it")
        self.source: RowSource = codes or MappedRows(
            file.data, file.skip(rows * width * 4, "its matrix"), rows, width
        )
        self.ngrams = NgramVectors(
            self.source, len(self.lexicon), count, bucket, (lengths[0], lengths[1]), pruned, str(path)
        )  # fmt: skip

    def select(self, keep: Collection[str] | None) -> tuple[list[bytes], NDArray[np.int64]]:
        """Return words and their rows: those of the dictionary, or those of `keep`, unknown ones last and with row -1."""
        text, bounds = self.lexicon.text.tobytes(), self.lexicon.bounds.tolist()
        words = [text[a:b] for a, b in pairwise(bounds)]
        if keep is None:
            return words, np.arange(len(words))
        wanted = dict.fromkeys(word.encode("utf-8", "surrogatepass") for word in keep)
        rows = [row for row, word in enumerate(words) if word in wanted]
        known = [words[row] for row in rows]
        listed = set(known)
        unknown = [word for word in wanted if word and word not in listed]
        has_ngrams = np.diff(self.ngrams.row_numbers(unknown)[1]) > 0
        unknown = [word for word, has in zip(unknown, has_ngrams.tolist(), strict=True) if has]
        return known + unknown, np.array(rows + [-1] * len(unknown), np.int64)

    def probabilities(self, words: list[str]) -> Probabilities | None:
        """Return the share of each word, in exactly this spelling, among all words that the model was trained on."""
        rows = self.lexicon.known.look_up_tokens([words])[0]
        total = int(self.counts.sum())
        counts = np.where(rows >= 0, self.counts[np.maximum(rows, 0)], 0)
        if not counts.any():
            return None
        forms = [lower(word) for word in words]
        return filled(forms, counts / total, f"counts in {self.file.path.name}", "smallest")

    def vectors(
        self, words: list[bytes], numbers: NDArray[np.int64], threads: int
    ) -> NDArray[np.float32]:
        """Return vectors (words, dim); `numbers` are the rows of the words in the dictionary, -1 for unknown words.

        A vector is the mean of the word's own row, if it has one, and of those of its n-grams.
        """
        grams, offsets = self.ngrams.row_numbers(words)
        known = numbers >= 0
        counts = np.diff(offsets) + known
        bounds = np.cumsum([0, *counts.tolist()], dtype=np.int64)
        ids = np.empty(bounds[-1], np.int32)
        is_word = np.zeros(len(ids), bool)
        is_word[bounds[:-1][known]] = True
        ids[is_word], ids[~is_word] = numbers[known], grams
        return self.source.means(ids, bounds, threads)


class _File:
    """A mapped file that is read from its beginning; every step is checked against its size."""

    def __init__(self, path: Path, unpacked: IO[bytes] | None) -> None:
        self.path, self.position = path, 0
        self.data: NDArray[np.uint8] = np.memmap(unpacked or path, np.uint8, "r")

    def forget_pages(self) -> None:
        """Leave what was read to the system's cache, so that it no longer counts as memory of this process."""
        mapped = getattr(self.data, "_mmap", None)
        if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)

    def damaged(self, reason: str) -> FileError:
        return FileError(f"{self.path} is a damaged fastText model: {reason}; fetch it again")

    def skip(self, size: int, what: str) -> int:
        """Move past `size` bytes and return where they begin."""
        start = self.position
        if not 0 <= size <= len(self.data) - start:
            raise self.damaged(f"it is cut short in {what}")
        self.position += size
        return start

    def take(self, format: str, what: str) -> tuple[Any, ...]:
        """Unpack the next numbers."""
        start = self.skip(struct.calcsize(format), what)
        return struct.unpack(format, self.data[start : self.position].tobytes())

    def flag(self, what: str) -> bool:
        (value,) = self.take("<B", what)
        if value > 1:
            raise self.damaged(f"{what} is {value}, neither 0 nor 1")
        return bool(value)

    def array(self, dtype: str, count: int, what: str) -> NDArray[Any]:
        """Copy the next `count` numbers."""
        size = np.dtype(dtype).itemsize
        start = self.skip(count * size, what)
        return np.frombuffer(self.data[start : start + count * size].tobytes(), dtype)


def _arguments(file: _File) -> tuple[int, int, int, int]:
    """Read the dimensions, the buckets, and the lengths of the shortest and the longest n-gram."""
    _, version = file.take("<2i", "its beginning")
    dim, *_, kind, bucket, shortest, longest, _, _ = file.take(ARGUMENTS, "its arguments")
    if version not in VERSIONS:
        raise FileError(
            f"{file.path} is a fastText model of version {version}, and only 11 and 12 can be read"
        )
    if kind == SUPERVISED:
        raise FileError(
            f"{file.path} is a fastText classifier, whose words are fitted to its labels",
            "load a model that was trained as skipgram or cbow, or train a noppa.Classifier",
        )
    if kind not in (1, 2):
        raise file.damaged(f"its kind is {kind}, neither cbow nor skipgram")
    if not 0 < dim <= LARGEST_DIM or bucket < 0 or not 0 <= longest <= LONGEST_NGRAM:
        raise file.damaged(
            f"it declares {dim} dimensions, {bucket} buckets and n-grams of {longest} characters"
        )
    return dim, bucket, shortest, longest


def _dictionary(file: _File) -> tuple[Lexicon, NDArray[np.int64], Pruned | None]:
    """Read the words, their counts, and of a pruned model the rising buckets that are left, with their rows."""
    size, words, labels, _, pruned = file.take("<3i2q", "its dictionary")
    if labels or size != words or words < 1 or pruned < -1:
        raise file.damaged(f"a dictionary of {size} entries, {words} words and {labels} labels")
    text, bounds, counts, end = kernels.parse_entries(file.data, file.position, words)
    if end < 0 or (counts < 0).any():
        raise file.damaged(f"its {words} words do not fit it")
    file.position = end
    lexicon = Lexicon(text, bounds, case="exact")
    if pruned < 0:
        return lexicon, counts, None
    pairs = file.array("<i4", 2 * pruned, "its pruned n-grams").reshape(-1, 2)
    order = np.argsort(pairs[:, 0], kind="stable")
    buckets, rows = np.ascontiguousarray(pairs[order, 0]), np.ascontiguousarray(pairs[order, 1])
    if pruned and not 0 <= rows.min() <= rows.max() < pruned:
        raise file.damaged("a pruned n-gram has no row")
    return lexicon, counts, (buckets, rows)


class _ProductQuantizer:
    """The centroids of each part, (parts, 256, width); the last part may be narrower."""

    def __init__(self, file: _File) -> None:
        self.dim, self.parts, width, last = file.take("<4i", "a quantizer")
        sizes = (self.dim, self.parts, width, last)
        if min(sizes) < 1 or last > width or (self.parts - 1) * width + last != self.dim:
            raise file.damaged(f"a quantizer of {self.dim} columns in {self.parts} parts")
        flat = file.array("<f4", self.dim * CENTROIDS, "the centroids of a quantizer")
        whole = (self.parts - 1) * width * CENTROIDS
        self._centroids = [
            *flat[:whole].reshape(self.parts - 1, CENTROIDS, width),
            flat[whole:].reshape(CENTROIDS, last),
        ]

    def decode(self, codes: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the vectors (rows, dim) of codes (rows, parts)."""
        parts = zip(self._centroids, codes.T, strict=True)
        return np.concatenate([centroids[code] for centroids, code in parts], axis=1)


class _ProductCodes:
    """A quantized matrix: codes (rows, parts) and, if the norms are separate, a code of the norm of each row."""

    def __init__(self, file: _File) -> None:
        has_norms = file.flag("whether its norms are quantized")
        rows, width, size = file.take("<2qi", "the size of its codes")
        if rows < 0 or width < 1 or size < 0 or (rows and size % rows):
            raise file.damaged(f"{size} codes for {rows} rows")
        self.shape = rows, width
        codes = file.array("u1", size, "its codes")
        self._quantizer = _ProductQuantizer(file)
        if self._quantizer.dim != width or size != rows * self._quantizer.parts:
            raise file.damaged(f"{size} codes for {rows} rows of {width} columns")
        self._codes = codes.reshape(rows, self._quantizer.parts)
        self._norms = None
        if has_norms:
            norm_codes = file.array("u1", rows, "the codes of its norms")
            quantizer = _ProductQuantizer(file)
            if quantizer.dim != 1:
                raise file.damaged("a quantizer of norms has more than one column")
            self._norms = quantizer.decode(norm_codes[:, None])

    def _decode(self, rows: NDArray[Any] | slice) -> NDArray[np.float32]:
        vectors = self._quantizer.decode(self._codes[rows])
        return vectors if self._norms is None else vectors * self._norms[rows]

    def means(
        self, ids: NDArray[np.int32], offsets: NDArray[np.int64], threads: int
    ) -> NDArray[np.float32]:
        """Return the mean of the rows of each word, (words, dim)."""
        needed, places = np.unique(ids, return_inverse=True)
        return MappedRows.from_matrix(self._decode(needed)).means(
            places.astype(np.int32), offsets, threads
        )

    def block(self, first: int, last: int) -> NDArray[np.float32]:
        """Return the rows from `first` up to `last`."""
        return self._decode(slice(first, last))

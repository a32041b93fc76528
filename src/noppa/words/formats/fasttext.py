"""fastText models, `.bin` and `.ftz`: words of the dictionary, and any other word from its character n-grams.

The vector of a word is the mean of its own row and of the rows of its n-grams; a word that the dictionary lacks has those of
its n-grams alone. The input matrix is mapped into memory, and only the rows that are needed are read.
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
from noppa.words.formats.load_options import Options
from noppa.words.formats.product_codes import ProductCodes
from noppa.words.formats.row_buffer import Rows
from noppa.words.formats.sniff import LARGEST_DIM
from noppa.words.frequencies import Probabilities, filled
from noppa.words.lexicon import Lexicon
from noppa.words.ngram_vectors import (
    LONGEST_NGRAM,
    MappedRows,
    NgramVectors,
    Pruned,
    RowNumbers,
    RowSource,
)

VERSIONS = (11, 12)
SUPERVISED = 3
#: Of the twelve numbers and the double behind the version.
ARGUMENTS = "<12id"
MOST_ROWS = 2**31 - 1
UNPACKED_AT_ONCE = 1 << 22


def read_fasttext(path: Path, plain: Source, rows: Rows, options: Options) -> FastText:
    """Read the words of a model into `rows`, with `keep` also those that it makes from n-grams; `plain` is its content."""
    if plain.compression == "none":
        model = FastText.open(path)
    else:
        with _unpacked(path, plain, options) as file:
            model = FastText(_File(path, file))
    names, numbers = model.chosen(options.keep)
    rows.report.declared = len(model.lexicon)
    add_matrix(
        names, _Vectors(model, names, numbers, thread_count(options.threads)), None, rows, options
    )
    model.file.forget_pages()
    return model


@contextmanager
def _unpacked(path: Path, plain: Source, options: Options) -> Iterator[IO[bytes]]:
    """The content of a compressed model in a temporary file without a name: it is gone when nobody maps it any more."""
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
            f"{path} is compressed and cannot be unpacked into {folder}: {error.strerror or error}; make room, name another "
            "folder in TMPDIR, or unpack it yourself"
        ) from error


@dataclass(frozen=True)
class _Vectors:
    """The matrix of `add_matrix`, a block at a time."""

    model: FastText
    names: list[bytes]
    numbers: NDArray[np.int64]
    threads: int

    def __getitem__(self, block: slice) -> NDArray[np.float32]:
        return self.model.vectors(self.names[block], self.numbers[block], self.threads)


class FastText:
    """A model: its dictionary, and the rows of its words and then of their n-grams, mapped or quantized."""

    def __init__(self, file: _File) -> None:
        self.file = file
        self.dim, bucket, *lengths = _arguments(file)
        self.lexicon, self.counts, pruned = _dictionary(file)
        count = bucket if pruned is None else len(pruned[0])
        self.source = self._source(count)
        self.ngrams = NgramVectors(
            self.source, len(self.lexicon), count, bucket, (lengths[0], lengths[1]), pruned, str(file.path)
        )  # fmt: skip

    def _source(self, ngrams: int) -> RowSource:
        file = self.file
        codes = ProductCodes(file) if file.flag("whether its input is quantized") else None
        rows, width = codes.shape if codes else file.take("<2q", "the size of its matrix")
        if width != self.dim or rows != len(self.lexicon) + ngrams or rows > MOST_ROWS:
            raise file.damaged(f"a matrix of {rows} rows and {width} columns does not fit it")
        if codes:
            return codes
        return MappedRows(file.data, file.skip(rows * width * 4, "its matrix"), rows, width)

    @classmethod
    def open(cls, path: Path) -> FastText:
        return cls(_File(path))

    def chosen(self, keep: Collection[str] | None) -> tuple[list[bytes], NDArray[np.int64]]:
        """Words and their rows: those of the dictionary, or those of `keep`, the ones that it lacks last and with row -1."""
        text, bounds = self.lexicon.text.tobytes(), self.lexicon.bounds.tolist()
        names = [text[a:b] for a, b in pairwise(bounds)]
        if keep is None:
            return names, np.arange(len(names))
        wanted = dict.fromkeys(word.encode("utf-8", "surrogatepass") for word in keep)
        known = [row for row, name in enumerate(names) if name in wanted]
        chosen = [names[row] for row in known]
        listed = set(chosen)
        others = [word for word in wanted if word not in listed and word]
        has_rows = np.diff(self.ngrams.row_numbers(others)[1]) > 0
        others = [word for word, has in zip(others, has_rows.tolist(), strict=True) if has]
        return chosen + others, np.array(known + [-1] * len(others), np.int64)

    def probabilities(self, words: list[str]) -> Probabilities | None:
        """The share of each word, in this very spelling, among all words that the model was trained on."""
        rows = self.lexicon.known.look_up_tokens([words])[0]
        total = int(self.counts.sum())
        counts = np.where(rows >= 0, self.counts[np.maximum(rows, 0)], 0)
        if not counts.any():
            return None
        forms = [lower(word) for word in words]
        return filled(forms, counts / total, f"counts in {self.file.path.name}", "smallest")

    def vectors(
        self, names: list[bytes], numbers: NDArray[np.int64], threads: int
    ) -> NDArray[np.float32]:
        """Vectors (names, dim) of words with their rows in the dictionary, -1 where it lacks them."""
        return self.source.means(*self._rows_of(names, numbers), threads)

    def _rows_of(self, names: list[bytes], numbers: NDArray[np.int64]) -> RowNumbers:
        """The rows whose mean is the vector of each word: its own one, if it has one, then those of its n-grams."""
        grams, offsets = self.ngrams.row_numbers(names)
        own = numbers >= 0
        counts = np.diff(offsets) + own
        bounds = np.cumsum([0, *counts.tolist()], dtype=np.int64)
        ids = np.empty(bounds[-1], np.int32)
        is_own = np.zeros(len(ids), bool)
        is_own[bounds[:-1][own]] = True
        ids[is_own], ids[~is_own] = numbers[own], grams
        return ids, bounds


class _File:
    """A file that is mapped into memory and read from its beginning; every step is checked against its size."""

    def __init__(self, path: Path, unpacked: IO[bytes] | None = None) -> None:
        self.path, self.position = path, 0
        self.data: NDArray[np.uint8] = np.memmap(unpacked or path, np.uint8, "r")

    def forget_pages(self) -> None:
        """Leave what was read to the system's cache; it counts as this process's memory no more."""
        mapped = getattr(self.data, "_mmap", None)
        if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)

    def damaged(self, reason: str) -> FileError:
        return FileError(
            f"{self.path} is a damaged fastText model: {reason}; copy or fetch it again"
        )

    def skip(self, size: int, what: str) -> int:
        """Where `size` bytes begin that lie in the file, and the position after them."""
        start = self.position
        if not 0 <= size <= len(self.data) - start:
            raise self.damaged(f"it is cut short in {what}")
        self.position += size
        return start

    def take(self, form: str, what: str) -> tuple[Any, ...]:
        start = self.skip(struct.calcsize(form), what)
        return struct.unpack(form, self.data[start : self.position].tobytes())

    def flag(self, what: str) -> bool:
        (value,) = self.take("<B", what)
        if value > 1:
            raise self.damaged(f"{what} is {value}, neither 0 nor 1")
        return bool(value)

    def array(self, kind: str, count: int, what: str) -> NDArray[Any]:
        """A copy of `count` numbers."""
        size = np.dtype(kind).itemsize
        start = self.skip(count * size, what)
        return np.frombuffer(self.data[start : start + count * size].tobytes(), kind)


def _arguments(file: _File) -> tuple[int, int, int, int]:
    """Dimensions, buckets, and the lengths of the shortest and the longest n-gram."""
    _, version = file.take("<2i", "its beginning")
    dim, *_, kind, bucket, shortest, longest, _, _ = file.take(ARGUMENTS, "its arguments")
    if version not in VERSIONS:
        raise FileError(
            f"{file.path} is a fastText model of version {version}, and noppa reads 11 and 12"
        )
    if kind == SUPERVISED:
        raise FileError(
            f"{file.path} is a fastText classifier and no set of word vectors: its words are fitted to its labels, so train "
            "one of ours with noppa train, or load a model that was trained as skipgram or cbow"
        )
    if kind not in (1, 2):
        raise file.damaged(f"its kind is {kind}, neither cbow nor skipgram")
    if not 0 < dim <= LARGEST_DIM or bucket < 0 or not 0 <= longest <= LONGEST_NGRAM:
        raise file.damaged(
            f"{dim} dimensions, {bucket} buckets and n-grams of {longest} characters are no model's"
        )
    return dim, bucket, shortest, longest


def _dictionary(
    file: _File,
) -> tuple[Lexicon, NDArray[np.int64], Pruned | None]:
    """The words, their counts, and of a pruned model the buckets that are left, rising, with their rows among the n-grams."""
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

"""Product quantization as fastText has it: parts of a vector by the numbers of 256 centroids each."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from noppa.words.ngram_vectors import MappedRows

CENTROIDS = 256


class Numbers(Protocol):
    """What is read from: a file at its position."""

    def take(self, form: str, what: str) -> tuple[Any, ...]: ...
    def flag(self, what: str) -> bool: ...
    def array(self, kind: str, count: int, what: str) -> NDArray[Any]: ...
    def damaged(self, reason: str) -> Exception: ...


class ProductQuantizer:
    """Centroids of each part, (parts, 256, width): the last part may be narrower."""

    def __init__(self, file: Numbers) -> None:
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

    def decoded(self, codes: NDArray[np.uint8]) -> NDArray[np.float32]:
        """The vectors (rows, dim) of codes (rows, parts)."""
        parts = zip(self._centroids, codes.T, strict=True)
        return np.concatenate([centroids[code] for centroids, code in parts], axis=1)


class ProductCodes:
    """A quantized matrix: codes (rows, parts), and where norms are apart a code of the norm of each row."""

    def __init__(self, file: Numbers) -> None:
        has_norms = file.flag("whether its norms are quantized")
        rows, width, size = file.take("<2qi", "the size of its codes")
        if rows < 0 or width < 1 or size < 0 or (rows and size % rows):
            raise file.damaged(f"{size} codes for {rows} rows")
        self.shape = rows, width
        codes = file.array("u1", size, "its codes")
        self._quantizer = ProductQuantizer(file)
        if self._quantizer.dim != width or size != rows * self._quantizer.parts:
            raise file.damaged(f"{size} codes for {rows} rows of {width} columns")
        self._codes = codes.reshape(rows, self._quantizer.parts)
        self._norms = None
        if has_norms:
            norm_codes = file.array("u1", rows, "the codes of its norms")
            quantizer = ProductQuantizer(file)
            if quantizer.dim != 1:
                raise file.damaged("a quantizer of norms has more than one column")
            self._norms = quantizer.decoded(norm_codes[:, None])

    def decoded(self, rows: NDArray[Any] | slice) -> NDArray[np.float32]:
        """Some rows, (rows, dim)."""
        vectors = self._quantizer.decoded(self._codes[rows])
        return vectors if self._norms is None else vectors * self._norms[rows]

    def means(
        self, ids: NDArray[np.int32], offsets: NDArray[np.int64], threads: int
    ) -> NDArray[np.float32]:
        """The mean of the rows of each word, (words, dim)."""
        needed, places = np.unique(ids, return_inverse=True)
        return MappedRows.of(self.decoded(needed)).means(places.astype(np.int32), offsets, threads)

    def block(self, first: int, last: int) -> NDArray[np.float32]:
        """Rows `first` up to `last`."""
        return self.decoded(slice(first, last))

"""Texts in a file, each decoded when somebody asks for it: more of them than fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray


class StoredTexts(Sequence[str]):
    """Texts that `add` appends to a file, which nobody else writes; they can be read after the `with` block."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = path.open("wb")
        self._lengths: list[NDArray[np.int64]] = []
        self._ends: NDArray[np.int64] = np.zeros(1, np.int64)
        self._content: NDArray[np.uint8] = np.empty(0, np.uint8)

    def add(self, texts: Iterable[str]) -> None:
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        assert self._file is not None, "finished"
        self._file.write(b"".join(encoded))
        self._lengths.append(np.array([*map(len, encoded)], np.int64))

    def finish(self) -> None:
        """Write the rest; a full disk raises here at the latest."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._ends = np.cumsum(np.concatenate([np.zeros(1, np.int64), *self._lengths]))
        self._lengths = []
        if self._ends[-1]:
            self._content = np.memmap(self._path, np.uint8, "r")

    def __enter__(self) -> StoredTexts:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        start, stop = self._ends[at % len(self)], self._ends[at % len(self) + 1]
        return self._content[start:stop].tobytes().decode("utf-8", "surrogatepass")

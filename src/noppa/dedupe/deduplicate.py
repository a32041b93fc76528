"""`noppa.deduplicate`: which texts repeat an earlier one, or one of a reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.dedupe.duplicates import Compared, Duplicates
from noppa.dedupe.near_duplicates import NearDuplicates, Progress, Vectors
from noppa.dedupe.same_text import first_of_same
from noppa.encoder.encoder import Encoder
from noppa.encoder.models import External, resolve_model, unit_vectors
from noppa.errors import InputError
from noppa.words.texts import texts_of

THRESHOLD = 0.9
BLOCK = 4096


def deduplicate(
    texts: Any,
    threshold: float = THRESHOLD,
    reference: Any = None,
    model: Any = None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Duplicates:
    """Which of the texts to keep: in their order, each whose cosine with every kept one before it is below the threshold.

    reference: texts that count as kept before the first, and are not judged themselves.
    model: a preset's name, a folder, an `Encoder` or any object with `encode`; the preset for cosines where None.
    threads: for encoding and comparing. progress: called with what is done, and how many of how many.

    >>> import noppa
    >>> found = noppa.deduplicate(["a red car", "the sea", "A red car!", "the sea"])
    >>> found.kept.tolist(), [(one.row, one.repeats) for one in found.removed]
    ([0, 1], [(2, 0), (3, 1)])
    """
    items, known = _collection(texts), [] if reference is None else _collection(reference)
    return compare(items, known, resolve_model(model), None, threads, progress).at(threshold)


def compare(
    texts: Sequence[str],
    reference: Sequence[str],
    encoder: Encoder | External,
    folder: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Compared:
    """All that finds the duplicates at any threshold; with a folder, vectors are written there and not held in memory."""
    every = [*reference, *texts] if folder is None else Joined(reference, texts)
    firsts = first_of_same(every)
    different = np.flatnonzero(firsts == np.arange(len(firsts)))
    vectors = _vectors(every, different, encoder, folder, threads, progress)
    near = NearDuplicates(vectors, int(np.searchsorted(different, len(reference))))
    split = encoder.other_split if isinstance(encoder, Encoder) else None
    return Compared(texts, reference, firsts, different, near, split, threads, progress)


class Joined(Sequence[str]):
    """Two sequences of texts as one."""

    def __init__(self, first: Sequence[str], second: Sequence[str]) -> None:
        self.first, self.second = first, second

    def __len__(self) -> int:
        return len(self.first) + len(self.second)

    def __getitem__(self, at: Any) -> Any:
        within = at - len(self.first)
        return self.first[at] if within < 0 else self.second[within]


def _collection(texts: Any) -> list[str]:
    if isinstance(texts, str):
        raise InputError("a single text repeats nothing: give a collection of texts")
    return texts_of(texts)


def _vectors(
    texts: Sequence[str],
    chosen: NDArray[np.int64],
    encoder: Encoder | External,
    folder: Path | None,
    threads: int | None,
    progress: Progress | None,
) -> Vectors:
    """Unit vectors (chosen, dim) of some texts, in memory or in a file of the folder."""

    def blocks() -> Iterator[Vectors]:
        for at in range(0, len(chosen), BLOCK):
            if progress is not None:
                progress("encode", at, len(chosen))
            some = [texts[number] for number in chosen[at : at + BLOCK].tolist()]
            yield np.ascontiguousarray(unit_vectors(encoder, some, threads))

    if not len(chosen):
        return np.empty((0, 1), np.float32)
    if folder is None:
        return np.concatenate(list(blocks()))
    # Written and then mapped: a full disk under a map that is written to would end the process.
    with (folder / "vectors").open("wb") as file:
        for rows in blocks():
            file.write(rows.data)
    return np.memmap(folder / "vectors", np.float32, "r").reshape(len(chosen), -1)

"""Word vectors fitted to a teacher's sentence vectors.

A sentence is the sum of its word vectors, so their lengths are what each word weighs. The loss of a batch is
1 - cos(student, teacher), plus `pairs` times the mean squared difference of all cosines between two sentences, plus
`pull` times the squared distance of the words from where they began. Adam, on the words of the batch alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import NoppaError, ParameterError

Float = NDArray[np.float32]

INSTALL = "pip install 'noppa[distill]'"
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class Fit:
    """How word vectors are fitted: passes over the text, step size, batch, the two further losses, and what is held out."""

    epochs: int = 4
    rate: float = 2e-3
    batch: int = 1024
    pairs: float = 10.0
    pull: float = 0.02
    held_out: int = 8192
    seed: int = 0


def fitted(
    start: Float,
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    targets: Float,
    fit: Fit | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Float:
    """Word vectors (rows, dim) from where they start, for sentences `ids`, `offsets` and their targets (n, dim) of length one.

    The first `held_out` sentences stop the fit: what comes back is the best pass by their mean cosine.
    progress: called after each pass with that cosine, and with pass 0 for the start.
    """
    torch = _torch()
    fit = fit or Fit()
    sentences = _Sentences(ids, offsets)
    train = sentences.known[sentences.known >= fit.held_out]
    held = sentences.known[sentences.known < fit.held_out]
    if len(train) < fit.batch or not len(held):
        raise ParameterError(
            f"{len(sentences.known)} sentences with a known word are too few to fit on: "
            f"{fit.held_out} are held out, and a batch has {fit.batch}"
        )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # sums in one order: the same bits every time
    try:
        words = torch.from_numpy(start.copy())
        adam = _Adam(torch, words, fit, fit.epochs * (len(train) // fit.batch))
        wanted = torch.from_numpy(np.ascontiguousarray(targets, np.float32))
        best, kept = _held_out(torch, words, sentences, held, wanted), start.copy()
        random = np.random.default_rng(fit.seed)
        if progress:
            progress(0, best)
        for epoch in range(fit.epochs):
            order = random.permutation(train)
            for at in range(0, len(order) - fit.batch + 1, fit.batch):
                rows = order[at : at + fit.batch]
                adam.step(*sentences.batch(rows), wanted[torch.from_numpy(rows)])
            found = _held_out(torch, words, sentences, held, wanted)
            if progress:
                progress(epoch + 1, found)
            if found <= best:
                break
            best, kept = found, words.numpy().copy()
    finally:
        torch.set_num_threads(threads)
    return kept


class _Sentences:
    """Sentences as known ids alone; `known` are the numbers of those that have any."""

    def __init__(self, ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        keep = ids >= 0
        self.offsets = np.append(0, np.cumsum(keep))[offsets]
        self.ids = ids[keep].astype(np.int64)
        self.lengths = np.diff(self.offsets)
        self.known = np.flatnonzero(self.lengths > 0)

    def batch(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The ids of some sentences, and where each begins."""
        lengths = self.lengths[rows]
        begins = np.cumsum(lengths) - lengths
        index = np.repeat(self.offsets[rows] - begins, lengths) + np.arange(lengths.sum())
        return self.ids[index], begins


class _Adam:
    """The state of the fit: the words, the moments of their gradients, and the step."""

    def __init__(self, torch: Any, words: Any, fit: Fit, steps: int) -> None:
        self.torch, self.words, self.fit, self.steps = torch, words, fit, steps
        self.start = words.clone()
        self.mean, self.square = torch.zeros_like(words), torch.zeros_like(words)
        self.done = 0

    def step(self, ids: NDArray[np.int64], begins: NDArray[np.int64], targets: Any) -> None:
        torch, fit = self.torch, self.fit
        own, inverse = np.unique(ids, return_inverse=True)
        rows = torch.from_numpy(own)
        words = self.words[rows].requires_grad_(True)
        students = _summed(torch, words, inverse, begins)
        loss = (1 - (students * targets).sum(1)).mean()
        loss = loss + fit.pairs * ((students @ students.T - targets @ targets.T) ** 2).mean()
        loss = loss + fit.pull * ((words - self.start[rows]) ** 2).sum() / len(targets)
        loss.backward()
        slope = words.grad
        self.done += 1
        rate = fit.rate * (1 - (self.done - 1) / self.steps)
        mean = BETA1 * self.mean[rows] + (1 - BETA1) * slope
        square = BETA2 * self.square[rows] + (1 - BETA2) * slope**2
        self.mean[rows], self.square[rows] = mean, square
        scale = (square / (1 - BETA2**self.done)).sqrt() + EPSILON
        self.words[rows] -= rate * (mean / (1 - BETA1**self.done)) / scale


def _summed(torch: Any, words: Any, ids: NDArray[np.int64], begins: NDArray[np.int64]) -> Any:
    """Sentences as sums of their words, of length one."""
    summed = torch.nn.functional.embedding_bag(
        torch.from_numpy(ids), words, torch.from_numpy(begins), mode="sum"
    )
    return torch.nn.functional.normalize(summed, dim=1, eps=1e-6)


def _held_out(
    torch: Any, words: Any, sentences: _Sentences, held: NDArray[np.int64], targets: Any
) -> float:
    """The mean cosine of student and teacher on the sentences held out."""
    with torch.no_grad():
        students = _summed(torch, words, *sentences.batch(held))
        return float((students * targets[torch.from_numpy(held)]).sum(1).mean())


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise NoppaError(f"fitting word vectors needs torch: {INSTALL}") from error
    return torch

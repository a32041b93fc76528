"""How strongly to regularize vectors and n-grams: a climb over a grid, on rows that were held out.

The out-of-fold logits that are kept for a report are honest: those of a fold come from the strengths that the other folds
prefer, so that no row has a say in the choice that it is scored with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noppa.classify import linear_fit
from noppa.classify.calibration import row_losses, temperature
from noppa.classify.linear_fit import Design, Folds

Float = NDArray[np.float64]
Index = NDArray[np.int64]

#: The grid: l2 on the vectors and on the n-grams, each a part of the mean loss.
GRIDS = (
    (3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0),
    (3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
)
#: Where the climb begins: on the vectors, and on the n-grams, whose penalty on the summed loss is about the same for any
#: number of rows.
START_VECTORS, START_NGRAMS = 1e-1, 0.25
#: The climb moves to a neighbour that is better by this many standard errors over the folds: with few rows most differences
#: are chance.
ERRORS = 1.0
VECTORS, NGRAMS = 0, 1


@dataclass(frozen=True, eq=False)
class Trial:
    """One pair of strengths: the logits of every row by the model that was not trained on it (n, columns), and the mean
    loss of each fold at the best temperature.
    """

    l2: tuple[float, float]
    logits: Float
    losses: Float

    @property
    def loss(self) -> float:
        return float(self.losses.mean())


@dataclass(frozen=True, eq=False)
class Choice:
    """The strengths, the temperature, and the honest out-of-fold logits, (n, columns); NaN for rows never held out.

    fold_of (n,): the fold that held a row out, -1 for none. start (parameters,): near the model of all rows.
    """

    l2: tuple[float, float]
    temperature: float
    logits: Float
    fold_of: Index
    trials: tuple[Trial, ...]
    start: NDArray[np.float32]


def choose(
    design: Design,
    held_out: Sequence[Index],
    train: NDArray[np.bool_],
    fixed: tuple[float | None, float | None],
) -> Choice:
    """The best strengths where `fixed` gives none; `held_out` are the rows of each fold, `train` (n,) may be trained on."""
    fold_of = np.full(len(design.targets), -1)
    for at, rows in enumerate(held_out):
        fold_of[rows] = at
    weights = np.stack([train & (fold_of != at) for at in range(len(held_out))]).astype(np.float32)
    climb = _Climb(design, Folds.of(design, weights), fold_of, fixed)
    trials = tuple(climb.run())
    best = climb.best
    logits = np.full(design.targets.shape, np.nan)
    for at, rows in enumerate(held_out):
        others = [fold for fold in range(len(held_out)) if fold != at] or [at]
        logits[rows] = min(trials, key=lambda trial: trial.losses[others].mean()).logits[rows]
    held = fold_of >= 0
    warmth = temperature(logits[held], design.targets[held], design.softmax)
    assert climb.points is not None
    return Choice(best.l2, warmth, logits, fold_of, trials, climb.points.mean(axis=0))


class _Climb:
    """Along the strengths of the n-grams, then along those of the vectors, each until neither neighbour is better."""

    def __init__(
        self,
        design: Design,
        folds: Folds,
        fold_of: Index,
        fixed: tuple[float | None, float | None],
    ) -> None:
        self.design, self.folds, self.fold_of = design, folds, fold_of
        widths = (len(design.variances) - 1, design.ngrams.width)
        self.axes = [axis for axis in (NGRAMS, VECTORS) if fixed[axis] is None and widths[axis]]
        self.grids = [
            GRIDS[axis] if axis in self.axes else (fixed[axis] or START_VECTORS,)
            for axis in (VECTORS, NGRAMS)
        ]
        rows = float(folds.weights[0].sum())
        self.place = (
            _nearest(self.grids[VECTORS], START_VECTORS),
            _nearest(self.grids[NGRAMS], START_NGRAMS / rows),
        )
        self.trials: dict[tuple[int, int], Trial] = {}
        #: Of every fold at some strengths, to start others from, (folds, parameters).
        self.points: NDArray[np.float32] | None = None

    @property
    def best(self) -> Trial:
        return self.trials[self.place]

    def run(self) -> list[Trial]:
        self._try([self._moved(self.place, axis, step) for axis in (0, 1) for step in (-1, 0, 1)])
        for axis in self.axes:
            while True:
                around = [self._moved(self.place, axis, step) for step in (-1, 1)]
                self._try(around)
                better = min(around, key=lambda at: self.trials[at].loss)
                if not _clearly_better(self.trials[better].losses, self.best.losses):
                    break
                self.place = better
        return list(self.trials.values())

    def _moved(self, place: tuple[int, int], axis: int, step: int) -> tuple[int, int]:
        moved = list(place)
        moved[axis] = min(max(moved[axis] + step, 0), len(self.grids[axis]) - 1)
        return moved[0], moved[1]

    def _try(self, places: Sequence[tuple[int, int]]) -> None:
        """Fit every fold at places of the grid that were not tried yet."""
        new = [place for place in dict.fromkeys(places) if place not in self.trials]
        if not new:
            return
        count = len(self.folds.weights)
        l2 = np.array([[self.grids[axis][place[axis]] for axis in (0, 1)] for place in new])
        which = np.tile(np.arange(count), len(new))
        start = None if self.points is None else np.tile(self.points, (len(new), 1))
        models = linear_fit.fit(self.design, self.folds, which, np.repeat(l2, count, axis=0), start)
        self.points = models.points[:count]
        logits = models.logits().reshape(len(new), count, len(self.fold_of), -1)
        for at, place in enumerate(new):
            self.trials[place] = self._trial(l2[at], logits[at])

    def _trial(self, l2: Float, logits: NDArray[np.float32]) -> Trial:
        design, held = self.design, np.flatnonzero(self.fold_of >= 0)
        own = logits[self.fold_of[held], held].astype(np.float64)
        targets = design.targets[held]
        warmth = temperature(own, targets, design.softmax)
        losses = row_losses(own / warmth, targets, design.softmax)
        folds = self.fold_of[held]
        means = np.bincount(folds, losses) / np.bincount(folds)
        whole = np.full(design.targets.shape, np.nan)
        whole[held] = own
        return Trial((float(l2[0]), float(l2[1])), whole, means)


def _nearest(grid: Sequence[float], value: float) -> int:
    """The place in a grid that is nearest to a value, by their ratio."""
    return int(np.abs(np.log(np.array(grid) / value)).argmin())


def _clearly_better(losses: Float, others: Float) -> bool:
    """Whether losses (folds,) are below others by more than chance; a single fold has no say about chance."""
    gains = others - losses
    error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
    return bool(gains.mean() > ERRORS * error)

"""What can be learnt from the moments of a corpus: noise removal, common components, whitening, unit length.

Several in a row are fitted from one pass, because the moments of what a linear step gives follow from the moments of
what it was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from noppa.errors import ParameterError, warn
from noppa.parameters import (
    boolean,
    number,
    one_of,
    optional,
    positive,
    positive_count,
    short_repr,
    validate_fields,
)
from noppa.refine.moments import Float, Moments
from noppa.refine.steps import STEPS, Map, Remove, Step, Unit

#: Rows are float32: a variance below this share of the mean square is what rounding leaves of none.
ROUNDING = 1e-14
#: Dividing by the root of less than this would leave float32.
LEAST_VARIANCE = 1e-60


class Refinement:
    """A way to refine pooled vectors; subclass it, best as a frozen dataclass, and write `fit`.

    >>> import noppa, numpy as np
    >>> class Centre(noppa.refine.Refinement):
    ...     def fit(self, moments):
    ...         return noppa.refine.Map(np.eye(moments.dim), -moments.mean)
    """

    #: Whether `fit` looks at the text; one that looks at nothing but the number of dimensions needs none.
    learns: bool = True

    def fit(self, moments: Moments) -> Step:
        """The step, a `Remove`, a `Map` or a `Unit`, for vectors of these moments."""
        raise ParameterError(f"{self!r} refines nothing: write fit(self, moments)")

    def width(self, width: int) -> int:
        """Length of a refined vector from that of the vector before, as far as it is known without a fit."""
        return width


@dataclass(frozen=True)
class NoiseRemoval(Refinement):
    """Equations 14 and 15: takes out the last k right singular vectors of the sentence matrix.

    `variant="paper"`: of the uncentred matrix, as written. `"reference"`: what the authors' code does, without its
    crashes: it standardizes each dimension and removes the last k *rows* of the matrix whose columns are the singular
    vectors, which is a subspace unrelated to small singular values. The signs of singular vectors, which that
    depends on, are fixed here by making the largest entry of each positive.
    """

    k: int = 12
    variant: str = "paper"

    def __post_init__(self) -> None:
        validate_fields(
            self, k=positive_count, variant=partial(one_of, choices=("paper", "reference"))
        )

    def fit(self, moments: Moments) -> Step:
        _require_rows(moments, self.k, "noise removal")
        if self.variant == "reference":
            variances = np.maximum(np.diag(moments.covariance), 0)
            spread = np.sqrt(variances)
            alike = variances <= np.maximum(ROUNDING * np.diag(moments.second), LEAST_VARIANCE)
            spread[alike | (spread <= 1e-12 * spread.max())] = 1.0
            directions = _principal(moments.covariance / np.outer(spread, spread))[1]
            signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(moments.dim)])
            rows = (directions * signs)[-self.k :]
            left = rows / spread
            return Remove(left, rows * spread, left @ moments.mean)
        values, directions = _principal(moments.second)
        if values[-self.k] <= 1e-12 * values[0]:
            warn(
                f"noise removal was fitted on {moments.count} sentences, too few or too alike to tell "
                f"the last {self.k} of {moments.dim} directions apart: it removes what they lack; fit on more text"
            )
        last = directions[:, -self.k :].T
        return Remove(last, last, np.zeros(self.k))


@dataclass(frozen=True)
class CommonComponents(Refinement):
    """Takes out the first k right singular vectors of the sentence matrix, uncentred as in SIF or centred.

    `weighted` takes each out only in proportion to its share of their common variance, as in uSIF.
    """

    k: int = 1
    centred: bool = False
    weighted: bool = False

    def __post_init__(self) -> None:
        validate_fields(self, k=positive_count, centred=boolean, weighted=boolean)

    def fit(self, moments: Moments) -> Step:
        _require_rows(moments, self.k, "removing common components")
        matrix = moments.covariance if self.centred else moments.second
        values, directions = _principal(matrix)
        first, share = directions[:, : self.k].T, np.ones(self.k)
        if self.weighted and values[0] > 0:
            share = np.maximum(values[: self.k], 0) / np.maximum(values[: self.k], 0).sum()
        return Remove(
            first,
            share[:, None] * first,
            first @ moments.mean if self.centred else np.zeros(self.k),
        )


@dataclass(frozen=True)
class Whitening(Refinement):
    """Centres, rotates to principal axes, and scales each by its standard deviation to the power -`strength`.

    `strength=1` gives unit variance everywhere, 0 only rotates. Axes come in falling order of variance, so a prefix of
    the result is meaningful; `dim` keeps the first ones. `floor` bounds the variance from below, relative to the mean one.
    An axis along which the corpus does not vary at all cannot be scaled and gives zeros, unless `strength` is 0.
    `centred=False` leaves the mean where it is: variances are then those around zero.
    """

    dim: int | None = None
    strength: float = 1.0
    floor: float = 1e-5
    centred: bool = True

    def __post_init__(self) -> None:
        validate_fields(self, dim=optional(positive_count), floor=positive, centred=boolean)
        validate_fields(self, strength=partial(number, least=0, most=1))

    def width(self, width: int) -> int:
        return width if self.dim is None else self.dim

    def fit(self, moments: Moments) -> Step:
        dim = self.width(moments.dim)
        if dim > moments.dim:
            raise ParameterError(
                f"whitening to {dim} dimensions, but the vectors have {moments.dim}"
            )
        _require_rows(moments, 1, "whitening")
        values, directions = _principal(moments.covariance if self.centred else moments.second)
        variances = np.maximum(values[:dim], self.floor * values.mean())
        varied = variances > max(ROUNDING * np.trace(moments.second) / moments.dim, LEAST_VARIANCE)
        divisors = np.where(varied, variances, 1) ** (self.strength / 2)
        matrix = directions[:, :dim] / divisors
        if self.strength > 0:
            matrix[:, ~varied] = 0
        return Map(matrix, -moments.mean @ matrix if self.centred else np.zeros(dim))


@dataclass(frozen=True)
class Normalize(Refinement):
    """Scales each vector to length one; zeros stay zeros. Must come last."""

    learns = False

    def fit(self, moments: Moments) -> Step:
        return Unit(moments.dim)


#: Refinements by the name under which they are saved; `noppa.register` adds to it.
REFINEMENTS: dict[str, type[Any]] = {
    "NoiseRemoval": NoiseRemoval,
    "CommonComponents": CommonComponents,
    "Whitening": Whitening,
    "Normalize": Normalize,
}


def fit_steps(refinements: Iterable[Refinement], moments: Moments) -> list[Step]:
    """Fit refinements one after another, each on the moments of what the ones before it give."""
    steps: list[Step] = []
    for refinement in refinements:
        if steps:
            moments = steps[-1].after(moments)
        step = refinement.fit(moments)
        if not isinstance(step, tuple(STEPS.values())):
            raise ParameterError(
                f"{short_repr(refinement)}.fit gave {short_repr(step)}: it must give a Remove, a Map or a Unit of noppa.refine"
            )
        step.width_after(moments.dim)
        steps.append(step)
    return steps


def steps_without_text(refinements: Sequence[Refinement], width: int) -> list[Step] | None:
    """The steps of refinements that learn nothing, for pooled vectors of this width; None where one of them learns."""
    if any(refinement.learns for refinement in refinements):
        return None
    return fit_steps(refinements, Moments(0, np.zeros(width), np.zeros((0, 0))))


def _principal(symmetric: Float) -> tuple[Float, Float]:
    """Eigenvalues in falling order and the eigenvectors as columns."""
    try:
        values, vectors = np.linalg.eigh((symmetric + symmetric.T) / 2)
    except np.linalg.LinAlgError:
        values = np.array([np.nan])
    if not np.isfinite(values).all():
        raise ParameterError(
            "nothing can be fitted to vectors so large that their squares overflow: scale the word vectors down"
        )
    return values[::-1], vectors[:, ::-1]


def _require_rows(moments: Moments, k: int, what: str) -> None:
    if k > moments.dim:
        raise ParameterError(
            f"{what} of {k} directions, but the vectors have {moments.dim} dimensions"
        )
    if moments.count <= k:
        raise ParameterError(
            f"{what} of {k} directions needs at least {k + 1} sentences with a known word, and got {moments.count}"
        )

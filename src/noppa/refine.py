"""rows -> vectors: refinements learnt from a corpus and applied after pooling.

`Moments` are collected in one pass over a corpus. A `Refinement` is fitted from them and becomes a `Step`, a small piece of
linear algebra that the kernels apply to each pooled row. Several refinements in a row are fitted from the same pass: the
moments after a linear step follow from the moments before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noppa import _native as kernels
from noppa.display import dataclass_repr
from noppa.errors import ParameterError, warn
from noppa.parameters import (
    boolean,
    number,
    numbers,
    one_of,
    optional,
    positive,
    positive_count,
    short_repr,
    validate_fields,
)

Float = NDArray[np.float64]

#: Rows are float32: a variance below this share of the mean square is rounding error.
ROUNDING = 1e-14
#: Dividing by the square root of less than this would overflow float32.
LEAST_VARIANCE = 1e-60


@dataclass(frozen=True)
class Moments:
    """Count, sum (dim,) and sum of outer products (dim, dim) of vectors, in float64. Adding two merges them."""

    __repr__ = dataclass_repr

    count: int
    total: Float
    products: Float

    @classmethod
    def empty(cls, dim: int) -> Moments:
        """Return the moments of no vector."""
        return cls(0, np.zeros(dim), np.zeros((dim, dim)))

    @classmethod
    def from_rows(cls, rows: ArrayLike) -> Moments:
        """Return the moments of rows (count, dim)."""
        block = np.asarray(numbers(rows, "an array of rows"), np.float64)
        if block.ndim != 2:
            raise ParameterError(f"rows have the shape (count, dim), not {block.shape}")
        return cls(len(block), block.sum(axis=0), block.T @ block)

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.count + other.count, self.total + other.total, self.products + other.products
        )

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return len(self.total)

    @property
    def mean(self) -> Float:
        """The mean vector, (dim,)."""
        return self.total / max(self.count, 1)

    @property
    def second(self) -> Float:
        """The second moment E[x x'], (dim, dim)."""
        return self.products / max(self.count, 1)

    @property
    def covariance(self) -> Float:
        """The covariance E[x x'] - E[x] E[x]', (dim, dim)."""
        return self.second - np.outer(self.mean, self.mean)

    def mapped(self, matrix: Float, bias: Float) -> Moments:
        """Return the moments of x @ matrix + bias."""
        total = self.total @ matrix
        cross = np.outer(total, bias)
        products = matrix.T @ self.products @ matrix + cross + cross.T
        return Moments(
            self.count, total + self.count * bias, products + self.count * np.outer(bias, bias)
        )


# Fitted steps


class Step:
    """A fitted refinement: `Remove`, `Map` or `Unit`."""

    #: Its name in saved folders and in the kernels.
    kind: ClassVar[str]
    #: Its arrays as they are saved: see `noppa.io.schema`.
    ARRAYS: ClassVar[dict[str, str]] = {}

    __repr__ = dataclass_repr

    def kernel_form(self) -> tuple[Any, ...]:
        """Return the tuple that `kernels.Steps` takes."""
        most = np.finfo(np.float32).max
        arrays = [np.clip(getattr(self, name), -most, most) for name in self.ARRAYS]
        return (self.kind, *(np.ascontiguousarray(array, kernels.REAL) for array in arrays))

    def after(self, moments: Moments) -> Moments:
        """Return the moments after this step."""
        raise NotImplementedError

    def split(self, rows: Float, whole: Float) -> tuple[Float, Float | None]:
        """Apply the step to parts (parts, in) of a vector `whole` (in,); also return the constant that it adds."""
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class Remove(Step):
    """x - (left x - bias) right: removes the directions `right` (k, dim), measured by `left` (k, dim)."""

    kind: ClassVar = "remove"
    ARRAYS: ClassVar = {"left": "f4|f8 k width", "right": "f4|f8 k width", "bias": "f4|f8 k"}

    left: Float
    right: Float
    bias: Float

    def after(self, moments: Moments) -> Moments:
        return moments.mapped(
            np.eye(moments.dim) - self.left.T @ self.right, self.bias @ self.right
        )

    def split(self, rows: Float, whole: Float) -> tuple[Float, Float | None]:
        rows = rows - (rows @ self.left.T) @ self.right
        return rows, self.bias @ self.right if self.bias.any() else None


@dataclass(frozen=True, repr=False)
class Map(Step):
    """x matrix + bias, with matrix (in, out) whose columns come in falling order of importance."""

    kind: ClassVar = "map"
    ARRAYS: ClassVar = {"matrix": "f4|f8 width out", "bias": "f4|f8 out"}

    matrix: Float
    bias: Float

    def after(self, moments: Moments) -> Moments:
        return moments.mapped(self.matrix, self.bias)

    def split(self, rows: Float, whole: Float) -> tuple[Float, Float | None]:
        return rows @ self.matrix, self.bias


@dataclass(frozen=True, repr=False)
class Unit(Step):
    """x / |x|; a row of zeros stays zeros."""

    kind: ClassVar = "normalise"

    width: int

    def kernel_form(self) -> tuple[Any, ...]:
        return (self.kind, self.width)

    def after(self, moments: Moments) -> Moments:
        raise ParameterError("nothing can be fitted after Normalize", "put it last")

    def split(self, rows: Float, whole: Float) -> tuple[Float, Float | None]:
        length = np.linalg.norm(whole)
        return rows / (length if length > 0 else 1), None


#: The kinds of steps, by their names in saved folders.
STEPS: dict[str, type[Any]] = {step.kind: step for step in (Remove, Map, Unit)}


def kernel_steps(steps: Sequence[Step]) -> kernels.Steps:
    """Return fitted steps in the form that the kernels apply."""
    return kernels.Steps([step.kernel_form() for step in steps])


# Refinements


class Refinement:
    """A way to refine pooled vectors. Subclass it, preferably as a frozen dataclass, and write `fit`.

    >>> import noppa, numpy as np
    >>> class Centre(noppa.refine.Refinement):
    ...     def fit(self, moments):
    ...         return noppa.refine.Map(np.eye(moments.dim), -moments.mean)
    """

    #: Whether `fit` needs text. If False, it may use nothing but the number of dimensions.
    learns: bool = True

    def fit(self, moments: Moments) -> Step:
        """Return the step, a `Remove`, a `Map` or a `Unit`, for vectors with these moments."""
        raise ParameterError(f"{self!r} refines nothing", "write fit(self, moments)")

    def width(self, width: int) -> int:
        """Return the length of a refined vector, from that of the vector before."""
        return width


@dataclass(frozen=True)
class NoiseRemoval(Refinement):
    """Equations 14 and 15: removes the last k right singular vectors of the sentence matrix.

    Args:
        k: How many directions to remove.
        variant: "paper" uses the uncentred matrix, as written. "reference" does what the authors' code does, without its
            crashes: it standardizes each dimension and removes the last k *rows* of the matrix whose columns are the
            singular vectors, a subspace unrelated to small singular values. That depends on the signs of singular
            vectors, which are fixed here by making the largest entry of each positive.
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
            constant = variances <= np.maximum(ROUNDING * np.diag(moments.second), LEAST_VARIANCE)
            spread[constant | (spread <= 1e-12 * spread.max())] = 1.0
            directions = principal_axes(moments.covariance / np.outer(spread, spread))[1]
            signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(moments.dim)])
            rows = (directions * signs)[-self.k :]
            left = rows / spread
            return Remove(left, rows * spread, left @ moments.mean)
        values, directions = principal_axes(moments.second)
        if values[-self.k] <= 1e-12 * values[0]:
            warn(
                f"noise removal was fitted on {moments.count} sentences, too few or too similar to separate the last "
                f"{self.k} of {moments.dim} directions: it removes directions that they lack; fit on more text"
            )
        last = directions[:, -self.k :].T
        return Remove(last, last, np.zeros(self.k))


@dataclass(frozen=True)
class CommonComponents(Refinement):
    """Removes the first k right singular vectors of the sentence matrix.

    Args:
        k: How many directions to remove.
        centred: Whether to subtract the mean first; SIF does not.
        weighted: Remove each direction only in proportion to its share of their common variance, as uSIF does.
    """

    k: int = 1
    centred: bool = False
    weighted: bool = False

    def __post_init__(self) -> None:
        validate_fields(self, k=positive_count, centred=boolean, weighted=boolean)

    def fit(self, moments: Moments) -> Step:
        _require_rows(moments, self.k, "removing common components")
        values, directions = principal_axes(moments.covariance if self.centred else moments.second)
        first, share = directions[:, : self.k].T, np.ones(self.k)
        if self.weighted and values[0] > 0:
            share = np.maximum(values[: self.k], 0) / np.maximum(values[: self.k], 0).sum()
        bias = first @ moments.mean if self.centred else np.zeros(self.k)
        return Remove(first, share[:, None] * first, bias)


@dataclass(frozen=True)
class Whitening(Refinement):
    """Centres, rotates to principal axes, and divides each axis by its standard deviation to the power `strength`.

    Axes come in falling order of variance, so a prefix of the result is meaningful. An axis along which the corpus does not
    vary at all cannot be scaled and becomes zeros, unless `strength` is 0.

    Args:
        dim: How many axes to keep; None keeps all.
        strength: 1 gives unit variance, 0 only rotates.
        floor: Lower bound of the variance, relative to the mean variance.
        centred: Whether to subtract the mean; if False, variances are taken around zero.
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
        values, directions = principal_axes(moments.covariance if self.centred else moments.second)
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


#: Refinements by their names in saved folders; `noppa.register` adds to it.
REFINEMENTS: dict[str, type[Refinement]] = {
    "NoiseRemoval": NoiseRemoval,
    "CommonComponents": CommonComponents,
    "Whitening": Whitening,
    "Normalize": Normalize,
}


def fit_steps(refinements: Iterable[Refinement], moments: Moments) -> list[Step]:
    """Fit refinements one after another, each on the moments after the previous ones."""
    steps: list[Step] = []
    for refinement in refinements:
        if steps:
            moments = steps[-1].after(moments)
        step = refinement.fit(moments)
        if not isinstance(step, tuple(STEPS.values())):
            raise ParameterError(
                f"{short_repr(refinement)}.fit returned {short_repr(step)}",
                "it must return a Remove, a Map or a Unit of noppa.refine",
            )
        for name, declared in step.ARRAYS.items():
            array = np.asarray(getattr(step, name))
            _, *sizes = declared.split()
            other = len(vars(step)["bias"])
            shape = tuple(moments.dim if size == "width" else other for size in sizes)
            if array.shape != shape or not np.isfinite(array).all():
                raise ParameterError(
                    f"{type(step).__name__}({name}=…) must be an array {shape} of finite numbers, not one of shape "
                    f"{array.shape}"
                )
        steps.append(step)
    return steps


def steps_without_text(refinements: Sequence[Refinement], width: int) -> list[Step] | None:
    """Return the steps of refinements that learn nothing, for pooled vectors of this width; None if one learns."""
    if any(refinement.learns for refinement in refinements):
        return None
    return fit_steps(refinements, Moments(0, np.zeros(width), np.zeros((0, 0))))


def principal_axes(symmetric: Float) -> tuple[Float, Float]:
    """Return eigenvalues in falling order and the eigenvectors as columns."""
    try:
        values, vectors = np.linalg.eigh((symmetric + symmetric.T) / 2)
    except np.linalg.LinAlgError:
        values = np.array([np.nan])
    if not np.isfinite(values).all():
        raise ParameterError(
            "nothing can be fitted to vectors so large that their squares overflow",
            "scale the word vectors down",
        )
    return values[::-1], vectors[:, ::-1]


def _require_rows(moments: Moments, k: int, name: str) -> None:
    if k > moments.dim:
        raise ParameterError(
            f"{name} of {k} directions, but the vectors have {moments.dim} dimensions"
        )
    if moments.count <= k:
        raise ParameterError(
            f"{name} of {k} directions needs at least {k + 1} sentences with a known word, and got {moments.count}"
        )

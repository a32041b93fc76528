"""Fitted refinements: small pieces of linear algebra that the kernels apply to each pooled row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.display import dataclass_repr
from noppa.errors import ParameterError
from noppa.refine.moments import Float, Moments


class Step(Protocol):
    """One fitted refinement."""

    #: Its arrays as they are saved: see `schema`.
    ARRAYS: ClassVar[dict[str, str]]

    def to_dict(self) -> tuple[Any, ...]:
        """The tuple that the kernels understand."""

    def width_after(self, width: int) -> int:
        """Length of a vector after this step; raises where the step does not fit vectors of that width."""

    def after(self, moments: Moments) -> Moments:
        """The moments of what this step gives."""

    def split(self, rows: Float, whole: Float) -> tuple[Float, Float | None]:
        """Parts (parts, in) of a vector `whole` (in,) after this step, and what it adds that belongs to none of them."""


@dataclass(frozen=True)
class Remove:
    """x - (left x - bias) right: takes the directions `right` (k, dim) out of x as far as `left` (k, dim) sees them."""

    __repr__ = dataclass_repr

    ARRAYS: ClassVar = {"left": "f4|f8 k width", "right": "f4|f8 k width", "bias": "f4|f8 k"}

    left: Float
    right: Float
    bias: Float

    def to_dict(self) -> tuple[Any, ...]:
        return ("remove", *map(_as_kernels_take, (self.left, self.right, self.bias)))

    def width_after(self, width: int) -> int:
        directions = len(self.bias)
        _check_shapes(self, left=(directions, width), right=(directions, width), bias=(directions,))
        return width

    def after(self, moments: Moments) -> Moments:
        return moments.mapped(
            np.eye(moments.dim) - self.left.T @ self.right, self.bias @ self.right
        )

    def split(self, rows: Float, whole: Float) -> tuple[Float, Float | None]:
        rows = rows - (rows @ self.left.T) @ self.right
        return rows, self.bias @ self.right if self.bias.any() else None


@dataclass(frozen=True)
class Map:
    """x matrix + bias, matrix (in, out), its columns in falling order of importance."""

    __repr__ = dataclass_repr

    ARRAYS: ClassVar = {"matrix": "f4|f8 width out", "bias": "f4|f8 out"}

    matrix: Float
    bias: Float

    def to_dict(self) -> tuple[Any, ...]:
        return ("map", *map(_as_kernels_take, (self.matrix, self.bias)))

    def width_after(self, width: int) -> int:
        _check_shapes(self, matrix=(width, len(self.bias)), bias=(len(self.bias),))
        return len(self.bias)

    def after(self, moments: Moments) -> Moments:
        return moments.mapped(self.matrix, self.bias)

    def split(self, rows: Float, whole: Float) -> tuple[Float, Float | None]:
        return rows @ self.matrix, self.bias


@dataclass(frozen=True)
class Unit:
    """x / |x|; a row of zeros stays one."""

    ARRAYS: ClassVar[dict[str, str]] = {}

    width: int

    def to_dict(self) -> tuple[Any, ...]:
        return ("normalise", self.width)

    def width_after(self, width: int) -> int:
        return width

    def after(self, moments: Moments) -> Moments:
        raise ParameterError("nothing can be fitted after Normalize: put it last")

    def split(self, rows: Float, whole: Float) -> tuple[Float, Float | None]:
        length = np.linalg.norm(whole)
        return rows / (length if length > 0 else 1), None


#: The kinds of steps, by the names of saved folders.
STEPS: dict[str, type[Any]] = {"remove": Remove, "map": Map, "normalise": Unit}


def kernel_steps(steps: Sequence[Step]) -> kernels.Steps:
    """Fitted steps in the form that the kernels apply."""
    return kernels.Steps([step.to_dict() for step in steps])


def _as_kernels_take(array: Float) -> NDArray[Any]:
    most = np.finfo(np.float32).max
    return np.ascontiguousarray(np.clip(array, -most, most), kernels.REAL)


def _check_shapes(step: Step, **shapes: tuple[int, ...]) -> None:
    for name, shape in shapes.items():
        array = np.asarray(getattr(step, name))
        if array.shape != shape or not np.isfinite(array).all():
            raise ParameterError(
                f"{type(step).__name__}({name}=…) must be an array {shape} of finite numbers, not one of shape {array.shape}"
            )

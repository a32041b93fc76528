"""Unit vectors as they are stored: float32, float16, or int8 with a factor for each row; and the nearest of some rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.errors import ParameterError
from noppa.parameters import whole
from noppa.threads import thread_count

#: The NumPy type of each way to store vectors.
DTYPES = {"float32": np.float32, "float16": np.float16, "int8": np.int8}
LARGEST = 127

Vectors = NDArray[np.float32]


def unit(rows: NDArray[Any]) -> Vectors:
    """Rows scaled to length one; zero rows stay zero, and an array of unit rows is returned as it is."""
    lengths = np.sqrt(np.einsum("...d,...d->...", rows, rows, dtype=np.float64))
    if np.all((lengths == 0) | (np.abs(lengths - 1) < 1e-6)):
        return np.asarray(rows, np.float32)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1)[..., None], np.float32)


def float_rows(
    matrix: NDArray[Any], scales: NDArray[np.float32] | None, rows: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Some rows of stored vectors as float64."""
    chosen = matrix[rows].astype(np.float64)
    return chosen if scales is None else chosen * scales[rows, None]


def stored(rows: Vectors, dtype: str) -> dict[str, NDArray[Any]]:
    """The arrays `vectors` (rows, dim) and, of int8, `scales` (rows,)."""
    if dtype != "int8":
        return {"vectors": rows.astype(DTYPES[dtype])}
    scales = np.abs(rows).max(axis=1, initial=0) / LARGEST
    scales = np.where(scales > 0, scales, 1).astype(np.float32)
    return {"vectors": np.rint(rows / scales[:, None]).astype(np.int8), "scales": scales}


def nearest(
    rows: NDArray[Any], queries: NDArray[Any], count: int, threads: int | None = None
) -> tuple[NDArray[np.int64], Vectors]:
    """The rows (rows, dim) nearest to queries (queries, dim): numbers and cosines (queries, up to `count`), nearest first.

    >>> nearest(np.eye(2, dtype=np.float32), np.array([[1, 0.1]]), 1)[0]
    array([[0]])
    """
    compared, wanted = unit(np.asarray(rows, np.float32)), unit(np.asarray(queries, np.float32))
    if wanted.ndim != 2 or compared.ndim != 2 or wanted.shape[1] != compared.shape[1]:
        raise ParameterError(
            f"queries must be (queries, {compared.shape[-1]}) as the rows are, not {wanted.shape}"
        )
    most = whole(count, "count", 1)
    if not len(compared):
        return np.empty((len(wanted), 0), np.int64), np.empty((len(wanted), 0), np.float32)
    table = kernels.Table(np.ascontiguousarray(compared), None)
    return kernels.nearest_rows(table, None, None, None, wanted, most, thread_count(threads))

"""The native kernels of the methods beside NoPPA against their float64 twins, at odd sizes, for every instruction set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from noppa.kernels import _native, reference

from .test_kernels import DIMS, SIZES, batch, stored

WORDS = 40


def arrays(dim: int, slots: int) -> dict[str, Any]:
    rng = np.random.default_rng(slots)
    directions = np.linalg.qr(rng.normal(size=(max(dim, slots), max(dim, slots))))[0][:slots, :dim]
    return {
        "weights": rng.uniform(0.1, 2, WORDS + 1).astype(np.float32),
        "labels": rng.integers(0, slots, WORDS + 1).astype(np.int32),
        "centroids": rng.normal(size=(slots, dim)).astype(np.float32),
        "directions": np.ascontiguousarray(directions),
        "values": np.sort(rng.uniform(0.1, 30, slots))[::-1].copy(),
    }


Call = Callable[[Any, Any, dict[str, Any]], Callable[..., Any]]

CALLS: dict[str, Call] = {
    "average": lambda k, t, a: lambda *b: k.pool_mean(t, None, 0, False, *b),
    "weighted": lambda k, t, a: lambda *b: k.pool_mean(t, a["weights"], 1, False, *b),
    "sum": lambda k, t, a: lambda *b: k.pool_mean(t, a["weights"], 2, False, *b),
    "scaled": lambda k, t, a: lambda *b: k.pool_mean(t, a["weights"], 0, True, *b),
    "dct1": lambda k, t, a: lambda *b: k.pool_dct(t, 1, *b),
    "dct5": lambda k, t, a: lambda *b: k.pool_dct(t, 5, *b),
    "vlawe": lambda k, t, a: lambda *b: k.pool_vlawe(t, a["labels"], a["centroids"], 0.5, *b),
    "vlawe linear": lambda k, t, a: (
        lambda *b: k.pool_vlawe(t, a["labels"], a["centroids"], 1.0, *b)
    ),
    "s3e": lambda k, t, a: (
        lambda *b: k.pool_s3e(t, a["weights"], a["labels"], a["centroids"], True, False, *b)
    ),
    "s3e published": lambda k, t, a: (
        lambda *b: k.pool_s3e(t, a["weights"], a["labels"], a["centroids"], False, True, *b)
    ),
    "gem": lambda k, t, a: lambda *b: k.pool_gem(t, a["directions"], a["values"], 3, 2, *b),
}


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("kind", ["float32", "float16", "int8"])
@pytest.mark.parametrize("call", CALLS)
def test_native_equals_twin(instruction_set: str, call: str, kind: str, dim: int) -> None:
    if dim < 8 and call.startswith(("gem", "s3e")):
        return  # no more words than dimensions, or all is noise: see the degenerate cases below
    given, sentences = arrays(dim, 3), batch(WORDS, SIZES)
    rows, known = CALLS[call](_native, _native.Table(*stored(kind, WORDS, dim)), given)(
        *sentences, _native.Steps([]), 2
    )
    wanted, counts = CALLS[call](reference, reference.Table(*stored(kind, WORDS, dim)), given)(
        *sentences, reference.Steps([]), 1
    )
    assert rows.dtype == np.float32
    assert (known == counts).all()
    assert not rows[known == 0].any()
    assert (np.linalg.norm(rows - wanted, axis=1) <= 2e-6 * np.linalg.norm(wanted, axis=1)).all()


@pytest.mark.parametrize("call", CALLS)
def test_one_dimension_and_vectors_of_zeros_stay_finite(call: str) -> None:
    given = arrays(1, 2)
    table = _native.Table(np.zeros((WORDS, 1), np.float32), None)
    rows, _ = CALLS[call](_native, table, given)(*batch(WORDS, SIZES), _native.Steps([]), 1)
    assert np.isfinite(rows).all()


@pytest.mark.parametrize("call", CALLS)
def test_wrong_arrays_are_refused(call: str) -> None:
    given, table = arrays(8, 3), _native.Table(*stored("float32", WORDS, 8))
    pool, steps = CALLS[call](_native, table, given), _native.Steps([])
    offsets = np.array([0, 1], np.int64)
    with pytest.raises(ValueError, match="an id is no word"):
        pool(np.array([WORDS + 1], np.int32), offsets, steps, 1)
    with pytest.raises(ValueError, match="offsets do not fit the ids"):
        pool(np.array([1, 2], np.int32), offsets, steps, 1)
    with pytest.raises(ValueError, match="the first step does not fit"):
        pool(np.array([1], np.int32), offsets, _native.Steps([("normalise", 999)]), 1)

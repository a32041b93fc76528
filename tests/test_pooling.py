"""Check `_native.Pooling`: the kernels of all methods except NoPPA, and the promises of every kernel."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import noppa
from noppa import _native
from noppa.methods.method import Kernel, Learnt, mean_kernel, mean_terms

from .test_kernels import (
    DIMS,
    NO_STEPS,
    SIZES,
    STORAGES,
    WORDS,
    assert_close,
    batch,
    noppa_kernel,
    one_text,
    stored,
)

SLOTS = 3


@dataclass(frozen=True)
class Mean(noppa.Method):
    """Expose every setting of the kernel `mean`, which several methods use."""

    divisor: str = "tokens"
    scaled: bool = False
    needs_probabilities: bool = True

    def terms(self, vectors: Any, weights: Any) -> Any:
        return mean_terms(vectors, weights, self.divisor, self.scaled)

    def native(self, words: noppa.WordVectors, learnt: Learnt) -> Kernel:
        weights = self.weights(words, learnt)
        return mean_kernel(words.table, weights, self.divisor, self.scaled)


METHODS: dict[str, noppa.Method] = {
    "average": Mean(needs_probabilities=False),
    "weighted": Mean("weights"),
    "sum": Mean("one"),
    "scaled": Mean("tokens", scaled=True),
    "dct1": noppa.DCT(k=1),
    "dct5": noppa.DCT(k=5),
    "vlawe": noppa.VLAWE(k=SLOTS),
    "vlawe linear": noppa.VLAWE(k=SLOTS, power=1.0),
    "s3e": noppa.S3E(k=SLOTS),
    "s3e published": noppa.S3E(k=SLOTS, average=False, variant="reference"),
    "gem": noppa.GEM(m=3, k=SLOTS, h=2),
}


def learnt(dim: int) -> dict[str, np.ndarray]:
    """Return arrays that the methods above could have learnt."""
    rng = np.random.default_rng(SLOTS)
    size = max(dim, SLOTS)
    return {
        "labels": rng.integers(0, SLOTS, WORDS + 1).astype(np.int32),
        "centroids": rng.normal(size=(SLOTS, dim)).astype(np.float32).astype(float),
        "directions": np.linalg.qr(rng.normal(size=(size, size)))[0][:SLOTS, :dim],
        "values": np.sort(rng.uniform(0.1, 30, SLOTS))[::-1],
    }


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("kind", STORAGES)
@pytest.mark.parametrize("name", METHODS)
def test_native_equals_twin(instruction_set: str, name: str, kind: str, dim: int) -> None:
    if dim < 8 and name.startswith(("gem", "s3e")):
        return  # no more words than dimensions, or all is noise: see the degenerate cases below
    # in one dimension the words of a sentence may nearly cancel each other
    assert_close(METHODS[name], stored(kind, dim), learnt(dim), 2e-6 if dim > 1 else 1e-5)


def kernels() -> dict[str, _native.Pooling]:
    """Return one kernel of each name, over words of 8 dimensions."""
    words = stored("float32", 8)
    made = {
        kernel.name: kernel
        for kernel in (method.native(words, learnt(8)) for method in METHODS.values())
        if kernel is not None
    }
    return {"noppa": noppa_kernel(words.matrix)} | {
        name: _native.Pooling(*kernel) for name, kernel in made.items()
    }


def test_every_method_file_is_found_and_tested_here() -> None:
    assert tuple(sorted(kernels())) == _native.POOLINGS


@pytest.mark.parametrize("name", _native.POOLINGS)
def test_a_kernel_says_its_width_and_refuses_wrong_batches(name: str) -> None:
    pool, offsets = kernels()[name], np.array([0, 1], np.int64)
    rows, known = pool(np.array([1], np.int32), offsets, NO_STEPS, 1)
    assert rows.shape == (1, pool.width)
    assert known.tolist() == [1]
    with pytest.raises(ValueError, match="an id is no word"):
        pool(np.array([WORDS + 1], np.int32), offsets, NO_STEPS, 1)
    with pytest.raises(ValueError, match="an id is no word"):
        pool(np.array([-2], np.int32), offsets, NO_STEPS, 1)
    with pytest.raises(ValueError, match="offsets do not fit the ids"):
        pool(np.array([1, 2], np.int32), offsets, NO_STEPS, 1)
    with pytest.raises(ValueError, match="the first step does not fit"):
        pool(np.array([1], np.int32), offsets, _native.Steps([("normalise", 999)]), 1)


@pytest.mark.parametrize("name", _native.POOLINGS)
def test_a_kernel_follows_the_instruction_set_in_use(instruction_set: str, name: str) -> None:
    """A kernel built before the choice gives the bytes of one built after it."""
    _native.use_instruction_set("base")
    before = kernels()[name]
    before(*batch((3, 9)), NO_STEPS, 1)
    _native.use_instruction_set(instruction_set)
    rows = [pool(*batch((3, 9)), NO_STEPS, 1)[0].tobytes() for pool in (before, kernels()[name])]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("name", _native.POOLINGS)
def test_many_threads_call_one_kernel(name: str) -> None:
    """The first call builds the instance for an instruction set."""
    sentences = batch(SIZES)
    expected = kernels()[name](*sentences, NO_STEPS, 1)[0].tobytes()
    live = _native.instruction_set()
    _native.use_instruction_set("base")
    pool = kernels()[name]
    _native.use_instruction_set(live)
    equal: list[bool] = []
    start = threading.Barrier(6)

    def work() -> None:
        start.wait()
        equal.extend(pool(*sentences, NO_STEPS, 2)[0].tobytes() == expected for _ in range(5))

    callers = [threading.Thread(target=work) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert equal == [True] * 30


WRONG = [
    ("mean", {"weights": np.ones(3, np.float32)}, ValueError, "'weights' must have 41 values, not 3"),
    ("mean", {"weights": np.ones(41)}, TypeError, "'weights' must be an array of float32, not float64"),
    ("mean", {"weights": np.ones((41, 1), np.float32)}, ValueError, "'weights' must have one axis"),
    ("mean", {"weights": "heavy"}, TypeError, "'weights' must be an array, a number"),
    ("mean", {"divisor": 3}, ValueError, "'divisor' must lie between 0 and 2"),
    ("mean", {"divisor": 1.0}, TypeError, "'divisor' must be an int"),
    ("mean", {"scaled": 1}, TypeError, "'scaled' must be True or False"),
    ("mean", {"scale": True}, ValueError, "mean has no argument 'scale'"),
    ("mean", {"scaled": ...}, ValueError, "'scaled' is missing"),
    ("dct", {"k": 0}, ValueError, "'k' must lie between 1"),
    ("dct", {"k": 2**31 - 1}, ValueError, "more numbers than can be counted"),
    ("vlawe", {"labels": np.full(41, SLOTS, np.int32)}, ValueError, "'labels' has an index that is not below 3"),
    ("vlawe", {"centroids": np.ones((3, 7), np.float32)}, ValueError, "'centroids' must have 8 columns, not 7"),
    ("vlawe", {"centroids": np.ones((0, 8), np.float32)}, ValueError, "'centroids' must have at least one row"),
    ("vlawe", {"power": np.nan}, ValueError, "'power' must be finite"),
    ("gem", {"values": np.ones(2)}, ValueError, "'values' must have 3 values, not 2"),
    ("gem", {"window": 0}, ValueError, "'window' must be at least 1"),
    ("gem", {"removed": 4}, ValueError, "'removed' must lie between 1 and 3"),
    ("noppa", {"pair_columns": [0, 9]}, ValueError, "'pair_columns' has an item that must lie"),
    ("noppa", {"pair_columns": [2, 2]}, ValueError, "'pair_columns' must be a first column"),
    ("noppa", {"parts": [0, 7]}, ValueError, "'parts' has a part that does not exist"),
    ("noppa", {"parts": [-1]}, ValueError, "'parts' has an item that must lie between 0"),
    ("noppa", {"kernel": 3}, ValueError, "'kernel' must lie between 0 and 2"),
    ("noppa", {"positions": np.ones((1, 3), np.float32)}, ValueError, "'positions' must have 32 columns, not 3"),
]  # fmt: skip


def arguments(name: str) -> dict[str, Any]:
    if name == "noppa":
        method: noppa.Method = noppa.NoPPA(k=0, a=None, position=None)
    else:
        method = next(one for key, one in METHODS.items() if key.startswith(name) or name == "mean")
    kernel = method.native(stored("float32", 8), learnt(8))
    assert kernel is not None
    assert kernel.name == name
    return kernel.arguments


@pytest.mark.parametrize(("name", "change", "error", "message"), WRONG, ids=str)
def test_wrong_arguments_are_named(
    name: str, change: dict[Any, Any], error: type[Exception], message: str
) -> None:
    changed = {key: value for key, value in (arguments(name) | change).items() if value is not ...}
    with pytest.raises(error, match=message):
        _native.Pooling(name, stored("float32", 8).table, changed)


def test_a_method_without_a_file_is_refused() -> None:
    with pytest.raises(ValueError, match="no native method is called 'median'"):
        _native.Pooling("median", stored("float32", 8).table, {})


def test_a_text_longer_than_the_positions_is_refused() -> None:
    places = np.zeros((3, 32), np.float32)
    kernel = noppa_kernel(stored("float32", 8).matrix, positions=places)
    kernel(*one_text(3))
    with pytest.raises(ValueError, match="sentences of up to 3 tokens, and one has 4"):
        kernel(*one_text(4))


def test_arrays_are_held_and_indices_copied() -> None:
    """Neither freeing nor changing an array after the kernel was made lets it read outside its memory."""
    given = arguments("vlawe")
    pool = _native.Pooling("vlawe", stored("float32", 8).table, given)
    expected = pool(*batch(SIZES), NO_STEPS, 1)[0].tobytes()
    given["labels"][:] = 2**30
    del given
    waste = [np.full((SLOTS, 8), np.nan, np.float32) for _ in range(200)]
    assert pool(*batch(SIZES), NO_STEPS, 1)[0].tobytes() == expected
    assert len(waste) == 200


def test_an_array_in_another_order_is_copied() -> None:
    given = arguments("gem")
    turned = {**given, "directions": np.asfortranarray(given["directions"])}
    rows = [
        _native.Pooling("gem", stored("float32", 8).table, each)(*batch(SIZES), NO_STEPS, 1)[0]
        for each in (given, turned)
    ]
    assert rows[0].tobytes() == rows[1].tobytes()

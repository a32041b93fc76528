"""Compare native kernels with the NumPy forms of their methods, at odd sizes, for every instruction set."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
import pytest

import noppa
from noppa import _native
from noppa.methods.method import NumpyPooler
from noppa.methods.noppa import positions
from tests import oracle

SIZES = (0, 1, 2, 7, 63, 64, 65, 97, 200)
DIMS = (1, 3, 8, 50, 100, 300)
WORDS = 40
STORAGES = ("float32", "float16", "int8", "4 and 8 bits")
NO_STEPS = _native.Steps([])
NOTHING_LEARNT: dict[str, Any] = {}


def stored(kind: str, dim: int, words: int = WORDS) -> noppa.WordVectors:
    """Return words in one of `STORAGES`, with probabilities."""
    rng = np.random.default_rng(dim)
    rows, scales = rng.normal(size=(words, dim)).astype(np.float32), None
    if kind == "int8":
        scales = np.abs(rows).max(axis=1) / 127
        rows = np.round(rows / scales[:, None])
    names = [f"w{row}" for row in range(words)]
    probabilities = rng.dirichlet(np.ones(words))
    if kind == "4 and 8 bits":
        real = noppa.WordVectors(names, rows, probabilities)
        return real.quantized(
            [4, 8] if dim > 2 else 4, [dim - dim // 3, dim // 3] if dim > 2 else dim
        )
    return noppa.WordVectors(names, rows.astype(kind), probabilities, scales=scales)


def batch(sizes: tuple[int, ...], words: int = WORDS) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    ids = rng.integers(0, words + 1, sum(sizes)).astype(np.int32)  # `words` is the zero word
    ids[rng.random(len(ids)) < 0.2] = -1
    offsets = np.cumsum([0, *sizes], dtype=np.int64)
    ends = offsets[1:][np.diff(offsets) > 0]
    ids[ends[::2] - 1] = -1  # unknown words at the end, too
    return ids, offsets


def native_rows(
    method: noppa.Method, words: noppa.WordVectors, learnt: Any = NOTHING_LEARNT, threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (len(SIZES), width) and known tokens, computed by the kernel."""
    return method.pooler(words, learnt)(*batch(SIZES), NO_STEPS, threads)


def numpy_rows(
    method: noppa.Method, words: noppa.WordVectors, learnt: Any = NOTHING_LEARNT
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same in float64, computed by the NumPy form."""
    return NumpyPooler(method, words, learnt).rows(*batch(SIZES))


def assert_close(
    method: noppa.Method,
    words: noppa.WordVectors,
    learnt: Any = NOTHING_LEARNT,
    tolerance: float = 1e-5,
) -> None:
    rows, known = native_rows(method, words, learnt, threads=2)
    expected, expected_known = numpy_rows(method, words, learnt)
    assert rows.dtype == np.float32
    assert (known == expected_known).all()
    assert not rows[known == 0].any()
    norms = np.linalg.norm(expected, axis=1)
    assert (np.linalg.norm(rows - expected, axis=1) <= tolerance * norms).all()


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("kind", STORAGES)
def test_noppa_at_odd_sizes(instruction_set: str, kind: str, dim: int) -> None:
    assert_close(noppa.NoPPA(k=0), stored(kind, dim))


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "abs"},
        {"kernel": "square"},
        {"attend_self": False},
        {"unknown_takes_position": True},
        {"parts": ("word",)},
        {"parts": ("context",)},
        {"a": None},
        {"position": "reference"},
        {"position": None},
    ],
    ids=str,
)
def test_every_setting(instruction_set: str, options: dict[str, Any]) -> None:
    assert_close(noppa.NoPPA(**{"k": 0, **options}), stored("float32", 50))


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("kind", STORAGES)
def test_pairs_in_some_columns(instruction_set: str, kind: str, dim: int) -> None:
    """The first column, the last, and an odd number from an odd one on."""
    parts = ("product", "word", "ordered", "context")
    for columns in {(0, 1), (dim - 1, dim), (dim // 3, dim - dim // 4), (0, dim)}:
        assert_close(noppa.NoPPA(k=0, parts=parts, pair_columns=columns), stored(kind, dim))


def before_a_guard(array: np.ndarray) -> np.ndarray:
    """Return a copy before an unreadable page: reading one byte too far ends the process."""
    page = mmap.PAGESIZE
    pages = -(-array.nbytes // page)
    memory = mmap.mmap(-1, (pages + 1) * page)
    whole = np.frombuffer(memory, np.uint8)
    guard = ctypes.c_void_p(whole.ctypes.data + pages * page)
    assert ctypes.CDLL(None).mprotect(guard, page, 0) == 0
    copy = whole[pages * page - array.nbytes : pages * page].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


@pytest.mark.parametrize("kind", STORAGES)
def test_nothing_is_read_past_the_table(instruction_set: str, kind: str) -> None:
    """Reads never go beyond the last row, its scales and its position."""
    for dim in (1, 5, 16, 31, 33, 64, 100):
        rows = stored(kind, dim).rows
        scales = None if rows.scales is None else before_a_guard(rows.scales)
        table = _native.Table(before_a_guard(rows.values), scales, rows.blocks, rows.bits)
        ids = np.arange(WORDS, dtype=np.int32)
        places = np.zeros((WORDS, 32), np.float32)
        changes = {"positions": before_a_guard(places), "pair_columns": [dim - 1, dim]}
        found = noppa_kernel(table, **changes)(ids, np.array([0, WORDS]), NO_STEPS, 1)[0]
        assert np.allclose(found[0, 1:], rows.vectors(ids).mean(axis=0), atol=1e-5)


def noppa_kernel(rows: np.ndarray | _native.Table, **changes: Any) -> _native.Pooling:
    """Return a kernel of NoPPA without weights and positions, except for the changes."""
    arguments = {
        "weights": None,
        "positions": None,
        "kernel": 0,
        "attend_self": True,
        "dropped_take_position": False,
        "parts": [0, 1],
        "pair_columns": None,
    }
    table = rows if isinstance(rows, _native.Table) else _native.Table(rows, None)
    return _native.Pooling("noppa", table, arguments | changes)


def one_text(tokens: int) -> tuple[Any, ...]:
    """Return a batch of one text, whose words are rows 0, 1, …"""
    return np.arange(tokens, dtype=np.int32), np.array([0, tokens], np.int64), NO_STEPS, 1


def test_subnormal_and_large_halves() -> None:
    """Every finite half is read exactly."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)][:, None]
    ids = np.arange(len(halves), dtype=np.int32)
    offsets = np.arange(len(ids) + 1, dtype=np.int64)
    rows, _ = noppa_kernel(halves, parts=[1])(ids, offsets, NO_STEPS, 1)
    assert (rows == halves.astype(np.float32)).all()


@pytest.mark.parametrize("log_size", [-20, -6, -3, -1, 0, 1, 3, 6, 9])
def test_log_kernel_over_its_whole_range(instruction_set: str, log_size: int) -> None:
    """Two words a distance apart, equal attention: half of log2(1 + d^2), to 2e-6 of log2 in float32's 1 + d^2."""
    differences = (10.0**log_size * np.linspace(0.1, 1, 400)).astype(np.float32)
    matrix = np.stack([np.zeros_like(differences), differences])
    rows, _ = noppa_kernel(matrix, attend_self=False, parts=[0])(*one_text(2))
    squares = differences.astype(float) ** 2
    error = np.abs(rows[0] - np.log2(1 + squares))
    rounding = 2.0**-24 * 1.45  # of 1 + d^2 to float32
    assert (error <= 2e-6 * np.log2(1 + squares) + rounding).all()


def test_log_kernel_of_close_words_is_exact_for_the_smallest_differences(
    instruction_set: str,
) -> None:
    """Of d² = 1e-8, 1 + d² in float32 keeps no digit; the form for close words works on d² itself."""
    differences = np.geomspace(1e-8, 0.99, 400).astype(np.float32)
    matrix = np.stack([np.zeros_like(differences), differences])
    rows, _ = noppa_kernel(matrix, attend_self=False, parts=[0, 2])(*one_text(2))
    expected = np.log1p(differences.astype(float) ** 2) / np.log(2)
    assert np.allclose(rows[0, :400], expected, rtol=2e-6, atol=0)
    assert np.allclose(rows[0, 400:], expected, rtol=2e-6, atol=0)


def test_equal_words_without_positions_add_exactly_nothing() -> None:
    kernel = noppa_kernel(np.full((6, 5), 0.3, np.float32), parts=[0])
    assert (kernel(*one_text(6))[0] == 0).all()


def test_huge_scores_do_not_overflow(instruction_set: str) -> None:
    """Softmax subtracts its maximum: scores of a billion stay finite."""
    matrix = (np.random.default_rng(0).normal(size=(40, 9)) * 1e5).astype(np.float32)
    assert np.isfinite(noppa_kernel(matrix)(*one_text(40))[0]).all()


def steps_of(kind: str, dim: int, real: str) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(4)

    def made(*shape: int) -> np.ndarray:
        return (rng.normal(size=shape) / np.sqrt(dim)).astype(np.float32).astype(real)

    remove = ("remove", made(5, dim), made(5, dim), made(5))
    rotate = ("map", made(dim, dim + 3), made(dim + 3))
    return {
        "remove": [remove],
        "map": [rotate],
        "normalise": [("normalise", dim)],
        "all": [remove, rotate, ("normalise", dim + 3)],
    }[kind]


@pytest.mark.parametrize("dim", [1, 7, 16, 100, 601])
@pytest.mark.parametrize("kind", ["remove", "map", "normalise", "all"])
def test_steps(instruction_set: str, kind: str, dim: int) -> None:
    rows = np.random.default_rng(3).normal(size=(70, dim)).astype(np.float32)
    known = np.ones(70, np.int32)
    known[3] = 0
    native = _native.apply_steps(rows, known, _native.Steps(steps_of(kind, dim, "float32")), 2)
    plain = oracle.apply_steps(rows, known, oracle.Steps(steps_of(kind, dim, "float64")), 1)
    assert (native[3] == 0).all()
    assert np.abs(native - plain).max() <= 1e-5 * np.abs(plain).max()


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("split", [1, 7, 1024])
def test_bytes_do_not_depend_on_the_batch(instruction_set: str, split: int, threads: int) -> None:
    dim, sizes = 37, tuple(np.random.default_rng(5).integers(0, 90, 300).tolist())
    ids, offsets = batch(sizes)
    places = np.zeros((90, 64), np.float32)
    places[:, :dim] = positions(90, dim, "paper")
    # Columns whose words are far from each other, and close: every form of the log kernel runs.
    matrix = stored("float32", dim).matrix * np.linspace(1, 0.01, dim, dtype=np.float32)
    kernel = noppa_kernel(matrix, positions=places)
    rng = np.random.default_rng(6)
    directions = rng.normal(size=(6, 2 * dim)).astype(np.float32)
    matrix = rng.normal(size=(2 * dim, 20)).astype(np.float32)
    steps = _native.Steps(
        [
            ("remove", directions, directions, np.zeros(6, np.float32)),
            ("map", matrix, np.ones(20, np.float32)),
            ("normalise", 20),
        ]
    )

    def run(first: int, last: int, threads: int) -> np.ndarray:
        inner = offsets[first : last + 1]
        part = np.ascontiguousarray(ids[inner[0] : inner[-1]])
        return np.asarray(kernel(part, inner - inner[0], steps, threads)[0])

    whole = run(0, len(sizes), 1)
    pieces = [run(at, min(at + split, len(sizes)), threads) for at in range(0, len(sizes), split)]
    assert np.concatenate(pieces).tobytes() == whole.tobytes()

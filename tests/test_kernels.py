"""The native kernels against their float64 twin, at odd sizes, for every instruction set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from noppa.kernels import _native, reference

SIZES = (0, 1, 2, 7, 63, 64, 65, 97, 200)
DIMS = (1, 3, 8, 50, 100, 300)


def stored(kind: str, words: int, dim: int) -> tuple[np.ndarray, np.ndarray | None]:
    rows = np.random.default_rng(dim).normal(size=(words, dim)).astype(np.float32)
    if kind == "int8":
        scales = np.abs(rows).max(axis=1) / 127
        return np.round(rows / scales[:, None]).astype(np.int8), scales.astype(np.float32)
    return rows.astype(kind), None


def batch(
    words: int, sizes: tuple[int, ...], dropped: float = 0.2
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    ids = rng.integers(0, words + 1, sum(sizes)).astype(np.int32)  # `words` is the zero word
    ids[rng.random(len(ids)) < dropped] = -1
    offsets = np.cumsum([0, *sizes], dtype=np.int64)
    ends = offsets[1:][np.diff(offsets) > 0]
    ids[ends[::2] - 1] = -1  # unknown words at the end, too
    return ids, offsets


def pooled(module: Any, kind: str, dim: int, sizes: tuple[int, ...], **options: Any) -> Any:
    words = 40
    settings = {
        "kernel": 0,
        "attend_self": True,
        "dropped_take_position": False,
        "parts": [0, 1],
        "steps": [],
        "threads": 1,
        "weighted": True,
        "position": "paper",
    } | options
    weighted, position = settings.pop("weighted"), settings.pop("position")
    weights = np.random.default_rng(2).uniform(0.1, 2, words + 1).astype(np.float32)
    places = None
    if position:
        places = np.pad(
            reference.positions(max(sizes), dim, position),
            ((0, 0), (0, -dim % module.POSITION_UNIT)),
        ).astype(module.REAL)
    steps = module.Steps(settings.pop("steps"))
    ids, offsets = batch(words, sizes)
    return module.pool_noppa(
        module.Table(*stored(kind, words, dim)),
        weights.astype(module.REAL) if weighted else None,
        places,
        ids=ids,
        offsets=offsets,
        steps=steps,
        **settings,
    )


def assert_close(kind: str, dim: int, sizes: tuple[int, ...], **options: Any) -> None:
    rows, known = pooled(_native, kind, dim, sizes, **options)
    wanted, wanted_known = pooled(reference, kind, dim, sizes, **options)
    assert rows.dtype == np.float32
    assert (known == wanted_known).all()
    norms = np.linalg.norm(wanted, axis=1)
    assert (np.linalg.norm(rows - wanted, axis=1) <= 1e-5 * norms).all()


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("kind", ["float32", "float16", "int8"])
def test_pooling_at_odd_sizes(instruction_set: str, kind: str, dim: int) -> None:
    assert_close(kind, dim, SIZES)


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": 1},
        {"kernel": 2},
        {"attend_self": False},
        {"dropped_take_position": True},
        {"parts": [1]},
        {"parts": [0]},
        {"weighted": False},
        {"position": "reference"},
        {"position": None},
    ],
    ids=str,
)
def test_every_setting(instruction_set: str, options: dict[str, Any]) -> None:
    assert_close("float32", 50, SIZES, **options)


def test_subnormal_and_large_halves() -> None:
    """Every finite half is read exactly."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)][:, None]
    ids = np.arange(len(halves), dtype=np.int32)
    rows, _ = _native.pool_noppa(
        _native.Table(halves, None),
        *(None, None, 0, True, False, [1]),
        ids,
        np.arange(len(ids) + 1, dtype=np.int64),
        _native.Steps([]),
        1,
    )
    assert (rows == halves.astype(np.float32)).all()


@pytest.mark.parametrize("log_size", [-20, -6, -3, -1, 0, 1, 3, 6, 9])
def test_log_kernel_over_its_whole_range(instruction_set: str, log_size: int) -> None:
    """Two words a distance apart, equal attention: half of log2(1 + d^2), to 2e-6 of log2 in float32's 1 + d^2."""
    differences = (10.0**log_size * np.linspace(0.1, 1, 400)).astype(np.float32)
    matrix = np.stack([np.zeros_like(differences), differences])
    rows, _ = _native.pool_noppa(
        _native.Table(matrix, None),
        *(None, None, 0, False, False, [0]),
        np.array([0, 1], np.int32),
        np.array([0, 2], np.int64),
        _native.Steps([]),
        1,
    )
    squares = differences.astype(float) ** 2
    error = np.abs(rows[0] - np.log2(1 + squares))
    rounding = 2.0**-24 * 1.45  # of 1 + d^2 to float32
    assert (error <= 2e-6 * np.log2(1 + squares) + rounding).all()


def test_equal_words_without_positions_add_exactly_nothing() -> None:
    rows, _ = _native.pool_noppa(
        _native.Table(np.full((1, 5), 0.3, np.float32), None),
        *(None, None, 0, True, False, [0]),
        np.zeros(6, np.int32),
        np.array([0, 6], np.int64),
        _native.Steps([]),
        1,
    )
    assert (rows == 0).all()


def test_huge_scores_do_not_overflow(instruction_set: str) -> None:
    """Softmax subtracts its maximum: scores of a billion stay finite."""
    matrix = (np.random.default_rng(0).normal(size=(40, 9)) * 1e5).astype(np.float32)
    ids, offsets = np.arange(40, dtype=np.int32), np.array([0, 40], np.int64)
    for module in (_native, reference):
        rows, _ = module.pool_noppa(
            module.Table(matrix, None),
            *(None, None, 0, True, False, [0, 1]),
            ids,
            offsets,
            module.Steps([]),
            1,
        )
        assert np.isfinite(rows).all()


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
    twin = reference.apply_steps(rows, known, reference.Steps(steps_of(kind, dim, "float64")), 1)
    assert (native[3] == 0).all()
    assert np.abs(native - twin).max() <= 1e-5 * np.abs(twin).max()


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("split", [1, 7, 1024])
def test_bytes_do_not_depend_on_company(instruction_set: str, split: int, threads: int) -> None:
    words, dim = 40, 37
    sizes = tuple(np.random.default_rng(5).integers(0, 90, 300).tolist())
    ids, offsets = batch(words, sizes)
    table = _native.Table(*stored("float32", words, dim))
    places = np.zeros((90, 64), np.float32)
    places[:, :dim] = reference.positions(90, dim, "paper")
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
        settings = (None, places, 0, True, False, [0, 1])
        return np.asarray(
            _native.pool_noppa(table, *settings, part, inner - inner[0], steps, threads)[0]
        )

    whole = run(0, len(sizes), 1)
    pieces = [run(at, min(at + split, len(sizes)), threads) for at in range(0, len(sizes), split)]
    assert np.concatenate(pieces).tobytes() == whole.tobytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ids": np.array([99], np.int32)}, "an id is no word"),
        ({"ids": np.array([-2], np.int32)}, "an id is no word"),
        ({"offsets": np.array([0, 5], np.int64)}, "offsets do not fit"),
        ({"weights": np.ones(3, np.float32)}, "one weight a word"),
        ({"positions": np.ones((1, 3), np.float32)}, "positions of the wrong width"),
        ({"positions": np.ones((0, 32), np.float32)}, "too few positions"),
    ],
)
def test_the_native_module_checks_its_arguments(change: dict[str, Any], message: str) -> None:
    arguments = {
        "table": _native.Table(np.ones((4, 3), np.float32), None),
        "weights": None,
        "positions": None,
        "kernel": 0,
        "attend_self": True,
        "dropped_take_position": False,
        "parts": [0, 1],
        "ids": np.array([0], np.int32),
        "offsets": np.array([0, 1], np.int64),
        "steps": _native.Steps([]),
        "threads": 1,
    }
    with pytest.raises(ValueError, match=message):
        _native.pool_noppa(**(arguments | change))


def test_this_run_has_the_native_module() -> None:
    """CI fails where the native build is missing."""
    assert _native.instruction_set() in _native.instruction_sets()
    assert _native.instruction_sets()[0] == "base"

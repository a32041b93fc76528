"""Call the native module directly with bad arguments: it raises, and never crashes, hangs or reads outside its arrays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noppa
from noppa import _native
from noppa.words import storage as word_folder

WORDS = ["the", "girl", "eats", "a", "cake"]


def ran(code: str) -> str:
    """Run a program that may crash in a process of its own, and return its output."""
    done = subprocess.run(
        [sys.executable, "-c", f"import numpy as np\nfrom noppa import _native\n{code}"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def lexicon(words: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    bounds = np.cumsum([0, *map(len, words)], dtype=np.int64)
    return np.frombuffer(b"".join(words), np.uint8), bounds


def vocabulary(**changes: Any) -> _native.Vocabulary:
    text, bounds = lexicon([word.encode() for word in WORDS])
    arrays = {"text": text, "bounds": bounds, "slots": _native.build_slots(text, bounds)[0]}
    return _native.Vocabulary(**{**arrays, "letter_case": 0, "unknown": -1, **changes})


def colliding(count: int) -> list[bytes]:
    """Return words of 8 ASCII bytes whose unseeded hashes share 20 bits, by inverting the hash."""

    def unmixed(h: np.ndarray) -> np.ndarray:
        h = (h ^ (h >> np.uint64(32))) * np.uint64(pow(0xD6E8FEB86659FD93, -1, 1 << 64))
        return h ^ (h >> np.uint64(32))

    prime = 0x9E3779B97F4A7C15
    back = np.uint64(pow(prime, -1, 1 << 64))
    hashes = (np.arange(1, 600 * count, dtype=np.uint64) << np.uint64(20)) | np.uint64(5)
    words = (unmixed(unmixed(hashes) * back) * back) ^ np.uint64(8 * prime % (1 << 64))
    ascii_ = words[(words & np.uint64(0x8080808080808080)) == 0][:count]
    assert len(ascii_) == count
    return [word.tobytes() for word in ascii_]


def longest_run(slots: np.ndarray) -> int:
    filled = np.concatenate([slots, slots]) != 0
    ends = np.flatnonzero(~filled)
    return int(np.diff(ends).max()) - 1


def test_words_that_collide_get_a_seeded_table() -> None:
    words = colliding(5_000)
    text, bounds = lexicon(words)
    slots, repeated = _native.build_slots(text, bounds)
    assert len(slots) == 16384 + 1
    assert not len(repeated)
    assert longest_run(slots[:-1]) < 512
    assert (_native.build_slots(text, bounds)[0] == slots).all()  # the seed comes from the words
    _native.check_slots(slots, len(words))
    found = _native.Vocabulary(text, bounds, slots, 1, -1)
    assert [found.find(word.decode()) for word in words] == list(range(len(words)))
    assert found.find("cake") == -1


def test_a_seeded_table_is_saved_and_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_folder, "SMALL", 100)  # larger ones store their slots
    names = [word.decode() for word in colliding(2_000)]
    words = noppa.WordVectors(names, np.ones((2_000, 2), np.float32))
    words.save(tmp_path / "words")
    loaded = noppa.WordVectors.load(tmp_path / "words")
    assert len(loaded.lexicon.slots) == 4096 + 1
    assert [loaded.lexicon.row(name) for name in names[::100]] == list(range(0, 2_000, 100))


BOUNDS = {
    "fall": [0, 3, 2, 11, 12, 16],
    "negative": [-1, 3, 7, 11, 12, 16],
    "beyond the text": [0, 3, 7, 11, 12, 17],
    "far beyond": [0, 3, 7, 11, 12, 2**62],
    "none": [],
}


@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)
def test_damaged_bounds_are_refused(bounds: list[int]) -> None:
    damaged = np.array(bounds, np.int64)
    with pytest.raises(ValueError, match="damaged bounds"):
        vocabulary(bounds=damaged)
    with pytest.raises(ValueError, match="damaged bounds"):
        _native.build_slots(lexicon([b"the", b"girl", b"eats", b"a", b"cake"])[0], damaged)


SLOTS = {
    "full": np.full(16, 1, np.uint64),
    "row zero": np.array([1 << 40] + [0] * 15, np.uint64),
    "wild row": np.array([6] + [0] * 15, np.uint64),
    "wildest row": np.array([2**64 - 1] + [0] * 15, np.uint64),
    "odd size": np.zeros(18, np.uint64),
    "few": np.zeros(4, np.uint64),
    "none": np.zeros(0, np.uint64),
    "long run": np.array([1] * 600 + [0] * 424, np.uint64),
    "long run round the end": np.array([1] * 300 + [0] * 424 + [1] * 300, np.uint64),
}


@pytest.mark.parametrize("slots", SLOTS.values(), ids=SLOTS)
def test_damaged_slots_are_refused(slots: np.ndarray) -> None:
    with pytest.raises(ValueError, match="damaged slots"):
        _native.check_slots(slots, len(WORDS))
    with pytest.raises(ValueError, match="damaged slots"):
        vocabulary(slots=slots)
    with pytest.raises(ValueError, match="damaged slots"):
        vocabulary(pieces=5, slots=np.zeros(16, np.uint64), piece_slots=slots)


@pytest.mark.parametrize(
    "changes", [{"pieces": 6}, {"pieces": -1}, {"pieces": 2}, {"letter_case": 3}, {"unknown": -2}]
)
def test_vocabularies_that_make_no_sense_are_refused(changes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"pieces|letter case|unknown"):
        vocabulary(**changes)


HUGE = 2**62
POOLED = """
table = _native.Table(np.ones((4, 3), np.float32), None)
ids, offsets = np.array([0, 1, 2], np.int32), np.array([0, 3], np.int64)
batch = ids, offsets, _native.Steps([]), 1
def pool(name, batch=batch, table=table, **arguments):
    return _native.Pooling(name, table, arguments)(*batch)
mean = dict(weights=None, divisor=0, scaled=False)
none = np.empty(0, np.float32)
"""


HOSTILE = [
    f"pool('dct', k={HUGE})",
    f"pool('dct', k={2**31})",
    f"pool('dct', (np.empty(0, np.int32), np.zeros(1, np.int64), *batch[2:]), k={2**40})",
    f"_native.Table(np.empty((0, {HUGE}), np.int8), none)",
    f"_native.Table(np.ones((4, 3), np.int8), np.ones(8, np.float32), [{HUGE}, {HUGE}, {HUGE}, {HUGE}, 3])",
    "_native.Table(np.ones((4, 3), np.int8), np.ones(8, np.float32), [3, -1, 1])",
    f"_native.Table(np.ones((4, 3), np.uint8), np.ones(8, np.float16), [{HUGE}, {HUGE}], [4, 4])",
    "_native.Table(np.ones((4, 3), np.uint8), np.ones(8, np.float16), [4, 3], [4, 4])",
    "_native.Table(np.ones((4, 3), np.uint8), np.ones(8, np.float16), [2, 2], [4, 5])",
    "_native.Table(np.ones((4, 3), np.uint8), np.ones(8, np.float16), [2, 2], [8])",
    "_native.Table(np.ones((4, 3), np.uint8), np.ones(8, np.float16), [3])",
    "_native.Table(np.ones((4, 3), np.uint8), np.ones(4, np.float16), [4, 2], [4, 4])",
    "_native.Table(np.ones((4, 3), np.uint8), np.ones(8, np.float64), [4, 2], [4, 4])",
    "_native.Table(np.ones((4, 3), np.uint8), None, [4, 2], [4, 4])",
    "_native.Table(np.ones((4, 3), np.int8), np.ones(4, np.float16))",
    f"_native.Steps([('normalise', {HUGE})])",
    "_native.Steps([('normalise', -3)])",
    f"_native.Steps([('map', np.empty(({2**40}, 0), np.float32), none)])",
    "_native.Steps([('unknown', np.ones((3, 3), np.float32), np.ones(3, np.float32), 1)])",
    "_native.Steps([('map', np.ones((3, 3), np.float32))])",
    "_native.Steps([()])",
    "pool('gem', directions=np.ones((2, 3)), values=np.ones(2), window=0, removed=1)",
    "pool('gem', directions=np.ones((2, 3)), values=np.ones(2), window=1, removed=3)",
    "pool('mean', (ids, np.array([0, 4], np.int64), *batch[2:]), **mean)",
    "pool('mean', (ids, np.array([0, 3, 1, 3], np.int64), *batch[2:]), **mean)",
    "pool('mean', (ids + 9, *batch[1:]), **mean)",
    "pool('mean', **{**mean, 'weights': np.ones(4, np.float32)})",
    "pool('vlawe', labels=np.full(5, 2, np.int32), centroids=np.ones((2, 3), np.float32), power=0.5)",
    "pool('s3e', table=_native.Table(np.ones((4, 0), np.float32), None), weights=None, labels=np.zeros(5, np.int32), "
    f"centroids=np.empty(({2**40}, 0), np.float32), average=False, published=False)",
    "_native.train(np.ones((4, 3)), np.ones((4, 3), np.float32), np.ones(4, np.float32), ids, 1, 0.1, 1, "
    "False, False, ids, offsets)",
    f"_native.train(*[np.ones((4, 3), np.float32) for _ in 'st'], np.ones(4, np.float32), ids, {HUGE}, 0.1, "
    "1, False, False, ids, offsets)",
    "_native.train(*[np.ones((4, 3), np.float32) for _ in 'st'], np.ones(4, np.float32), ids, 1, np.nan, "
    "1, False, False, ids, offsets)",
]  # fmt: skip


def refused(calls: list[str]) -> list[str]:
    """Return the error of each call; all run in one process, which an unchecked call would crash."""
    return ran(
        f"""{POOLED}
for call in {calls!r}:
    try:
        eval(call)
        print("nothing refused", call)
    except (ValueError, MemoryError, TypeError) as error:
        print(type(error).__name__, error, flush=True)
"""
    ).splitlines()


def test_sizes_that_do_not_fit_are_refused() -> None:
    errors = refused(HOSTILE)
    assert not [error for error in errors if "nothing refused" in error]
    assert len([error for error in errors if "Error " in error]) == len(HOSTILE)


def test_too_little_memory_is_one_sentence() -> None:
    many = "ids, np.array([0] + [3] * 100_000), *batch[2:]"
    (error,) = refused([f"pool('dct', ({many}), k=2**29)"])
    assert error.startswith("MemoryError too little memory for this call")


def test_steps_hold_the_arrays_that_were_converted() -> None:
    printed = ran(
        """
rng = np.random.default_rng(1)
rows = rng.normal(size=(5, 64)).astype(np.float32)
matrix, bias = rng.normal(size=(64, 64)), rng.normal(size=64)
single = [each.astype(np.float32) for each in (matrix, bias)]
for kind in ("map", "remove"):
    given = (kind, matrix, bias) if kind == "map" else (kind, matrix, matrix, bias)
    held = (kind, *single) if kind == "map" else (kind, single[0], single[0], single[1])
    steps = _native.Steps([given])
    waste = [rng.normal(size=(64, 64)).astype(np.float32) for _ in range(200)]
    print((_native.apply_steps(rows, None, steps, 1) == _native.apply_steps(rows, None, _native.Steps([held]), 1)).all())
"""
    )
    assert printed.split() == ["True", "True"]


def test_a_dimension_beyond_the_block_writes_nothing() -> None:
    printed = ran(
        """
block = b"cake 1 2 3 4 5\\nweh 1 2\\n 1 2\\n" * 100
for parse in (_native.parse_vectors, _native.parse_records):
    for dim in (5, 6, 1_000, 2**31 - 1, 2**31, 2**61, 2**62, 2**63 - 1):
        try:
            *_, matrix, bad, _, _, _ = parse(block, dim, 2)
            print(len(matrix), len(bad))
        except ValueError as error:
            print("refused")
"""
    ).splitlines()
    assert printed[:8] == ["100 200"] + ["0 300"] * 3 + ["refused"] * 4
    assert printed[8:] == ["0 2"] * 2 + ["0 0"] * 2 + ["refused"] * 4


def test_texts_that_change_their_list_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Normalization runs Python code, and so possibly other threads."""
    texts = ["\u0905\u0902 cake"] * 1_000
    monkeypatch.setattr("unicodedata.normalize", lambda form, text: texts.clear() or text)
    ids, offsets = vocabulary().look_up(texts, 1)
    assert len(offsets) == 1_001
    assert (ids == WORDS.index("cake")).sum() == 1_000


@pytest.mark.skipif(
    sys.platform != "linux", reason="reads /proc; only Linux has huge pages for the asking"
)
def test_the_memory_of_large_results_is_never_shared_and_goes_back_when_freed() -> None:
    """malloc alone would keep 32 MB or more."""
    told = ran(
        """
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * mmap.PAGESIZE / 2**20
import mmap
steps = _native.Steps([("normalise", 1024)])
inputs = np.ones((4096, 1024), np.float32), -np.ones((4096, 1024), np.float32)
for turn in range(3):
    before = resident()
    first, second = (_native.apply_steps(rows, None, steps, 2) for rows in inputs)
    assert (first[::97, ::31] == 1 / 32).all() and (second[::97, ::31] == -1 / 32).all()
    both = resident()
    del first, second
    print(both - before, resident() - before)
"""
    )
    for line in told.splitlines():
        both, after = map(float, line.split())
        assert both > 30
        assert after < 2

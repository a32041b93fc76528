"""The native module called directly, with anything: it refuses, and neither crashes, hangs nor reads outside its arrays."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from noppa import _native

WORDS = ["the", "girl", "eats", "a", "cake"]


def ran(code: str) -> str:
    """What a program prints that may crash: it runs in a process of its own."""
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
    """Words of 8 ASCII bytes whose unseeded hash ends in the same 20 bits, by running the hash backwards."""

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


@pytest.mark.found("outside review", "Words chosen to collide made look-up quadratic in their number.")
def test_words_that_collide_get_a_seeded_table() -> None:
    words = colliding(5_000)
    text, bounds = lexicon(words)
    slots, repeated = _native.build_slots(text, bounds)
    assert len(slots) == 16384 + 1
    assert not len(repeated)
    assert longest_run(slots[:-1]) < 512
    assert (_native.build_slots(text, bounds)[0] == slots).all()  # the seed comes from the words
    found = _native.Vocabulary(text, bounds, slots, 1, -1)
    assert [found.find(word.decode()) for word in words] == list(range(len(words)))
    assert found.find("cake") == -1


def test_other_words_have_no_seed() -> None:
    text, bounds = lexicon([str(number).encode() for number in range(5_000)])
    slots, _ = _native.build_slots(text, bounds)
    assert len(slots) == 16384


BOUNDS = {
    "fall": [0, 3, 2, 11, 12, 16],
    "negative": [-1, 3, 7, 11, 12, 16],
    "beyond the text": [0, 3, 7, 11, 12, 17],
    "far beyond": [0, 3, 7, 11, 12, 2**62],
    "none": [],
}


@pytest.mark.found("outside review", "Bounds that fall or pass the end of the text crashed the process.")
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


@pytest.mark.found("outside review", "A stored table without an empty entry was searched for ever.")
@pytest.mark.parametrize("slots", SLOTS.values(), ids=SLOTS)
def test_damaged_slots_are_refused(slots: np.ndarray) -> None:
    with pytest.raises(ValueError, match="damaged slots"):
        vocabulary(slots=slots)
    with pytest.raises(ValueError, match="damaged slots"):
        vocabulary(pieces=5, slots=np.zeros(16, np.uint64), piece_slots=slots)


@pytest.mark.parametrize(
    "changes", [{"pieces": 6}, {"pieces": -1}, {"pieces": 2}, {"letter_case": 3}, {"unknown": -2}]
)
def test_vocabularies_that_make_no_sense_are_refused(changes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="pieces|letter case|unknown"):
        vocabulary(**changes)

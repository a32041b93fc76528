"""Compare the native parser with the oracle: rows, bad lines and correct rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from noppa import _native as kernels
from tests import oracle


def compare(ours, theirs):
    for left, right in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(left, right)


NUMBERS = "0 -0 1 +2.5 .5 3. 1e-3 1E5 -7.25e+2 nan inf x 1e --1 1_0 0x1".split()
WORDS = ["the", "a b", "", " ", "é", "\u00a0", "12", "1.5", "a\tb"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(WORDS),
            st.sampled_from([" ", "\t", "  ", " \t"]),
            st.lists(st.sampled_from(NUMBERS), max_size=5),
            st.sampled_from(["", " ", "\r", " \r", "\n"]),
        ),
        max_size=30,
    ),
    st.integers(1, 4),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_lines(lines, dim, ends):
    block = "\n".join(word + gap + gap.join(numbers) + end for word, gap, numbers, end in lines)
    block = (block + "\n" * ends).encode()
    compare(kernels.parse_vectors(block, dim, 2), oracle.parse_vectors(block, dim, 1))


@given(st.binary(max_size=200), st.integers(1, 3))
@settings(max_examples=150, deadline=None)
def test_any_bytes(block, dim):
    compare(kernels.parse_vectors(block, dim, 1), oracle.parse_vectors(block, dim, 1))
    compare(kernels.parse_records(block, dim, 5), oracle.parse_records(block, dim, 5))


@given(st.from_regex(r"-?[0-9]{1,25}(\.[0-9]{0,30})?(e-?[0-9]{1,2})?", fullmatch=True))
@example("1.00000005960464477539062500000000000001")  # just above a midpoint of two floats
@example("1.000000059604644775390625")
@example("0.99999997019767761230468750000000000000001")
@example("16777217")
@example("16777217.0000000000000000000000000001")
@example("7.0064923216240853546186479164495e-46")
@example("7.0064923216240853546186479164496e-46")
@example("1.1754942807573643e-38")
@example("1e-60")
@settings(max_examples=500, deadline=None)
def test_rounding(number):
    block = f"w {number}\n".encode()
    ours, theirs = kernels.parse_vectors(block, 1, 1), oracle.parse_vectors(block, 1, 1)
    compare(ours, theirs)
    if len(ours[2]):
        value = ours[2][0, 0]
        around = [np.nextafter(value, np.float32(end)) for end in (-np.inf, np.inf)]
        exact = Fraction(number)
        error = abs(Fraction(float(value)) - exact)
        assert all(error <= abs(Fraction(float(other)) - exact) for other in around)


def test_every_float_reads_back():
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 1 << 32, 50000, np.uint32).view(np.float32)
    values = bits[np.abs(bits) <= 1e15].reshape(-1, 1)
    lines = kernels.format_rows(np.ascontiguousarray(values), " ", 2)
    block = b"".join(b"w " + line + b"\n" for line in lines)
    _, _, matrix, bad, *_ = kernels.parse_vectors(block, 1, 2)
    assert not len(bad)
    np.testing.assert_array_equal(matrix.view(np.uint32), values.view(np.uint32))
    some = values[:500]
    for ours, theirs in zip(lines, oracle.format_rows(some, " ", 1), strict=False):
        assert np.float32(ours) == np.float32(theirs)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_pieces_meet(threads):
    """Rows of a block that is parsed in pieces come in order."""
    rng = np.random.default_rng(5)
    lines, expected = [], []
    for at in range(40000):
        kind = rng.integers(0, 50)
        if kind == 0:
            lines.append(b"")
        elif kind == 1:
            lines.append(b"bad line %d" % at)
        else:
            lines.append(b"w%d %d 0.5 -1.25" % (at, at))
            expected.append(at)
    block = b"\n".join(lines)
    text, bounds, matrix, bad, _, _, feeds = kernels.parse_vectors(block, 3, threads)
    assert matrix[:, 0].tolist() == expected
    assert text.tobytes() == b"".join(b"w%d" % at for at in expected)
    assert len(bounds) == len(expected) + 1
    assert all(block[at:].startswith(b"bad line") for at in bad.tolist())
    assert feeds == len(lines) - 1


def test_blank_lines_take_no_memory():
    """Memory follows the bytes: a million blank lines of a wide table need none."""
    block = b"\n" * 1_000_000 + b"w" + b" 1" * 20000 + b"\nbad 1\n"
    _, _, matrix, bad, _, _, feeds = kernels.parse_vectors(block, 20000, 2)
    assert (matrix.shape, len(bad), feeds) == ((1, 20000), 1, 1_000_002)

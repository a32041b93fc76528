"""Vector files that are damaged, or made to do harm: one sentence each, in time and memory that fit the file."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from noppa import NoppaError, NoppaWarning, WordVectors
from noppa.io.compression import whole_lines
from noppa.words.formats import sniff
from noppa.words.formats import text_lines as text
from tests.oracle import vector_text as twin


def refused(path, match, **options):
    with pytest.raises(NoppaError, match=match) as error:
        WordVectors.load(path, **options)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


# Headers


@pytest.mark.found(
    "outside review", "A header with a dimension of 2**62 wrote beyond the parser's buffer."
)
@pytest.mark.parametrize("dim", [30, 2**20, 2**31, 2**62, 2**63, 2**70, 10**90])
@pytest.mark.parametrize("count", [1, 2**62])
def test_text_header_with_a_dimension_that_no_line_holds(tmp_path, dim, count):
    path = tmp_path / "v"
    path.write_text(f"{count} {dim}\ncake 1 2 3\nthe 1 2 3\n")
    refused(path, rf"promises .*{dim} dimensions in its header", header=True)


@pytest.mark.found(
    "outside review", "Binary counts and dimensions beyond 2**40 ended in raw errors."
)
@pytest.mark.parametrize(
    ("count", "dim"), [(2**41, 1), (2**63, 2), (2**70, 3), (1, 2**40), (1, 2**70), (1, 50)]
)
def test_binary_header_that_no_file_holds(tmp_path, count, dim):
    path = tmp_path / "v"
    path.write_bytes(b"%d %d\ncake " % (count, dim) + struct.pack("<3f", 1, 0, 3))
    refused(path, rf"promises .*{dim} dimensions in its header")


def test_binary_header_that_promises_more_than_there_is(tmp_path):
    path = tmp_path / "v"
    path.write_bytes(b"%d 2\ncake " % 2**40 + struct.pack("<2f", 1, 0))
    with pytest.warns(NoppaWarning, match="has 1 whole vectors where its header promises"):
        assert WordVectors.load(path).words == ["cake"]


def test_wide_tables_are_no_hostile_ones(tmp_path):
    """A first line longer than the sample that a file is recognised by."""
    path = tmp_path / "v"
    row = " ".join(["0.25"] * (sniff.SAMPLE // 4))
    path.write_text(f"1 {sniff.SAMPLE // 4}\ncake {row}\n")
    assert WordVectors.load(path, header=True).dim == sniff.SAMPLE // 4


# Numbers


@pytest.mark.found(
    "outside review", "A value of 1e-9999999 beside a bad one hung the search for the fault."
)
@pytest.mark.parametrize(
    "number", ["1e-9999999", "-1e-99999999999999999999", "0e9999999", "0." + "0" * 9999 + "1"]
)
def test_tiny_numbers_take_no_time(tmp_path, number):
    path = tmp_path / "v"
    path.write_text(f"the 1 2\ncake {number} nan\n")
    refused(path, "line 2: the row of 'cake' has nan in column 3")
    assert twin.split_line(b"cake " + number.encode(), 1) == (b"cake", [0.0])


@pytest.mark.found(
    "code review", "The twin of the parser refused numbers just above 1e15 that round down to it."
)
@pytest.mark.parametrize(
    "number", ["1000000000000001", "1000000020000000", "-1000000000000001.5", "1000000100000000"]
)
def test_largest_values_are_compared_when_rounded(number):
    expected = abs(np.float32(number)) <= twin.LARGEST_VALUE
    assert (twin.split_line(b"cake " + number.encode(), 1) is not None) == expected


def test_rounding_of_the_twin_is_exact():
    """Ties, numbers beside ties, and those below the normal ones, with thousands of digits too."""
    rng = np.random.default_rng(11)
    singles = rng.integers(0, 1 << 31, 300, np.uint32).view(np.float32)
    singles = np.append(singles[np.abs(singles) < 1e14], np.float32([1e-45, 3e-45, 1.2e-38, 1, 2]))
    tail = "0" * 3000
    for low in singles:
        high = np.nextafter(low, np.float32(np.inf))
        even = low if not low.view(np.uint32) & 1 else high
        middle = format(Decimal((float(low) + float(high)) / 2), "f")
        middle += "" if "." in middle else "."
        assert twin.nearest_float32(middle.encode()) == even
        assert twin.nearest_float32(f"{middle}{tail}1".encode()) == high
        assert twin.nearest_float32(f"-{middle}{tail}1".encode()) == -high
        if middle[-1] != ".":  # the last digit is a 5, so that 49… lies just below
            assert twin.nearest_float32(f"{middle[:-1]}4{'9' * 3000}".encode()) == low


@pytest.mark.found(
    "code review", "A field of many digits and a letter took quadratic time to refuse."
)
def test_numbers_are_matched_in_linear_time():
    assert not twin.NUMBER.match(b"1" * 1_000_000 + b"x")


# Lines


@pytest.mark.found("outside review", "A line of 200 MB without a line feed took quadratic time.")
def test_long_lines_are_joined_once(monkeypatch, tmp_path):
    blocks = [b"x" * 10] * 1000 + [b"y\nz"]
    assert list(whole_lines(blocks)) == [b"x" * 10_000 + b"y\n", b"z"]
    given = iter(blocks)
    (cut,) = whole_lines(given, 100)
    assert (len(cut), len(list(given))) == (110, len(blocks) - 11)
    monkeypatch.setattr(text, "LONGEST_LINE", 1 << 20)
    path = tmp_path / "v"
    path.write_bytes(b"the 1 2\n" + b"cake" * (3 << 20))
    refused(path, r"line 2: it is longer than 1048576 bytes")


@pytest.mark.found("outside review", "Twenty blank lines at the beginning were an IndexError.")
def test_blank_lines_at_the_beginning(tmp_path):
    path = tmp_path / "v"
    path.write_bytes(b"\n \r\n" * 30 + b"cake 1 2\nthe 3 4")
    assert WordVectors.load(path).words == ["cake", "the"]
    path.write_bytes(b"\n" * 30 + b"cake 1 2")
    assert WordVectors.load(path).words == ["cake"]
    path.write_bytes(b"\xef\xbb\xbf\n\n")
    refused(path, "is empty")
    path.write_bytes(b"\n" * sniff.SAMPLE + b"cake 1 2\n")
    refused(path, f"begins with {sniff.SAMPLE} blank bytes")


@pytest.mark.found("code review", "Each skipped line copied and counted the whole block before it.")
def test_many_bad_lines_are_numbered_in_linear_time(tmp_path):
    path = tmp_path / "v"
    path.write_bytes(
        b"".join(b"w%d 1 2\n" % at for at in range(30))
        + b"x\n" * 100_000
        + b"caf\xc3 1 2\ncake 3 4\n"
    )
    with pytest.warns(
        NoppaWarning, match=r"100001 lines were skipped, the first: line 31: the row of 'x'"
    ):
        loaded = WordVectors.load(path, on_error="skip", errors="skip")
    assert loaded.words[-2:] == ["w29", "cake"]
    assert len(loaded.report.skipped) == 100
    with pytest.raises(NoppaError, match="line 100031: byte"):
        WordVectors.load(path, on_error="skip")


def test_numbered():
    block = b"a\nb\n\nc\nd"
    places = [match.start() for match in re.finditer(rb"[a-d]", block)]
    assert list(text.numbered(block, places, 7)) == [(7, 0), (8, 2), (10, 5), (11, 7)]


@pytest.mark.found(
    "code review", "A binary file without a space was read whole, in quadratic time."
)
def test_a_binary_word_without_end(tmp_path):
    path = tmp_path / "v"
    path.write_bytes(b"9 2\ncake " + bytes(8) + b"\x01" * (9 << 20))
    refused(path, r"byte 17: a word is longer than 1048576 bytes")


# Memory

MEASURED = """
import sys, warnings
from noppa import WordVectors
from noppa.words import formats as files
warnings.simplefilter("ignore")

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) << 10

for path in sys.argv[1:]:
    before = peak()
    words = WordVectors(["the"], [[1.0]]).with_counts(path) if path.endswith("counts") else WordVectors.load(path)
    print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
def test_memory_is_a_constant_times_the_file(tmp_path):
    """The worst that was seen is a file of counts, of 34 times its size; the others take 5 to 20 times theirs."""
    words = [b"z%x" % at for at in range(60_000)]
    (tmp_path / "text").write_bytes(b"".join(word + b" 1\n" for word in words))
    (tmp_path / "counts").write_bytes(b"".join(word + b" 1\n" for word in words))
    (tmp_path / "binary").write_bytes(
        b"60000 1\n" + b"".join(word + b" \0\0\x80?" for word in words)
    )
    np.save(tmp_path / "m.npy", np.ones((60_000, 1), np.float32))
    (tmp_path / "m.vocab.txt").write_bytes(b"\n".join(words))
    names = ["m.npy", "text", "binary", "counts"]
    command = [sys.executable, "-c", MEASURED, *(tmp_path / name for name in names)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for name, grown in zip(names, map(int, done.stdout.split()), strict=True):
        size = (tmp_path / name).stat().st_size
        assert grown < 60 * size + (36 << 20), f"{name} of {size} bytes takes {grown}"

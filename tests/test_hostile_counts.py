"""Files of word counts that are damaged or made to mislead: one sentence that names the line."""

from __future__ import annotations

import numpy as np
import pytest

from noppa import NoppaError, WordVectors

WORDS = WordVectors(["the", "cake"], [[1.0], [2.0]])


@pytest.mark.found(
    "outside review",
    "Counts that are no numbers, or overflow when added, were taken or raised raw errors.",
)
@pytest.mark.parametrize(
    "line",
    [
        b"cake nan",
        b"cake inf",
        b"cake -1",
        b"cake 1e19",
        b"cake " + b"9" * 400,
        b"cake 1e999999999",
        b"cake",
        b"12",
        b"cake x",
        b"cake \xff\xfe",
        b"\x00\x01\x02",
        b"\x1f\x8b\x08\x00junk",
        b"x" * 1_000_000,
        b"cake 0x10",
    ],
)
def test_lines_that_are_no_counts(tmp_path, line):
    path = tmp_path / "counts"
    path.write_bytes(b"the 3\n\n" + line + b"\n")
    with pytest.raises(NoppaError, match=r"counts file .*counts, line 3: ") as error:
        WORDS.with_counts(path)
    assert len(str(error.value)) < 400
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("count", [10**400, -1, float("nan"), float("inf"), None, "many", 1e300])
def test_counts_of_a_dict(count):
    with pytest.raises(NoppaError, match="the count of 'cake' is"):
        WORDS.with_counts({"the": 3, "cake": count})


def test_large_counts_add_up():
    words = WORDS.with_counts({"the": 1e18, "cake": 1e18, **{f"w{at}": 1e18 for at in range(100)}})
    np.testing.assert_allclose(words.probabilities, [1 / 102, 1 / 102])


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/", "/none", "x" * 300, "a\0b"])
def test_paths_that_are_no_files(path):
    with pytest.raises(NoppaError, match=r"counts file .*: |counts file .* is a"):
        WORDS.with_counts(path)


def test_empty_files(tmp_path):
    path = tmp_path / "counts"
    for content in (b"", b"\n\n\r\n", b"cake 0\n"):
        path.write_bytes(content)
        with pytest.raises(NoppaError, match="adds up to nothing"):
            WORDS.with_counts(path)

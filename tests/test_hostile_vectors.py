"""Load damaged or hostile vector files, vocabularies and counts: one error each, in bounded time and memory."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from noppa import NoppaError, WordVectors
from noppa.words.formats import text
from noppa.words.formats.arrays import read_words

MATRIX = np.float32([[1, 2], [3, 4], [5, 6]])
DATA = MATRIX.tobytes()


def refused(path, match, **options):
    with pytest.raises(NoppaError, match=match) as error:
        WordVectors.load(path, **options)
    assert "\n" not in str(error.value)


# Text and binary


@pytest.mark.parametrize("dim", [30, 2**31, 2**62, 2**63, 10**90])
@pytest.mark.parametrize("count", [1, 2**62])
def test_text_header_with_a_dimension_that_no_line_holds(tmp_path, dim, count):
    path = tmp_path / "v"
    path.write_text(f"{count} {dim}\ncake 1 2 3\nthe 1 2 3\n")
    refused(path, rf"declares .*{dim} dimensions in its header", header=True)


@pytest.mark.parametrize(
    ("count", "dim"), [(2**41, 1), (2**63, 2), (2**70, 3), (1, 2**40), (1, 2**70), (1, 50)]
)
def test_binary_header_that_no_file_holds(tmp_path, count, dim):
    path = tmp_path / "v"
    path.write_bytes(b"%d %d\ncake " % (count, dim) + struct.pack("<3f", 1, 0, 3))
    refused(path, rf"declares .*{dim} dimensions in its header")


def test_a_wide_first_line_may_be_longer_than_the_sample(tmp_path):
    path = tmp_path / "v"
    row = " ".join(["0.25"] * (text.SAMPLE // 4))
    path.write_text(f"1 {text.SAMPLE // 4}\ncake {row}\n")
    assert WordVectors.load(path, header=True).dim == text.SAMPLE // 4


def test_blank_lines_at_the_beginning(tmp_path):
    path = tmp_path / "v"
    path.write_bytes(b"\n \r\n" * 30 + b"cake 1 2\nthe 3 4")
    assert WordVectors.load(path).words == ["cake", "the"]
    path.write_bytes(b"\xef\xbb\xbf\n\n")
    refused(path, "is empty")
    path.write_bytes(b"\n" * text.SAMPLE + b"cake 1 2\n")
    refused(path, f"begins with {text.SAMPLE} blank bytes")


def test_a_line_without_end(monkeypatch, tmp_path):
    monkeypatch.setattr(text, "LONGEST_LINE", 1 << 20)
    path = tmp_path / "v"
    path.write_bytes(b"the 1 2\n" + b"cake" * (3 << 20))
    refused(path, r"line 2: it is longer than 1048576 bytes")


def test_a_binary_word_without_end(tmp_path):
    path = tmp_path / "v"
    path.write_bytes(b"9 2\ncake " + bytes(8) + b"\x01" * (9 << 20))
    refused(path, r"byte 17: a word is longer than 1048576 bytes")


# Matrices


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "vocab.txt").write_text("the\na\ncake\n")
    return tmp_path


def safetensors_file(folder, header, data=DATA, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = folder / "v.safetensors"
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)
    return path


def tensor(dtype="F32", shape=(3, 2), offsets=(0, 24)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


SCALES = np.float32([1, 2, 4]).tobytes()


@pytest.mark.parametrize(
    ("scales", "data"),
    [
        (tensor("F32", [1], [6, 10]), SCALES[:4]),
        (tensor("F32", [3, 1], [6, 18]), SCALES),
        (tensor("F32", [], [6, 10]), SCALES[:4]),
        (tensor("I8", [3], [6, 9]), b"\1\2\4"),
    ],
)
def test_scales_are_one_number_per_row(folder, scales, data):
    header = {"embeddings": tensor("I8", (3, 2), (0, 6)), "scales": scales}
    refused(safetensors_file(folder, header, bytes(range(6)) + data), "3 rows and scales of type")


@pytest.mark.parametrize(
    "header",
    [
        {"a": tensor(offsets=[-24, 0])},
        {"a": tensor(offsets=[0, 10**30])},
        {"a": tensor(offsets=[24, 48])},
        {"a": tensor(shape=[2**62, 4], offsets=[0, 0])},
        {"a": tensor(shape=[2**32, 2**32])},
        {"a": tensor(shape=[0, 2**40], offsets=[0, 0])},
        {"a": tensor("F8_E4M3", (6, 4))},
        {"a": tensor("BF16", (6, 2))},
        {"a": tensor(offsets=[0, 16], shape=[2, 2]), "b": tensor("I8", [4], [8, 12])},
        {"a": {}},
        {},
        b'{"a": "\xff"}',
        b'{"a": ' + b"[" * 100_000,
        b'{"a": 1',
    ],
)
def test_damaged_safetensors(folder, header):
    refused(safetensors_file(folder, header), r"v\.safetensors ")


def test_safetensors_header_longer_than_the_file(folder):
    refused(safetensors_file(folder, {"a": tensor()}, length=2**26), "cannot be read")


def npy_file(folder, header, version=b"\1\0"):
    text = header.encode()
    size = len(text).to_bytes(2 if version == b"\1\0" else 4, "little")
    path = folder / "v.npy"
    path.write_bytes(b"\x93NUMPY" + version + size + text + DATA)
    return path


@pytest.mark.parametrize(
    ("dtype", "shape", "message"),
    [
        ("'<f4'", "(4, 2)", "is too short"),
        ("'<f4'", "(4294967296, 4294967296)", "not a table"),
        ("'<f4'", "(1152921504606846976, 16)", "is too short"),
        ("'<f4'", "(-3, -2)", "not a table"),
        ("'<f4'", "(0, 2)", "not a table"),
        ("'<f4'", "(6,)", "not a table"),
        ("'|O'", "(3, 2)", "holds object"),
        ("[('a', '<f4')]", "(3, 2)", "not a table"),
        ("'<q9'", "(3, 2)", "damaged header"),
        ("7", "(3, 2)", "damaged header"),
        ("", "(" * 5000, "damaged header"),
    ],
)
def test_damaged_npy(folder, dtype, shape, message):
    header = f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}"
    refused(npy_file(folder, header), message)
    refused(npy_file(folder, header, version=b"\2\0"), message)
    refused(npy_file(folder, header, version=b"\3\0"), "damaged header")


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", "<f2", "<i8", ">i2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_any_dtype_and_order(folder, dtype, order):
    np.save(folder / "v.npy", np.array(MATRIX, dtype, order=order))
    assert WordVectors.load(folder / "v.npy").matrix.tolist() == MATRIX.tolist()


@pytest.mark.parametrize(
    ("dtype", "value"), [("<f8", 1e300), ("<f8", np.nan), ("<i8", 2**62), ("<f4", 1e16)]
)
def test_values_that_make_no_vectors(folder, dtype, value):
    matrix = MATRIX.astype(dtype)
    matrix[2, 1] = value
    np.save(folder / "v.npy", matrix)
    refused(folder / "v.npy", "row 2: the vector of 'cake' has values that are not finite")


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'{"model": {"vocab": 3}}',
        b'{"model": {"vocab": [[]]}}',
        b'{"model": {"vocab": [[1, 2]]}}',
        b'{"a": 0, "b": 7, "c": 9}',
        b'{"a": 0, "b": "1", "c": 2}',
        b"\xff\xfe{}",
        b"[1, 2, 3]",
        b"3",
    ],
)
def test_vocabularies_that_are_not_lists_of_words(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(NoppaError, match=r"tokenizer\.json is not a list of words"):
        read_words(path)


# Paths


@pytest.mark.parametrize("path", ["x" * 300, "x/" * 3000, "a\0b", "missing/v.txt"])
def test_impossible_names(tmp_path, path):
    refused(f"{tmp_path}/{path}", "cannot be opened|does not exist")


def test_paths_that_are_not_files(folder):
    (folder / "loop").symlink_to(folder / "loop")
    refused(folder / "loop", "symbolic links")
    refused(folder, "is a folder")
    np.save(folder / "v.npy", MATRIX)
    for device in ("/dev/zero", "/dev/null", "/dev/full"):
        refused(device, "is a device")
        refused(folder / "v.npy", "vocabulary /dev/.* is a device", vocabulary=device)
    refused(folder / "v.npy", "vocabulary .* is a folder", vocabulary=folder)
    refused(folder / "v.npy", "vocabulary .* does not exist", vocabulary=folder / "none")


# Counts

WORDS = WordVectors(["the", "cake"], [[1.0], [2.0]])


@pytest.mark.parametrize(
    "line",
    [
        b"cake nan",
        b"cake -1",
        b"cake 1e19",
        b"cake " + b"9" * 400,
        b"cake 1e999999999",
        b"12",
        b"cake \xff\xfe",
        b"\x1f\x8b\x08\x00junk",
        b"x" * 1_000_000,
        b"cake 0x10",
    ],
)
def test_lines_that_are_not_counts(tmp_path, line):
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


@pytest.mark.parametrize("content", [b"", b"\n\n\r\n", b"cake 0\n"])
def test_empty_counts(tmp_path, content):
    (tmp_path / "counts").write_bytes(content)
    with pytest.raises(NoppaError, match="adds up to nothing"):
        WORDS.with_counts(tmp_path / "counts")


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
    """Counts take 34 times the size of their file, the others 5 to 20 times."""
    words = [b"z%x" % number for number in range(60_000)]
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

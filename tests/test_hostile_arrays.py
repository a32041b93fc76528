"""Matrix files with a vocabulary, and paths that are no files: one sentence for each way to be wrong."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from noppa import NoppaError, WordVectors
from noppa.words import formats as files
from noppa.words.formats.arrays import read_words

MATRIX = np.float32([[1, 2], [3, 4], [5, 6]])
DATA = MATRIX.tobytes()


def refused(path, match, **options):
    with pytest.raises(NoppaError, match=match) as error:
        WordVectors.load(path, **options)
    assert "\n" not in str(error.value)


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


@pytest.mark.found("outside review", "safetensors scales of length one were spread over all rows.")
@pytest.mark.parametrize(
    ("scales", "data"),
    [
        (tensor("F32", [1], [6, 10]), SCALES[:4]),
        (tensor("F32", [2], [6, 14]), SCALES[:8]),
        (tensor("F32", [3, 1], [6, 18]), SCALES),
        (tensor("F32", [1, 3], [6, 18]), SCALES),
        (tensor("F32", [], [6, 10]), SCALES[:4]),
        (tensor("I8", [3], [6, 9]), b"\1\2\4"),
    ],
)
def test_scales_are_one_number_a_row(folder, scales, data):
    header = {"embeddings": tensor("I8", (3, 2), (0, 6)), "scales": scales}
    refused(safetensors_file(folder, header, bytes(range(6)) + data), "3 rows and scales of type")


def test_scales_that_fit(folder):
    header = {"embeddings": tensor("I8", (3, 2), (0, 6)), "scales": tensor("F32", [3], [6, 18])}
    loaded = WordVectors.load(safetensors_file(folder, header, bytes(range(6)) + SCALES))
    assert loaded.matrix.tolist() == [[0, 1], [4, 6], [16, 20]]


@pytest.mark.parametrize("scale", [np.nan, np.inf, -np.inf, 1e30])
def test_scales_that_make_no_vectors(folder, scale):
    header = {"embeddings": tensor("I8", (3, 2), (0, 6)), "scales": tensor("F32", [3], [6, 18])}
    data = bytes(range(6)) + np.float32([1, scale, 1]).tobytes()
    refused(safetensors_file(folder, header, data), "row 1, of 'a', has values that are not finite")


@pytest.mark.found(
    "outside review", "Odd offsets and shapes in a safetensors header were raw errors."
)
@pytest.mark.parametrize(
    ("header", "told"),
    [
        ({"a": tensor(offsets=[-24, 0])}, "shape and data_offsets of 'a'"),
        ({"a": tensor(offsets=[24, 0])}, "shape and data_offsets of 'a'"),
        ({"a": tensor(offsets=[0, 24.0])}, "shape and data_offsets of 'a'"),
        ({"a": tensor(offsets=[0, True])}, "shape and data_offsets of 'a'"),
        ({"a": tensor(offsets=[0, 24, 24])}, "shape and data_offsets of 'a'"),
        ({"a": tensor(shape=[-3, -2])}, "shape and data_offsets of 'a'"),
        ({"a": tensor(shape=["3", 2])}, "shape and data_offsets of 'a'"),
        ({"a": tensor() | {"shape": 6}}, "shape and data_offsets of 'a'"),
        ({"a": tensor() | {"data_offsets": None}}, "shape and data_offsets of 'a'"),
        ({"a": tensor(offsets=[0, 10**30])}, "is cut short at"),
        ({"a": tensor(offsets=[24, 48])}, "is cut short at"),
        ({"a": tensor(shape=[2**62, 4], offsets=[0, 0])}, "0 bytes, which do not fit"),
        ({"a": tensor(shape=[2**32, 2**32])}, "24 bytes, which do not fit"),
        ({"a": tensor(shape=[0, 2**70], offsets=[0, 0])}, "0 bytes, which do not fit"),
        ({"a": tensor(shape=[2, 2])}, "24 bytes, which do not fit"),
        ({"a": tensor("F8_E4M3")}, "has type 'F8_E4M3', and noppa reads"),
        ({"a": tensor() | {"dtype": ["F32"]}}, "and noppa reads"),
        (
            {"a": tensor(shape=[2, 2], offsets=[0, 16]), "b": tensor("I8", [4], [8, 12])},
            "'a' and 'b' overlap",
        ),
        ({"a": [0, 24]}, "'a' is no array"),
        ({"a": {}}, "damaged safetensors header: 'dtype'"),
        ({}, "holds 0 tables"),
        ({"a\n\x1b[31m": tensor(), "b": tensor(shape=[1, 1], offsets=[24, 28])}, "cut short"),
        (b'{"a": 1, "a": 2}', "a name stands in it twice"),
        (b'{"a": "\xff"}', "damaged safetensors header"),
        (b'{"a": ' + b"[" * 100_000, "damaged safetensors header"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "damaged safetensors header"),
        (b'{"a": 1', "damaged safetensors header"),
    ],
)
def test_damaged_safetensors(folder, header, told):
    refused(safetensors_file(folder, header), told)


@pytest.mark.parametrize("length", [10**6, 2**26])
def test_safetensors_header_longer_than_the_file(folder, length):
    refused(safetensors_file(folder, {"a": tensor()}, length=length), f"it would be {length} bytes")


# .npy


def npy_file(folder, header, data=DATA, version=b"\1\0"):
    text = header.encode()
    size = len(text).to_bytes(2 if version == b"\1\0" else 4, "little")
    path = folder / "v.npy"
    path.write_bytes(b"\x93NUMPY" + version + size + text + data)
    return path


@pytest.mark.found("code review", "An .npy header could end in errors of other libraries.")
@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 2), }", "is cut short"),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
            "not a table",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1152921504606846976, 16), }",
            "cut short",
        ),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (-3, -2), }", "not a table"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 2), }", "not a table"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }", "not a table"),
        ("{'descr': '|O', 'fortran_order': False, 'shape': (3, 2), }", "holds object"),
        ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3, 2), }", "not a table"),
        ("{'descr': '<q9', 'fortran_order': False, 'shape': (3, 2), }", "damaged header"),
        ("{'descr': 7, 'fortran_order': False, 'shape': (3, 2), }", "damaged header"),
        ("{'descr': '<f4'", "damaged header"),
        ("(" * 5000, "damaged header"),
        ("", "damaged header"),
    ],
)
def test_damaged_npy(folder, header, told):
    refused(npy_file(folder, header), told)
    refused(npy_file(folder, header, version=b"\2\0"), told)
    refused(npy_file(folder, header, version=b"\3\0"), "damaged header")


@pytest.mark.parametrize("kind", ["<f4", ">f4", "<f8", "<f2", "<i8", ">i2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_any_type_and_order(folder, kind, order):
    np.save(folder / "v.npy", np.array(MATRIX, kind, order=order))
    assert WordVectors.load(folder / "v.npy").matrix.tolist() == MATRIX.tolist()


@pytest.mark.parametrize(
    ("kind", "value"), [("<f8", 1e300), ("<f8", np.nan), ("<i8", 2**62), ("<f4", 1e16)]
)
def test_values_that_are_no_vectors(folder, kind, value):
    matrix = MATRIX.astype(kind)
    matrix[2, 1] = value
    np.save(folder / "v.npy", matrix)
    refused(folder / "v.npy", "row 2, of 'cake', has values that are not finite or too large")


# Vocabularies


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'{"model": {"vocab": 3}}',
        b'{"model": {"vocab": [[]]}}',
        b'{"model": {"vocab": [[1, 2]]}}',
        b'{"model": 3}',
        b'{"a": 0, "b": 7, "c": 9}',
        b'{"a": 0, "b": "1", "c": 2}',
        b'{"a": NaN, "b": 1, "c": 2}',
        b"\xff\xfe{}",
        b"[1, 2, 3]",
        b'{"model": {}}',
        b"3",
    ],
)
def test_vocabularies_that_are_none(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(NoppaError, match=r"vocabulary .*tokenizer\.json is no list of words"):
        read_words(path)


@pytest.mark.found("code review", "Half a surrogate pair in tokenizer.json became a question mark.")
def test_half_a_surrogate_pair_is_no_word(folder):
    np.save(folder / "v.npy", MATRIX)
    path = folder / "tokenizer.json"
    path.write_text('{"the": 0, "?": 1, "\\ud800": 2}')
    refused(folder / "v.npy", "word 3: byte 0 of the word .* is not UTF-8", vocabulary=path)


# Paths


@pytest.mark.parametrize("path", ["x" * 300, "x/" * 3000, "a\0b", "missing/v.txt"])
def test_names_that_cannot_be(tmp_path, path):
    refused(f"{tmp_path}/{path}", "cannot be opened|does not exist")


@pytest.mark.found("code review", "A device such as /dev/zero was read for ever.")
def test_paths_that_are_no_files(folder):
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "empty").touch()
    refused(folder / "loop", "symbolic links")
    refused(folder / "empty", "is empty")
    refused(folder, "is a folder")
    np.save(folder / "v.npy", MATRIX)
    for device in ("/dev/zero", "/dev/null", "/dev/full"):
        refused(device, "is a device")
        refused(folder / "v.npy", "vocabulary /dev/.* is a device", vocabulary=device)
    refused(folder / "v.npy", "vocabulary .* is a folder", vocabulary=folder)
    refused(folder / "v.npy", "vocabulary .* does not exist", vocabulary=folder / "none")


def test_files_that_may_not_be_read(folder, monkeypatch):
    path = folder / "v.txt"
    path.write_text("the 1 2\n")

    def forbidden(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", forbidden)
    refused(path, r"v\.txt: Permission denied")
    monkeypatch.setattr(Path, "read_bytes", forbidden)
    with pytest.raises(NoppaError, match=r"vocabulary .* Permission denied"):
        read_words(path)


@pytest.mark.parametrize("suffix", [".npy", ".safetensors"])
def test_a_matrix_in_a_pipe(folder, suffix):
    files.write(WordVectors(["the", "a", "cake"], MATRIX), folder / f"v{suffix}")
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    content = (folder / f"v{suffix}").read_bytes()
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    refused(pipe, "is a pipe, and a matrix is read from a file")
    writer.join()

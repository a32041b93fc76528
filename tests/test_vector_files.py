"""Load and write vector files: pitfalls, options, compression and round trips."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import pickle
import threading
import warnings
import zipfile

import numpy as np
import pytest
from safetensors import numpy as safetensors

import noppa
from noppa import NoppaError, NoppaWarning, WordVectors
from noppa.words import formats as files

WORDS = ["the", "cake", "über", "日本", ".\u00a0.\u00a0."]
MATRIX = np.random.default_rng(7).normal(size=(5, 6)).astype(np.float32)
LINES = [
    f"{word} {' '.join(str(value) for value in row)}"
    for word, row in zip(WORDS, MATRIX, strict=True)
]


def text_file(path, lines, end="\n", header=None):
    content = "".join(line + end for line in lines)
    if header:
        content = header + end + content
    path.write_bytes(content.encode())
    return path


def binary_file(path, words, matrix, newline=True):
    with path.open("wb") as file:
        file.write(b"%d %d\n" % matrix.shape)
        for word, row in zip(words, matrix, strict=True):
            name = word if isinstance(word, bytes) else word.encode()
            file.write(name + b" " + row.tobytes() + b"\n" * newline)
    return path


def same(loaded, words=WORDS, matrix=MATRIX):
    assert loaded.words == words
    np.testing.assert_array_equal(loaded.vectors(np.arange(len(words))), matrix)


# Header


@pytest.mark.parametrize("header", [None, "5 6"])
def test_header_is_detected(tmp_path, header):
    loaded = WordVectors.load(text_file(tmp_path / "v", LINES, header=header))
    same(loaded)
    assert loaded.report.format == ("word2vec text" if header else "GloVe text")


def test_two_numbers_that_are_no_header(tmp_path):
    same(
        WordVectors.load(text_file(tmp_path / "v", ["7 3", "8 4"])),
        ["7", "8"],
        np.float32([[3], [4]]),
    )


def test_header_of_one_dimension_is_ambiguous(tmp_path):
    path = text_file(tmp_path / "v", ["a 0.5", "b 0.25"], header="2 1")
    with pytest.raises(NoppaError, match=r"pass header=True or header=False"):
        WordVectors.load(path)
    same(WordVectors.load(path, header=True), ["a", "b"], np.float32([[0.5], [0.25]]))
    assert len(WordVectors.load(path, header=False)) == 3


# Truncation


def test_wrong_count_warns_and_strict_raises(tmp_path):
    path = text_file(tmp_path / "v", LINES, header="9 6")
    with pytest.warns(NoppaWarning, match="has 5 vectors, but its header declares 9"):
        same(WordVectors.load(path))
    with pytest.raises(NoppaError, match="5 vectors, but its header declares 9"):
        WordVectors.load(path, strict=True)


def test_last_line_cut(tmp_path):
    path = tmp_path / "v"
    path.write_bytes(("\n".join(LINES)).encode()[:-12])
    with pytest.warns(NoppaWarning, match="ends within line 5"):
        loaded = WordVectors.load(path)
    same(loaded, WORDS[:4], MATRIX[:4])


@pytest.mark.parametrize("newline", [True, False])
def test_binary_cut(tmp_path, newline):
    path = binary_file(tmp_path / "v", WORDS, MATRIX, newline)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.warns(NoppaWarning, match="4 whole vectors, but its header declares 5"):
        same(WordVectors.load(path), WORDS[:4], MATRIX[:4])
    with pytest.raises(NoppaError, match="4 whole vectors"):
        WordVectors.load(path, strict=True)


# Tokens


@pytest.mark.parametrize(
    "token",
    ["a\u00a0b", "a\u3000b", "a\u2028b", "a\u0085b", "a b", "a b c", "at 12", " ", "", "x\ty"],
)
@pytest.mark.parametrize("header", [None, "6 6"])
def test_tokens_with_whitespace(tmp_path, token, header):
    lines = [*LINES, token + " " + LINES[0].split(" ", 1)[1]]
    loaded = WordVectors.load(text_file(tmp_path / "v", lines, header=header))
    same(loaded, [*WORDS, token], np.vstack([MATRIX, MATRIX[0]]))


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line.replace(" ", "\t"),
        lambda line: line + " ",
        lambda line: line + " \r",
        lambda line: line + "\r",
        lambda line: line.replace(" ", "  "),
        lambda line: line + "\n",
        lambda line: "\ufeff" + line if line == LINES[0] else line,
    ],
    ids=["tab", "trailing", "trailing-crlf", "crlf", "double", "blank-lines", "byte-order-mark"],
)
def test_separators_are_tolerated(tmp_path, change):
    same(WordVectors.load(text_file(tmp_path / "v", [change(line) for line in LINES])))


@pytest.mark.parametrize("kind", ["text", "binary"])
def test_words_that_are_not_utf8(tmp_path, kind):
    words = [b"the", b"caf\xc3", b"cake"]
    if kind == "text":
        path = tmp_path / "v"
        path.write_bytes(b"".join(word + b" 0.5 0.25\n" for word in words))
        where = "line 2: byte 16 "
    else:
        path = binary_file(tmp_path / "v", words, np.float32([[1, 2]] * 3))
        where = "vector 2: byte 20 "
    with pytest.raises(NoppaError, match=where + r".*on_error='skip'"):
        WordVectors.load(path)
    with pytest.warns(NoppaWarning, match="1 lines were skipped"):
        loaded = WordVectors.load(path, on_error="skip")
    assert loaded.words == ["the", "cake"]
    assert loaded.report.skipped_count == 1


# What is no vector file


def test_sparse(tmp_path):
    with pytest.raises(NoppaError, match="sparse format"):
        WordVectors.load(text_file(tmp_path / "v", ["cake 3:0.5 17:0.25", "the 1:0.5"]))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"<!DOCTYPE html><html>404</html>", "web page"),
        (b"\n  <html lang=en>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\n", "Git LFS pointer"),
        (pickle.dumps({"a": 1}), "pickle.*save_word2vec_format"),
        (b"\xba\x16O/\x0c\0\0\0", "damaged fastText model: it is cut short"),
        (b"PAR1....", "is not a vector file"),
        (b"", "is empty"),
        (b"just some prose\nand more of it\n", "a line should be a word and its numbers"),
        (b"\x01\x02\x03\x04 junk", "not a known vector file"),
        (b"PK\x03\x04 and then nothing", "is damaged or cut short"),
    ],
)
def test_impostors(tmp_path, content, told):
    path = tmp_path / "vectors.txt"
    path.write_bytes(content)
    with pytest.raises(NoppaError, match=rf"vectors\.txt.*{told}"):
        WordVectors.load(path)


# Rows


def test_duplicates_first_wins(tmp_path):
    path = text_file(tmp_path / "v", [*LINES, "cake 1 2 3 4 5 6"])
    with pytest.warns(NoppaWarning, match="1 words occur more than once, the first is 'cake'"):
        loaded = WordVectors.load(path)
    np.testing.assert_array_equal(loaded["cake"], MATRIX[1])
    assert loaded.repeated.tolist() == [5]


@pytest.mark.parametrize(
    "line",
    [
        "bad 1 nan 3 4 5 6",
        "bad 1 2 3 4 5 -inf",
        "bad 1 1e20 3 4 5 6",
        "bad 1 2 3 4 5",
        "bad 0.1 0.2 0.3 0.4 0.5 0.6 0.7",
        "bad 1 2 x3 4 5 6",
    ],
)
def test_bad_lines(tmp_path, line):
    path = text_file(tmp_path / "v", [*LINES[:2], line, *LINES[2:]])
    with pytest.raises(NoppaError, match=rf"/v, line 3: .*found '{line}'.*on_error='skip'"):
        WordVectors.load(path)
    with pytest.warns(NoppaWarning, match="1 lines were skipped"):
        loaded = WordVectors.load(path, on_error="skip")
    same(loaded)
    assert "line 3" in loaded.report.skipped[0]


def test_bad_binary_values(tmp_path):
    matrix = MATRIX.copy()
    matrix[2, 3] = np.nan
    path = binary_file(tmp_path / "v", WORDS, matrix)
    with pytest.raises(NoppaError, match="byte 62: the vector of 'über'"):
        WordVectors.load(path)
    with pytest.warns(NoppaWarning, match="skipped"):
        loaded = WordVectors.load(path, on_error="skip")
    assert loaded.words == [word for word in WORDS if word != "über"]


def test_unk_row_is_used_only_when_asked_for(tmp_path):
    path = text_file(tmp_path / "v", ["the 1 2", "<unk> 3 4", "unk 5 6"])
    words = WordVectors.load(path)
    assert "zzqx" not in words
    asked = WordVectors.load(path, unknown="unk")
    ids, _ = asked.vocabulary.look_up(["the zzqx"], 1)
    assert ids.tolist() == [0, 1]
    ids, _ = words.vocabulary.look_up(["the zzqx"], 1)
    assert ids.tolist() == [0, -1]


def test_sentence_end_takes_no_part(tmp_path):
    path = text_file(tmp_path / "v", ["</s> 9 9", "cake 1 2"], header="2 2")
    loaded = WordVectors.load(path)
    assert loaded.words == ["cake"]
    assert len(WordVectors.load(path, drop=())) == 2


# Objects


# Larger than memory, and counts


def test_rows_can_stay_on_disk(tmp_path):
    """`noppa vectors convert` streams through a scratch file, so that a table larger than memory fits."""
    path = text_file(tmp_path / "v", LINES)
    loaded = files.read(path, files.Options(scratch=tmp_path))
    assert isinstance(loaded.matrix, np.memmap)
    same(WordVectors.from_loaded(loaded))


def test_counts_that_are_not_utf8(tmp_path):
    words = WordVectors(["the", "cake"], [[1.0], [2.0]])
    path = tmp_path / "counts"
    path.write_bytes(b"the 3\ncaf\xc3 5\ncake 1\n")
    with pytest.raises(NoppaError, match=r"line 2: byte 9 is not UTF-8: pass on_error='skip'"):
        words.with_counts(path)
    assert words.with_counts(path, on_error="skip").probabilities.tolist() == [0.75, 0.25]


def test_frequent_words_without_a_count_are_told():
    words = WordVectors(["the", "."], [[1.0], [2.0]]).with_counts({"the": 9})
    with pytest.warns(NoppaWarning, match=r"most frequent words have no count, among them '\.'"):
        noppa.Encoder(words, noppa.NoPPA(k=0)).fit(["the . ."])


# Options


def test_limit_keep_and_dtype(tmp_path):
    path = text_file(tmp_path / "v", LINES)
    same(WordVectors.load(path, limit=2), WORDS[:2], MATRIX[:2])
    same(
        WordVectors.load(path, keep={"cake", "日本", "none", "\ud800"}),
        ["cake", "日本"],
        MATRIX[[1, 3]],
    )
    same(WordVectors.load(path, keep=["日本", "cake"], limit=1), ["cake"], MATRIX[[1]])
    half = WordVectors.load(path, dtype="float16")
    assert half.matrix.dtype == np.float16
    np.testing.assert_array_equal(half.matrix, MATRIX.astype(np.float16))
    small = WordVectors.load(path, dtype="int8")
    assert small.matrix.dtype == np.int8
    bound = np.abs(MATRIX).max(axis=1) / 127 / 2
    error = np.abs(small.vectors(np.arange(5)) - MATRIX).max(axis=1)
    assert (error <= bound * 1.001).all()


def test_folders_take_limit_keep_and_dtype(tmp_path):
    WordVectors(WORDS, MATRIX, [0.5, 0.2, 0.1, 0.1, 0.1]).save(tmp_path / "folder")
    kept = WordVectors.load(tmp_path / "folder", keep=["cake"], dtype="float16")
    assert (kept.words, kept.matrix.dtype) == (["cake"], np.float16)
    assert kept.probabilities.tolist() == [0.2]
    same(WordVectors.load(tmp_path / "folder"))
    assert "Cake" not in WordVectors.load(tmp_path / "folder", case="exact")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"limit": 0}, "limit"),
        ({"keep": "cake"}, "keep is a str"),
        ({"dtype": "float64"}, "dtype must be one of"),
        ({"on_error": "warn"}, "on_error must be one of"),
        ({"keep": ["none"]}, "gave no vectors"),
        ({"member": "a.txt"}, "is not a zip archive"),
    ],
)
def test_wrong_options(tmp_path, options, told):
    path = text_file(tmp_path / "v", LINES)
    with pytest.raises(NoppaError, match=told):
        WordVectors.load(path, **options)


def test_float16_that_overflows(tmp_path):
    with pytest.raises(NoppaError, match="does not fit float16"):
        WordVectors.load(text_file(tmp_path / "v", ["a 1 70000"]), dtype="float16")


# Compression


def zipped(path, content):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside.txt", content)


def zstandard(path, content):
    library = pytest.importorskip("zstandard", reason="zstandard is not installed")
    path.write_bytes(library.compress(content))


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("gz", lambda path, content: path.write_bytes(gzip.compress(content))),
        ("bz2", lambda path, content: path.write_bytes(bz2.compress(content))),
        ("xz", lambda path, content: path.write_bytes(lzma.compress(content))),
        ("zip", zipped),
        ("zst", zstandard),
    ],
)
@pytest.mark.parametrize("kind", ["text", "binary"])
def test_compression_is_recognised_whatever_the_name(tmp_path, name, pack, kind):
    plain = tmp_path / "plain"
    if kind == "text":
        text_file(plain, LINES)
    else:
        binary_file(plain, WORDS, MATRIX)
    packed = tmp_path / "vectors.txt"
    pack(packed, plain.read_bytes())
    loaded = WordVectors.load(packed)
    same(loaded)
    assert loaded.report.compression == name


def test_archive_of_several_files(tmp_path):
    path = tmp_path / "v.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "the 1 2\n")
        archive.writestr("b.txt", "cake 3 4\n")
    with pytest.raises(
        NoppaError, match=r"holds 2 files: choose one with member=, from a\.txt, b\.txt"
    ):
        WordVectors.load(path)
    assert WordVectors.load(path, member="b.txt").words == ["cake"]
    with pytest.raises(NoppaError, match=r"holds no 'c\.txt'"):
        WordVectors.load(path, member="c.txt")


def test_a_pipe_is_a_file_too(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: text_file(pipe, LINES))
    writer.start()
    same(WordVectors.load(pipe))
    writer.join()


# Matrix and vocabulary


@pytest.mark.parametrize("suffix", [".npy", ".safetensors"])
def test_matrix_with_a_vocabulary(tmp_path, suffix):
    path = tmp_path / f"v{suffix}"
    files.write(WordVectors(WORDS, MATRIX), path)
    same(WordVectors.load(path))
    vocabulary = path.with_suffix(".vocab.txt")
    vocabulary.rename(tmp_path / "elsewhere")
    with pytest.raises(NoppaError, match=r"has no vocabulary beside it.*v\.vocab\.txt"):
        WordVectors.load(path)
    same(WordVectors.load(path, vocabulary=tmp_path / "elsewhere"))
    (tmp_path / "short").write_text("one\ntwo\n")
    with pytest.raises(NoppaError, match="has 5 rows, but short has 2 words"):
        WordVectors.load(path, vocabulary=tmp_path / "short")


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_safetensors_of_ours_are_read_by_the_package(tmp_path, dtype):
    WordVectors(WORDS, MATRIX).save(tmp_path / "words")
    words = WordVectors.load(tmp_path / "words", dtype=dtype)
    files.write(words, tmp_path / "v.safetensors")
    tensors = safetensors.load_file(tmp_path / "v.safetensors")
    np.testing.assert_array_equal(tensors["embeddings"], words.matrix)
    if dtype == "int8":
        np.testing.assert_array_equal(tensors["scales"], words.scales)
    again = WordVectors.load(tmp_path / "v.safetensors", dtype=dtype)
    np.testing.assert_array_equal(again.vectors(range(5)), words.vectors(range(5)))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_safetensors_of_the_package_with_a_tokenizer(tmp_path, dtype):
    table = MATRIX.astype(dtype)
    tensors = {"embeddings": table, "other": np.zeros((2, 2))}
    safetensors.save_file(tensors, tmp_path / "model.safetensors")
    numbers = {word: row for row, word in reversed(list(enumerate(WORDS)))}
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"vocab": numbers}}))
    same(WordVectors.load(tmp_path / "model.safetensors"), matrix=table.astype(np.float32))
    tensors = {"a": np.zeros((2, 2)), "b": np.zeros((3, 2))}
    safetensors.save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(NoppaError, match="holds 2 tables"):
        WordVectors.load(tmp_path / "model.safetensors")


# Round trips

FORMATS = "folder v.txt v.vec v.bin v.npy v.safetensors v.txt.gz v.bin.xz v.vec.bz2".split()


@pytest.mark.parametrize("first", FORMATS)
def test_round_trips(tmp_path, first):
    for second in FORMATS:
        words = WordVectors(WORDS, MATRIX)
        for name in (f"{second}-1{first}", f"2{second}"):
            files.write(words, tmp_path / name)
            words = WordVectors.load(tmp_path / name)
        same(words)


def test_what_a_format_cannot_hold(tmp_path):
    with pytest.raises(NoppaError, match="has a space"):
        files.write(WordVectors(["a b"], [[1.0]]), tmp_path / "v.bin")
    with pytest.raises(NoppaError, match="has a line break"):
        files.write(WordVectors(["a\nb"], [[1.0]]), tmp_path / "v.txt")
    with pytest.raises(NoppaError, match=r"only \.gz, \.bz2, \.xz"):
        files.write(WordVectors(["a"], [[1.0]]), tmp_path / "v.txt.zst")
    with pytest.raises(NoppaError, match="has a line break"):
        files.write(WordVectors(["a\nb"], [[1.0]]), tmp_path / "v.npy")
    assert list(tmp_path.iterdir()) == []


def test_shared_word2vec_binary_is_read_exactly(shared):
    models = pytest.importorskip("gensim.models", reason="gensim is not installed")
    path = shared("vectors", "word2vec-googlenews-300d-26k.bin")
    ours = WordVectors.load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = models.KeyedVectors.load_word2vec_format(str(path), binary=True)
    assert ours.words == theirs.index_to_key
    np.testing.assert_array_equal(ours.matrix, theirs.vectors)

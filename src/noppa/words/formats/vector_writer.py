"""`write`: word vectors in the formats of other programs; a file appears under its name only when complete."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable, Iterator
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.errors import FileError
from noppa.io.atomic import atomic_file
from noppa.parameters import path_of
from noppa.threads import thread_count
from noppa.words import word_folder
from noppa.words.formats import safetensors
from noppa.words.formats.row_buffer import write_array
from noppa.words.word_table import WordTable

BLOCK = 4096
COMPRESSED: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": lambda file: gzip.GzipFile(
        filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0
    ),
    ".bz2": lambda file: bz2.BZ2File(file, "wb"),
    ".xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115
}


def write(words: WordTable, path: str | PathLike[str], pieces: bool = False) -> None:
    """Write word vectors in the format of the suffix: `.txt`, `.vec`, `.bin`, `.npy` or `.safetensors`.

    Text and binary may end in `.gz`, `.bz2` or `.xz`. A name without such an ending becomes a native folder.

    pieces: whether pieces of words are written too. A folder always has them; to other programs they would be words.
    """
    target = path_of(path)
    if target.suffix in (".zip", ".zst"):
        raise FileError(f"cannot write {target}: noppa compresses to {', '.join(COMPRESSED)}")
    compressor = COMPRESSED.get(target.suffix)
    form = target.with_suffix("").suffix if compressor else target.suffix
    if form not in WRITERS:
        if compressor:
            raise FileError(
                f"{target}: a folder cannot be compressed; name a file such as vectors.txt.gz"
            )
        word_folder.write(target, words)
        return
    if not pieces:
        words = words.without_pieces()
    if form in BESIDE:
        if compressor:
            raise FileError(f"{target}: a {form} file is not compressed; leave out {target.suffix}")
        _, beside = written_files(target)
        with atomic_file(beside) as names, atomic_file(target) as new:
            names.write_bytes(vocabulary(words))
            WRITERS[form](words, new)
        return
    with atomic_file(target) as new, new.open("wb") as file:
        if compressor is None:
            WRITERS[form](words, file)
        else:
            with io.BufferedWriter(compressor(file), 1 << 20) as stream:
                WRITERS[form](words, stream)


def written_files(target: Path) -> list[Path]:
    """The files that `write` makes or replaces under this name."""
    return [target, target.with_suffix(".vocab.txt")] if target.suffix in BESIDE else [target]


def vocabulary(words: WordTable) -> bytes:
    """The words, one a line, in the order of the rows."""
    return b"".join(_line(word) for word in _words(words))


def _words(words: WordTable) -> Iterator[bytes]:
    text, bounds = words.lexicon.text.tobytes(), words.lexicon.bounds.tolist()
    return (text[begin:end] for begin, end in pairwise(bounds))


def _line(word: bytes) -> bytes:
    if b"\n" in word:
        raise FileError(
            f"the word {word.decode()!r} has a line break, which this format cannot hold: save a folder"
        )
    return word + b"\n"


def _blocks(words: WordTable) -> Iterator[tuple[list[bytes], NDArray[np.float32]]]:
    names = list(_words(words))
    for start in range(0, len(names), BLOCK):
        block = names[start : start + BLOCK]
        yield block, words.vectors(np.arange(start, start + len(block)))


def _glove(words: WordTable, file: IO[bytes]) -> None:
    threads = thread_count(None)
    for names, rows in _blocks(words):
        lines = kernels.format_rows(rows, " ", threads)
        file.write(
            b"".join(_line(name + b" " + line) for name, line in zip(names, lines, strict=True))
        )


def _word2vec_text(words: WordTable, file: IO[bytes]) -> None:
    file.write(b"%d %d\n" % (len(words), words.dim))
    _glove(words, file)


def _word2vec_binary(words: WordTable, file: IO[bytes]) -> None:
    file.write(b"%d %d\n" % (len(words), words.dim))
    for names, rows in _blocks(words):
        for name, row in zip(names, rows.astype("<f4", copy=False), strict=True):
            if b" " in name:
                raise FileError(
                    f"the word {name.decode()!r} has a space, which word2vec's binary format cannot hold: write .txt"
                )
            file.write(_line(name)[:-1] + b" " + row.tobytes() + b"\n")


def _npy(words: WordTable, path: Path) -> None:
    matrix = words.matrix if words.scales is None else words.vectors(np.arange(len(words)))
    matrix = np.ascontiguousarray(matrix)
    with path.open("wb") as file:
        npy_format.write_array_header_1_0(file, npy_format.header_data_from_array_1_0(matrix))
        write_array(file, matrix)


def _safetensors(words: WordTable, path: Path) -> None:
    matrix, scales = words.matrix, words.scales
    if words.rows.blocks:  # other readers know one scale a row at most
        matrix, scales = words.vectors(np.arange(len(words))), None
    safetensors.write_matrix(path, matrix, scales)


#: The writer of each suffix, into a stream, or to a path where the vocabulary is a file beside it.
WRITERS: dict[str, Callable[[WordTable, Any], None]] = {
    ".txt": _glove,
    ".vec": _word2vec_text,
    ".bin": _word2vec_binary,
    ".npy": _npy,
    ".safetensors": _safetensors,
}
BESIDE = (".npy", ".safetensors")

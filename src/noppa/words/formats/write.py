"""`write`: word vectors in the formats of other programs; a file appears under its name only when it is complete."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable, Iterator
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.errors import FileError
from noppa.extras import needs
from noppa.io.atomic import atomic_file
from noppa.parameters import path_of
from noppa.threads import thread_count
from noppa.words import storage as word_folder
from noppa.words.formats.arrays import MATRIX, SCALES
from noppa.words.formats.rows import write_array

if TYPE_CHECKING:
    from noppa.words.word_vectors import WordVectors

BLOCK = 4096
COMPRESSED: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": lambda file: gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0),
    ".bz2": lambda file: bz2.BZ2File(file, "wb"),
    ".xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115
}


def write(words: WordVectors, path: str | PathLike[str], pieces: bool = False) -> None:
    """Write word vectors in the format of the suffix: `.txt`, `.vec`, `.bin`, `.npy` or `.safetensors`.

    Text and binary may end in `.gz`, `.bz2` or `.xz`. A name without such an ending becomes a saved folder.
    With `pieces`, write pieces of words too. A folder always has them; to other programs they would be words.
    """
    target = path_of(path)
    if target.suffix in (".zip", ".zst"):
        raise FileError(f"cannot write {target}: only {', '.join(COMPRESSED)} can be compressed")
    compressor = COMPRESSED.get(target.suffix)
    suffix = target.with_suffix("").suffix if compressor else target.suffix
    if compressor and suffix not in STREAMED:
        raise FileError(f"cannot write {target}: only {', '.join(STREAMED)} can be compressed")
    if suffix not in WRITERS:
        word_folder.write(target, words)
        return
    if not pieces:
        words = words.without_pieces()
    if suffix not in STREAMED:
        _, names = written_files(target)
        with atomic_file(names) as new_names, atomic_file(target) as new:
            new_names.write_bytes(vocabulary(words))
            WRITERS[suffix](words, new)
        return
    with atomic_file(target) as new, new.open("wb") as file:
        if compressor is None:
            WRITERS[suffix](words, file)
        else:
            with io.BufferedWriter(compressor(file), 1 << 20) as stream:
                WRITERS[suffix](words, stream)


def written_files(target: Path) -> list[Path]:
    """Return the files that `write` creates or replaces under this name."""
    has_vocabulary = target.suffix in WRITERS and target.suffix not in STREAMED
    return [target, target.with_suffix(".vocab.txt")] if has_vocabulary else [target]


def vocabulary(words: WordVectors) -> bytes:
    """Return the words, one per line, in the order of the rows."""
    return b"".join(_line(word) for word in _words(words))


def _words(words: WordVectors) -> Iterator[bytes]:
    text, bounds = words.lexicon.text.tobytes(), words.lexicon.bounds.tolist()
    return (text[begin:end] for begin, end in pairwise(bounds))


def _line(word: bytes) -> bytes:
    if b"\n" in word:
        raise FileError(
            f"the word {word.decode()!r} has a line break, which this format cannot hold: save a folder"
        )
    return word + b"\n"


def _blocks(words: WordVectors) -> Iterator[tuple[list[bytes], NDArray[np.float32]]]:
    names = list(_words(words))
    for start in range(0, len(names), BLOCK):
        block = names[start : start + BLOCK]
        yield block, words.vectors(np.arange(start, start + len(block)))


def _write_glove(words: WordVectors, file: IO[bytes]) -> None:
    threads = thread_count(None)
    for names, rows in _blocks(words):
        lines = kernels.format_rows(rows, " ", threads)
        file.write(
            b"".join(_line(name + b" " + line) for name, line in zip(names, lines, strict=True))
        )


def _write_word2vec_text(words: WordVectors, file: IO[bytes]) -> None:
    file.write(b"%d %d\n" % (len(words), words.dim))
    _write_glove(words, file)


def _write_word2vec_binary(words: WordVectors, file: IO[bytes]) -> None:
    file.write(b"%d %d\n" % (len(words), words.dim))
    for names, rows in _blocks(words):
        for name, row in zip(names, rows.astype("<f4", copy=False), strict=True):
            if b" " in name:
                raise FileError(
                    f"the word {name.decode()!r} has a space, which word2vec's binary format cannot hold: write .txt"
                )
            file.write(_line(name)[:-1] + b" " + row.tobytes() + b"\n")


def _write_npy(words: WordVectors, path: Path) -> None:
    matrix = words.matrix if words.scales is None else words.vectors(np.arange(len(words)))
    matrix = np.ascontiguousarray(matrix)
    with path.open("wb") as file:
        npy_format.write_array_header_1_0(file, npy_format.header_data_from_array_1_0(matrix))
        write_array(file, matrix)


def _write_safetensors(words: WordVectors, path: Path) -> None:
    matrix, scales = words.matrix, words.scales
    if words.rows.blocks:  # other readers know at most one scale per row
        matrix, scales = words.vectors(np.arange(len(words))), None
    write_tensors(path, {MATRIX: matrix} | ({} if scales is None else {SCALES: scales}))


def write_tensors(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Write arrays by name into a safetensors file."""
    with needs("safetensors", "writing a safetensors file"):
        from safetensors import SafetensorError
        from safetensors.numpy import save_file
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    try:
        save_file(contiguous, path, {"format": "pt"})
    except SafetensorError as error:
        raise FileError(f"cannot write {path}: {error}") from error


#: The writers that write into a stream; the others write a file and, beside it, the vocabulary.
STREAMED: dict[str, Callable[[Any, Any], None]] = {
    ".txt": _write_glove,
    ".vec": _write_word2vec_text,
    ".bin": _write_word2vec_binary,
}
WRITERS: dict[str, Callable[[Any, Any], None]] = {
    **STREAMED,
    ".npy": _write_npy,
    ".safetensors": _write_safetensors,
}

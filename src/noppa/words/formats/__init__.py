"""Vector files of any format, read and written.

    path -> compression -> sniff -> text | arrays | fasttext -> rows -> Loaded

`read` recognizes a file by its content, never by its name; `write` chooses by the name it is given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError, InputError, warn
from noppa.io.compression import open_plain
from noppa.io.paths import require_readable
from noppa.words.formats.arrays import add_matrix, read_arrays
from noppa.words.formats.fasttext import read_fasttext
from noppa.words.formats.rows import Options, Report, Rows, in_dtype
from noppa.words.formats.text import SAMPLE, read_binary, read_text, sniff
from noppa.words.formats.write import WRITERS, write, written_files
from noppa.words.frequencies import Probabilities
from noppa.words.lexicon import Lexicon
from noppa.words.ngram_vectors import NgramVectors

__all__ = ["WRITERS", "Loaded", "Options", "Report", "in_dtype", "read", "write", "written_files"]

#: Formats that are mapped into memory, and so cannot come from a pipe.
MAPPED = ("npy", "safetensors", "fastText model")


@dataclass(frozen=True)
class Loaded:
    """text (bytes,), bounds (rows + 1,), matrix (rows, dim), scales (rows,) or None, and the report."""

    text: NDArray[np.uint8]
    bounds: NDArray[np.int64]
    matrix: NDArray[Any]
    scales: NDArray[np.float32] | None
    report: Report
    probabilities: Probabilities | None = None
    """Of the words, if the file has their counts."""
    ngrams: NgramVectors | None = None
    """Of a whole fastText model that has some."""


def read(source: str | PathLike[str] | Any, options: Options) -> Loaded:
    """Read the words and rows of a vector file, or of a gensim `KeyedVectors` object."""
    if not isinstance(source, (str, PathLike)):
        return _read_object(source, options)
    path = Path(source)
    require_readable(path, str(path))
    rows, model = Rows(options, Report(str(path))), None
    plain = open_plain(path, options.member)
    try:
        content = sniff(plain.peek(SAMPLE), str(path), options.header)
        rows.report.format, rows.report.compression = content.format, plain.compression
        if content.format in MAPPED and not path.is_file():
            raise FileError(
                f"{path} is a pipe, and a {content.format} must be a file: save it first"
            )
        if content.format == "fastText model":
            model = read_fasttext(path, plain, rows)
        elif content.format in MAPPED:
            if plain.compression != "none":
                raise FileError(
                    f"{path} is a compressed {content.format} file: decompress it first"
                )
            read_arrays(path, content.format, rows)
        else:
            plain.read(content.header_bytes)
            reader = read_binary if content.format == "word2vec binary" else read_text
            reader(plain, content, rows)
    finally:
        plain.close()
    loaded = _finish(rows)
    if model is None:
        return loaded
    words = Lexicon(loaded.text, loaded.bounds).words
    is_whole = options.limit is None and options.keep is None and model.ngrams.count
    return replace(
        loaded,
        probabilities=model.probabilities(words),
        ngrams=model.ngrams if is_whole else None,
    )


def _read_object(source: Any, options: Options) -> Loaded:
    """Read a `KeyedVectors` without its counts, which gensim makes up from the ranks of the words."""
    kind = type(source).__name__
    names, vectors = getattr(source, "index_to_key", None), getattr(source, "vectors", None)
    if names is None and hasattr(source, "wv"):
        raise InputError(f"a {kind} is a whole model", "give its vectors, model.wv")
    if names is None or vectors is None:
        raise InputError(f"a {kind} is neither a path nor a gensim KeyedVectors")
    rows = Rows(options, Report(f"a {kind}", format="gensim KeyedVectors"))
    words = [str(name).encode("utf-8", "surrogatepass") for name in names]
    add_matrix(words, vectors, None, rows)
    return _finish(rows)


def _finish(rows: Rows) -> Loaded:
    loaded, report = Loaded(*rows.finish(), rows.report), rows.report
    if report.skipped_count:
        first = report.skipped[0]
        warn(f"{report.path}: {report.skipped_count} lines were skipped, the first: {first}")
    return loaded

"""`read`: a vector file of any format, or a gensim object, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError, InputError
from noppa.io.compression import open_plain
from noppa.io.inputs import require_readable
from noppa.words.formats.arrays import add_matrix, read_arrays
from noppa.words.formats.binary import read_binary
from noppa.words.formats.fasttext import read_fasttext
from noppa.words.formats.load_options import Options
from noppa.words.formats.load_report import Report
from noppa.words.formats.row_buffer import Rows
from noppa.words.formats.sniff import SAMPLE, sniff
from noppa.words.formats.text_lines import read_text
from noppa.words.frequencies import Probabilities
from noppa.words.lexicon import Lexicon
from noppa.words.ngram_vectors import NgramVectors

#: Formats that are mapped into memory, and so neither compressed nor a stream.
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
    """Of the words, where the file has their counts."""
    ngrams: NgramVectors | None = None
    """Of a whole fastText model that has some."""


def read(source: str | PathLike[str] | Any, options: Options) -> Loaded:
    """Words and rows of a vector file, or of a gensim `KeyedVectors` object."""
    if not isinstance(source, (str, PathLike)):
        return _read_object(source, options)
    path = Path(source)
    require_readable(path, str(path), "check the name, or fetch a set with noppa vectors get")
    rows, model = Rows(options, Report(str(path))), None
    plain = open_plain(path, options.member)
    try:
        sample = plain.peek(SAMPLE)
        content = sniff(sample, str(path), options.header)
        rows.report.format, rows.report.compression = content.format, plain.compression
        rows.report.declared = content.declared
        if content.format in MAPPED:
            if not path.is_file():
                raise FileError(
                    f"{path} is a pipe, and a matrix is read from a file: save it first"
                )
            if content.format == "fastText model":
                model = read_fasttext(path, plain, rows, options)
            elif plain.compression != "none":
                raise FileError(
                    f"{path} is a compressed {content.format} file: decompress it first"
                )
            else:
                read_arrays(path, content.format, rows, options)
        else:
            plain.read(content.header_bytes)
            reader = read_binary if content.format == "word2vec binary" else read_text
            reader(plain, content, rows, options)
    finally:
        plain.close()
    loaded = _finished(rows)
    if model is None:
        return loaded
    words = Lexicon(loaded.text, loaded.bounds).words
    whole = options.limit is None and options.keep is None and model.ngrams.count
    return replace(
        loaded,
        probabilities=model.probabilities(words),
        ngrams=model.ngrams if whole else None,
    )


def _read_object(source: Any, options: Options) -> Loaded:
    """A `KeyedVectors`, without its counts: gensim makes them up from the ranks of the words."""
    names = getattr(source, "index_to_key", None) or getattr(source, "index2word", None)
    vectors = getattr(source, "vectors", None)
    if names is None and hasattr(source, "wv"):
        raise InputError(f"a {type(source).__name__} is a whole model: give its vectors, model.wv")
    if names is None or vectors is None:
        raise InputError(
            f"a {type(source).__name__} is neither a path nor a gensim KeyedVectors: give one of these"
        )
    rows = Rows(options, Report(f"a {type(source).__name__}", format="gensim KeyedVectors"))
    add_matrix(
        [str(name).encode("utf-8", "surrogatepass") for name in names], vectors, None, rows, options
    )
    return _finished(rows)


def _finished(rows: Rows) -> Loaded:
    loaded = Loaded(*rows.finish(), rows.report)
    rows.report.rows = len(loaded.matrix)
    rows.report.finish()
    return loaded

"""The saved folder of word vectors: its header and arrays."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.constants import CASE
from noppa.errors import FileError, ParameterError
from noppa.io import schema, storage
from noppa.io.storage import Folder
from noppa.text.tokenizer import ENGLISH, Tokenizer
from noppa.words.frequencies import Probabilities
from noppa.words.lexicon import UNKNOWN, Lexicon
from noppa.words.matrix import Matrix, packed_layout
from noppa.words.ngram_vectors import LONGEST_NGRAM, MappedRows, NgramVectors

if TYPE_CHECKING:
    from noppa.words.word_vectors import WordVectors

KIND = "words"
#: Up to this many words the hash table is left out and built on opening, in a few milliseconds, and numbers are stored in
#: 32 bits; a larger folder is mapped as it is.
SMALL = 200_000

FIELDS = {
    "words": schema.whole(1, schema.MOST_ROWS),
    "dim": schema.whole(1, schema.MOST_ROWS),
    "?pieces": schema.whole(0, schema.MOST_ROWS),
    "?blocks": schema.wholes(1, schema.MOST_ROWS),
    "?bits": schema.wholes(4, 8),
    "?ordered columns": schema.wholes(0, schema.MOST_ROWS, 2),
    "unknown": schema.one_of(UNKNOWN),
    "case": schema.one_of(CASE),
    "?tokenizer": schema.is_named,
    "probabilities": schema.maybe(schema.is_text),
    "?ngrams": schema.wholes(0, schema.MOST_ROWS, 3),
}
ARRAYS = {
    "text": "u1 bytes*",
    "bounds": "i4|i8 words+1",
    "?slots": "u8 slots*",
}
#: One column per number, or rows of packed columns.
PLAIN, PACKED = {"matrix": "f4|f2|i1 words dim"}, {"matrix": "u1 words row_bytes"}
#: Rows of n-grams, and for a pruned model the rising numbers of their buckets.
NGRAMS = {"ngrams": "f4 ngrams dim", "?ngram_buckets": "i4 ngrams <buckets"}
PROBABILITIES = {"probabilities": "f4|f8 words probability", "counted": "b1 words"}


def write(path: str | PathLike[str], words: WordVectors) -> None:
    """Write a folder; an existing one is replaced only by a complete new one."""
    lexicon, rows, probabilities = words.lexicon, words.rows, words.word_probabilities
    arrays: dict[str, NDArray[Any]] = {
        "text": lexicon.text,
        "bounds": lexicon.bounds,
        "matrix": rows.values,
    }
    if rows.scales is not None:
        arrays["scales"] = rows.scales
    if probabilities is not None:
        arrays["probabilities"] = probabilities.values
        arrays["counted"] = probabilities.counted
    if len(lexicon) > SMALL:
        arrays["slots"] = lexicon.slots
    else:
        arrays["bounds"] = storage.downcast_if_lossless(lexicon.bounds, np.int32)
        if probabilities is not None:
            arrays["probabilities"] = storage.downcast_if_lossless(probabilities.values, np.float32)
    header = {
        "words": len(lexicon),
        "dim": words.dim,
        "pieces": lexicon.pieces,
        "blocks": rows.blocks,
        "unknown": lexicon.unknown,
        "case": lexicon.case,
        "probabilities": None if probabilities is None else probabilities.source,
    }
    if lexicon.tokenizer != ENGLISH:
        header["tokenizer"] = lexicon.tokenizer.to_dict()
    if rows.bits:
        header["bits"] = rows.bits
    if words.ngrams is not None:
        ngrams = words.ngrams
        header["ngrams"] = [*ngrams.lengths, ngrams.buckets]
        arrays["ngrams"] = ngrams.matrix
        if ngrams.pruned is not None:
            buckets, numbers = ngrams.pruned
            arrays["ngrams"], arrays["ngram_buckets"] = ngrams.matrix[numbers], buckets
    if words.ordered_columns:
        header["ordered columns"] = words.ordered_columns
    storage.write_folder(path, KIND, header, arrays)


def read(path: Path, unknown: str | None, case: str | None, verified: int) -> dict[str, Any]:
    """Return the attributes of the `WordVectors` in a folder, with another `unknown` or `case` if given."""
    folder = storage.read_folder(path, KIND, FIELDS, verified)
    header = folder.header
    pieces = header.get("pieces", 0)
    sizes = {"words": header["words"], "dim": header["dim"]}
    arrays = folder.read(ARRAYS, sizes)
    rows = _rows(folder, sizes)
    probabilities = None
    if header["probabilities"] is not None:
        both = folder.read(PROBABILITIES, sizes)
        probabilities = Probabilities(
            np.asarray(both["probabilities"], np.float64), both["counted"], header["probabilities"]
        )
    ngrams = _ngrams(folder, sizes) if "ngrams" in header else None
    bounds, slots = np.asarray(arrays["bounds"], np.int64), arrays.get("slots")
    schema.check_bounds(bounds, len(arrays["text"]), folder.file("bounds"))
    if slots is not None:
        try:
            kernels.check_slots(slots, header["words"] - pieces)
        except ValueError as error:
            raise FileError(f"{folder.file('slots')} has {error}; copy it again") from None
    unknown = unknown or header["unknown"]
    if unknown == "ngrams" and ngrams is None:
        raise FileError(
            f"{path} holds no n-grams, which unknown='ngrams' needs: use 'skip' or 'zero'"
        )
    ordered = header.get("ordered columns")
    if ordered is not None and not ordered[0] < ordered[1] <= header["dim"]:
        raise _damaged(folder, f"'ordered columns' {ordered} are not within {header['dim']}")
    return {
        "lexicon": Lexicon(
            arrays["text"],
            bounds,
            slots,
            pieces,
            unknown,
            case or header["case"],
            _tokenizer(folder) if "tokenizer" in header else ENGLISH,
        ),
        "rows": rows,
        "word_probabilities": probabilities,
        "ordered_columns": None if ordered is None else tuple(ordered),
        "ngrams": ngrams if unknown == "ngrams" else None,
        "header_checksum": folder.header_checksum,
    }


def _damaged(folder: Folder, reason: str) -> FileError:
    return FileError(f"{folder.path / storage.HEADER} is damaged: {reason}")


def _ngrams(folder: Folder, sizes: dict[str, int]) -> NgramVectors:
    shortest, longest, buckets = folder.header["ngrams"]
    arrays = folder.read(NGRAMS, {"dim": sizes["dim"], "buckets": buckets})
    rows, left = arrays["ngrams"], arrays.get("ngram_buckets")
    pruned = None if left is None else (left, np.arange(len(left), dtype=np.int32))
    fits = len(rows) == buckets if left is None else bool((left[1:] > left[:-1]).all())
    if not fits or longest > LONGEST_NGRAM:
        raise FileError(
            f"{folder.path} is damaged: {len(rows)} rows of n-grams of up to {longest} characters do not fit its "
            f"{buckets} buckets; copy it again"
        )
    source = MappedRows.from_matrix(rows)
    return NgramVectors(
        source, 0, len(rows), buckets, (shortest, longest), pruned, str(folder.path)
    )


def _tokenizer(folder: Folder) -> Tokenizer:
    try:
        return Tokenizer.from_dict(folder.header["tokenizer"])
    except (TypeError, ParameterError) as error:
        raise FileError(
            f"{folder.path / storage.HEADER} has an unknown tokenizer ({error}): it is damaged, or a newer version of noppa "
            "wrote it"
        ) from error


def _rows(folder: Folder, sizes: dict[str, int]) -> Matrix:
    """Read the vectors, and their scales if they are quantized."""
    blocks, bits = folder.header.get("blocks", []), folder.header.get("bits", [])
    if bits and (len(bits) != len(blocks) or not set(bits) <= {4, 8}):
        raise _damaged(folder, f"'bits' must be 4 or 8 for each of {len(blocks)} blocks")
    if blocks and sum(blocks) != sizes["dim"]:
        raise _damaged(folder, f"'blocks' add up to {sum(blocks)} of {sizes['dim']} columns")
    sizes |= {"blocks": len(blocks)}
    if bits:
        sizes |= {"row_bytes": packed_layout(blocks, bits)[-1].last}
    matrix = folder.read(PACKED if bits else PLAIN, sizes)["matrix"]
    if matrix.dtype.kind == "f":
        if blocks:
            raise FileError(f"{folder.path} is damaged: blocks belong to scales, and it has none")
        return Matrix(matrix, None)
    scales = folder.read({"scales": scales_line(blocks, bits)}, sizes)["scales"]
    return Matrix(matrix, scales, blocks, bits)


def scales_line(blocks: Sequence[int], bits: Sequence[int]) -> str:
    """Return how the scales of quantized rows are declared."""
    return ("f4|f2 " if bits else "f4 ") + ("words blocks" if blocks else "words")

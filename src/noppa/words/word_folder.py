"""The saved folder of word vectors: which arrays and facts it holds."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError
from noppa.io import schema, storage
from noppa.io.storage import Folder
from noppa.kernels.backend import kernels
from noppa.kernels.constants import CASE
from noppa.words.frequencies import Probabilities
from noppa.words.lexicon import UNKNOWN, Lexicon
from noppa.words.matrix import Matrix
from noppa.words.word_table import WordTable

KIND = "words"
#: Up to this many words the hash table is left out and built on opening, in a few milliseconds, and numbers are stored in
#: 32 bits; a larger folder is mapped as it is.
SMALL = 200_000

FIELDS = {
    "words": schema.whole(1, schema.MOST_ROWS),
    "dim": schema.whole(1, schema.MOST_ROWS),
    "?pieces": schema.whole(0, schema.MOST_ROWS),
    "?blocks": schema.wholes(1, schema.MOST_ROWS),
    "unknown": schema.one_of(UNKNOWN),
    "case": schema.one_of(CASE),
    "probabilities": schema.maybe(schema.TEXT),
}
ARRAYS = {
    "text": "u1 bytes*",
    "bounds": "i4|i8 words+1",
    "?slots": "u8 slots*",
    "matrix": "f4|f2|i1 words dim",
}
PROBABILITIES = {"probabilities": "f4|f8 words probability", "counted": "b1 words"}


def write(path: str | PathLike[str], words: WordTable) -> None:
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
        arrays["bounds"] = storage.narrowed(lexicon.bounds, np.int32)
        if probabilities is not None:
            arrays["probabilities"] = storage.narrowed(probabilities.values, np.float32)
    header = {
        "words": len(lexicon),
        "dim": words.dim,
        "pieces": lexicon.pieces,
        "blocks": rows.blocks,
        "unknown": lexicon.unknown,
        "case": lexicon.case,
        "probabilities": None if probabilities is None else probabilities.source,
    }
    storage.write_folder(path, KIND, header, arrays)


def read(path: Path, unknown: str | None, case: str | None, verified: int) -> WordTable:
    """What a folder holds, with another `unknown` or `case` where one is given."""
    words = storage.consistently(path, lambda place: _read(place, unknown, case, verified))
    words.path = path.absolute()
    return words


def _read(path: Path, unknown: str | None, case: str | None, verified: int) -> WordTable:
    folder = storage.read_folder(path, KIND, FIELDS, verified)
    header = folder.header
    pieces, blocks = header.get("pieces", 0), header.get("blocks", [])
    sizes = {"words": header["words"], "dim": header["dim"], "blocks": len(blocks)}
    arrays = folder.read(ARRAYS, sizes)
    scales = _scales(folder, arrays["matrix"], blocks, sizes)
    probabilities = None
    if header["probabilities"] is not None:
        both = folder.read(PROBABILITIES, sizes)
        probabilities = Probabilities(
            np.asarray(both["probabilities"], np.float64), both["counted"], header["probabilities"]
        )
    folder.check_nothing_else()
    bounds, slots = np.asarray(arrays["bounds"], np.int64), arrays.get("slots")
    schema.check_bounds(bounds, len(arrays["text"]), folder.file("bounds"))
    if slots is not None:
        _check_slots(slots, header["words"] - pieces, folder.file("slots"))
    lexicon = Lexicon(
        arrays["text"], bounds, slots, pieces, unknown or header["unknown"], case or header["case"]
    )
    words = WordTable(lexicon, Matrix(arrays["matrix"], scales, blocks), probabilities)
    words.header_checksum = folder.header_checksum
    return words


def _scales(
    folder: Folder, matrix: NDArray[Any], blocks: list[int], sizes: dict[str, int]
) -> NDArray[np.float32] | None:
    """The scales that 8-bit rows have, and only they."""
    if matrix.dtype != np.int8:
        if blocks:
            raise FileError(f"{folder.path} is damaged: blocks belong to scales, and it has none")
        return None
    if blocks and sum(blocks) != sizes["dim"]:
        raise FileError(
            f"{folder.path / storage.HEADER} is damaged: 'blocks' add up to {sum(blocks)} of {sizes['dim']} columns"
        )
    return folder.read({"scales": scales_line(blocks)}, sizes)["scales"]


def scales_line(blocks: Sequence[int]) -> str:
    """How the scales of 8-bit rows are declared."""
    return "f4 words blocks" if blocks else "f4 words"


def _check_slots(slots: NDArray[np.uint64], words: int, file: Path) -> None:
    """Refuse a hash table that no search may use; the NumPy twin saves an empty one."""
    try:
        if len(slots):
            kernels.check_slots(slots, words)
    except ValueError as error:
        raise FileError(f"{file} has {error}; copy it again") from None

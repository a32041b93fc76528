"""The saved folder of word vectors: which arrays and facts it holds."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import storage
from noppa.errors import FileError
from noppa.frequencies import Probabilities
from noppa.lexicon import Lexicon
from noppa.matrix import Matrix

KIND = "words"
#: Up to so many words a folder is kept small, and what look-up needs is made on opening, in a few milliseconds; the
#: arrays of a larger one are mapped as they are.
SMALL = 200_000


def write(
    path: str | PathLike[str], lexicon: Lexicon, rows: Matrix, probabilities: Probabilities | None
) -> None:
    """Write a folder; an existing one is replaced only by a complete new one."""
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
        "dim": rows.values.shape[1],
        "pieces": lexicon.pieces,
        "blocks": rows.blocks,
        "unknown": lexicon.unknown,
        "case": lexicon.case,
        "probabilities": None if probabilities is None else probabilities.source,
    }
    storage.write_folder(path, KIND, header, arrays)


def read(
    path: Path, unknown: str | None, case: str | None, verified: int
) -> tuple[Lexicon, Matrix, Probabilities | None]:
    """What a folder holds, with another `unknown` or `case` where one is given."""
    folder = storage.read_folder(path, KIND, verified)
    arrays, header = folder.arrays, folder.header
    try:
        lexicon = Lexicon(
            arrays["text"],
            np.asarray(arrays["bounds"], np.int64),
            arrays.get("slots"),
            header.get("pieces", 0),
            unknown or header["unknown"],
            case or header["case"],
        )
        rows = Matrix(arrays["matrix"], arrays.get("scales"), header.get("blocks", ()))
        probabilities = None
        if header["probabilities"] is not None:
            probabilities = Probabilities(
                np.asarray(arrays["probabilities"], np.float64),
                arrays["counted"],
                header["probabilities"],
            )
    except KeyError as error:
        raise FileError(f"{path} is damaged: it lacks {error}; copy the folder again") from error
    return lexicon, rows, probabilities

"""The saved folder of an encoder: which arrays and facts it holds, and where its words lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from os import PathLike
from os.path import normpath
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa import refine, storage
from noppa.errors import FileError, ParameterError
from noppa.fitted import Fitted
from noppa.methods import METHODS
from noppa.methods.protocol import Method
from noppa.refine import Refinement
from noppa.words import WordVectors

KIND = "encoder"
WORDS = "words"
SCALES = "scales of words"


class Contents(NamedTuple):
    """All that makes an encoder, but a tokenizer of its own, which no file holds: `custom` tells that it has one."""

    words: WordVectors
    method: Method
    refine: tuple[Refinement, ...]
    fitted: Fitted
    custom: bool


def write(path: str | PathLike[str], contents: Contents) -> None:
    """Write a folder with the words inside; an existing one is replaced only by a complete new one."""
    arrays = contents.fitted.arrays()
    _write(path, contents, {"words": WORDS}, arrays, lambda new: contents.words.save(new / WORDS))


def write_beside(
    path: str | PathLike[str],
    contents: Contents,
    words: str,
    columns: tuple[int, int] | None,
    scales: NDArray[np.float32] | None,
) -> None:
    """Write a small folder for words that lie elsewhere: see `Encoder.save_beside`."""
    fitted = contents.fitted
    small = {name: array.astype(np.float32) for name, array in fitted.step_arrays().items()}
    seal = storage.seal_of(Path(normpath(Path(path) / words)))
    place = {"words": words, "seal of words": seal, "columns": columns}
    own = {} if scales is None else {SCALES: scales}
    _write(path, contents, place, {**fitted.learnt, **small, **own})


def _write(
    path: str | PathLike[str],
    contents: Contents,
    words: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    inside: Callable[[Path], None] | None = None,
) -> None:
    name = next(name for name, kind in METHODS.items() if kind is type(contents.method))
    header = {
        "method": {"name": name, **asdict(contents.method)},  # type: ignore[call-overload]
        "refine": [refine.described(refinement) for refinement in contents.refine],
        "tokenizer": "custom" if contents.custom else "noppa",
        **words,
        **contents.fitted.header(),
    }
    storage.write_folder(path, KIND, header, arrays, inside)


def read(path: str | PathLike[str], custom: bool, verified: int) -> Contents:
    """What a folder holds, which was saved with a tokenizer of its own or not, as `custom` says."""
    folder = storage.read_folder(path, KIND, verified)
    header = folder.header
    if (header["tokenizer"] == "custom") != custom:
        raise ParameterError(
            f"{path} was saved with noppa's own tokenizer: load it without tokenizer="
            if custom
            else f"{path} was saved with a tokenizer of its own: pass it as tokenizer="
        )
    place = folder.path / header.get("words", WORDS)
    words = WordVectors.open_folder(place, verified=verified)
    if "seal of words" in header and storage.seal_of(place) != header["seal of words"]:
        raise FileError(f"{path} was written for other words than {place}: copy both again")
    if header.get("columns") is not None:
        words = words.columns(*header["columns"])
    if (scales := folder.arrays.pop(SCALES, None)) is not None:
        words = words.with_scales(scales)
    try:
        method = _named(METHODS, header["method"])
        parts = tuple(_named(refine.REFINEMENTS, part) for part in header["refine"])
        fitted = Fitted.of(header, folder.arrays)
    except (KeyError, TypeError) as error:
        raise FileError(
            f"{path} cannot be understood ({error}): it was written by another version of noppa"
        ) from error
    return Contents(words, method, parts, fitted, custom)


def _named(kinds: dict[str, type[Any]], described: dict[str, Any]) -> Any:
    """The method or refinement that a header describes by its name and its parameters."""
    fields = dict(described)
    return kinds[fields.pop("name")](**fields)

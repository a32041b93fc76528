"""The saved folder of an encoder: which arrays and facts it holds, and where its words lie."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from os.path import normpath
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa.encoder import fitted
from noppa.encoder.fitted import Fitted
from noppa.errors import FileError, NoppaError, ParameterError
from noppa.io import schema, storage
from noppa.io.storage import Folder
from noppa.methods import registry
from noppa.methods.protocol import Method
from noppa.refine import REFINEMENTS, Refinement
from noppa.words import word_folder
from noppa.words.word_vectors import WordVectors

KIND = "encoder"
WORDS = "words"
#: Where the words of an encoder may lie: inside it, or beside it as those of presets do.
PLACES = (WORDS, f"../{WORDS}")
WORDS_CHECKSUM, SCALES = "seal of words", "scales of words"

FIELDS = {
    "method": schema.is_named,
    "refine": lambda parts: type(parts) is list and all(map(schema.is_named, parts)),
    "tokenizer": schema.one_of(("noppa", "custom")),
    "?words": schema.one_of(PLACES),
    f"?{WORDS_CHECKSUM}": schema.is_checksum,
    "?columns": schema.maybe(schema.wholes(0, schema.MOST_ROWS, 2)),
    **fitted.FIELDS,
}


class Contents(NamedTuple):
    """All that makes an encoder, but a tokenizer of its own, which no file holds: `custom` tells that it has one."""

    words: WordVectors
    method: Method
    refine: tuple[Refinement, ...]
    fitted: Fitted
    custom: bool


def write(path: str | PathLike[str], contents: Contents) -> None:
    """Write a folder with the words inside; an existing one is replaced only by a complete new one."""

    def inside(new: Path) -> dict[str, str]:
        contents.words.save(new / WORDS)
        return {WORDS_CHECKSUM: storage.header_checksum(new / WORDS)}

    _write(path, contents, {"words": WORDS}, contents.fitted.arrays(), inside)


def write_beside(
    path: str | PathLike[str],
    contents: Contents,
    words: str,
    columns: tuple[int, int] | None,
    scales: NDArray[np.float32] | None,
) -> None:
    """Write a small folder: `words` says, relative to it, where the words lie, `columns` which of theirs it takes.

    scales: of the vectors, where they are not those of the words.

    The header stores the checksum of the words' header, so that a preset never meets words of another version. Steps
    are float32, as the native kernels apply them.
    """
    if words not in PLACES:
        raise ParameterError(f"the words of a saved encoder lie in {PLACES}, not in {words!r}")
    state = contents.fitted
    small = {name: array.astype(np.float32) for name, array in state.step_arrays().items()}
    checksum = storage.header_checksum(Path(normpath(Path(path) / words)))
    place = {"words": words, WORDS_CHECKSUM: checksum, "columns": columns}
    own = {} if scales is None else {SCALES: scales}
    _write(path, contents, place, {**state.learnt, **small, **own})


def _write(
    path: str | PathLike[str],
    contents: Contents,
    words: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    inside: Callable[[Path], Mapping[str, Any]] | None = None,
) -> None:
    header = {
        "method": registry.to_dict(contents.method),
        "refine": [registry.to_dict(refinement) for refinement in contents.refine],
        "tokenizer": "custom" if contents.custom else "noppa",
        **words,
        **contents.fitted.header(),
    }
    storage.write_folder(path, KIND, header, arrays, inside)


def read(path: str | PathLike[str], custom: bool, verified: int) -> tuple[Contents, str]:
    """What a folder holds, which was saved with a tokenizer of its own or not, as `custom` says; and its checksum."""
    return storage.read_snapshot(path, lambda place: _read(place, custom, verified))


def _read(path: Path, custom: bool, verified: int) -> tuple[Contents, str]:
    folder = storage.read_folder(path, KIND, FIELDS, verified)
    header = folder.header
    if (header["tokenizer"] == "custom") != custom:
        raise ParameterError(
            f"{path} was saved with noppa's own tokenizer: load it without tokenizer="
            if custom
            else f"{path} was saved with a tokenizer of its own: pass it as tokenizer="
        )
    words, words_checksum = _words(folder)
    method = registry.adapted(_made(registry.METHODS, header["method"], folder))
    parts = tuple(
        registry.adapted_refinement(_made(REFINEMENTS, part, folder)) for part in header["refine"]
    )
    # those of the method, not of the header, which may leave out a default
    values = registry.parameters(registry.own_of(method)).items()
    whole = {name: value for name, value in values if type(value) is int}
    sizes = {**whole, "words": len(words), "dim": words.dim}
    state = Fitted.read(folder, method.LEARNT, sizes, method.width(words))
    folder.check_nothing_else()
    if len(state.steps) != len(method.refinements()) + len(parts):
        raise FileError(
            f"{path / storage.HEADER} is damaged: it has {len(state.steps)} steps for "
            f"{len(method.refinements()) + len(parts)} refinements"
        )
    return Contents(words, method, parts, state, custom), _checksum(folder, words_checksum)


def _words(folder: Folder) -> tuple[WordVectors, str]:
    """The words of an encoder, with the columns and the scales that it takes, and the checksum of their header."""
    header, place = folder.header, _place_of_words(folder)
    words = WordVectors.open_folder(place, verified=folder.verified)
    checksum = words.header_checksum
    assert checksum is not None, "words that come from a folder"
    if checksum != header.get(WORDS_CHECKSUM, checksum):
        raise FileError(f"{folder.path} was written for other words than {place}: copy both again")
    if header.get("columns") is not None:
        words = words.columns(*header["columns"])
    rows = words.rows
    sizes = {"words": len(words), "blocks": len(rows.blocks)}
    if scales := folder.read(
        {f"?{SCALES}": word_folder.scales_line(rows.blocks, rows.bits)}, sizes
    ):
        words = words.with_scales(scales[SCALES])
    return words, checksum


def words_of(path: Path) -> Path:
    """Where the words of a saved encoder lie."""
    return _place_of_words(storage.read_folder(path, KIND, FIELDS, storage.INSTALLED))


def checksum(path: Path) -> str:
    """One checksum for an encoder and its words, from the checksums of their headers, which list those of the arrays."""
    folder = storage.read_folder(path, KIND, FIELDS, storage.INSTALLED)
    return _checksum(folder, storage.header_checksum(_place_of_words(folder)))


def _checksum(folder: Folder, words_checksum: str) -> str:
    return storage.sha256((folder.header_checksum + words_checksum).encode())


def _place_of_words(folder: Folder) -> Path:
    return Path(normpath(folder.path / folder.header.get("words", WORDS)))


def _made(kinds: Mapping[str, type[Any]], stored: dict[str, Any], folder: Folder) -> Any:
    """The method or refinement that a header describes by its name and its parameters."""
    name = stored["name"]
    if name not in kinds:
        raise FileError(
            f"{folder.path} uses {name!r}, which is not registered here: call noppa.register({name!r}, its class) before "
            "loading (NOPPA_IMPORT=its.module for a command), or update noppa if a newer version wrote the folder"
        )
    try:
        return registry.made(kinds, stored)
    except (TypeError, ValueError, OverflowError, AttributeError, NoppaError) as error:
        raise FileError(
            f"{folder.path} cannot be understood ({name!r}: {error}): it was written by another version of noppa"
        ) from error

"""noppa inside other people's libraries: one short file each, each an extra of its own, imported when you ask for it.

    from noppa.integrations.sklearn import NoppaTransformer   # pip install 'noppa[sklearn]'

What every file shares is here: which encoder is meant and how it is written down, vectors for stores that compare
them, and the cosines of two columns.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

import noppa
from noppa.encoder import embedded
from noppa.errors import InputError, ParameterError

SIMILARITY = "similarity"


def encoder_of(model: Any = None, preset: str | None = None) -> Any:
    """An encoder as it is; a path or a preset's name, loaded; and for None the embedded model, or that preset of it."""
    if model is None:
        return noppa.load(preset)
    if isinstance(model, str | PathLike):
        return noppa.load(model)
    if not hasattr(model, "encode"):
        raise ParameterError(
            f"model must be an encoder, the path of a saved one or a preset's name, not {model!r}"
        )
    return model


def preset_of(encoder: Any) -> str | None:
    """The name of the preset that an encoder is, None for any other encoder."""
    path = getattr(encoder, "path", None)
    return path.name if path is not None and path.parent == embedded.FOLDER else None


def name_of(model: Any) -> str | None:
    """What `encoder_of` finds the same model by: a preset's name, a path, or None for the embedded model."""
    if model is None:
        return None
    if isinstance(model, str | PathLike):
        return str(model)
    path = getattr(encoder_of(model), "path", None)
    if path is None:
        raise ParameterError(
            "an encoder that is only in memory has no name to be written down: save it, and give the folder as the model"
        )
    return preset_of(model) or str(path)


def unit_rows(encoder: Any, texts: Any) -> NDArray[np.float32]:
    """Vectors of length one for a list of texts, (n, dim): what a store of vectors takes."""
    if isinstance(texts, str):
        raise InputError("a single text is no list of texts: put it in a list")
    # Before `encode` would propose an option of its own, which these libraries cannot pass on.
    for at, text in enumerate(texts if isinstance(texts, list) else ()):
        if not isinstance(text, str):
            raise InputError(f"item {at} is a {type(text).__name__}: every text must be a str")
    return np.asarray(encoder.encode(texts, normalize=True))


def unit_row(encoder: Any, text: Any) -> list[float]:
    """The vector of length one for one text, as a list."""
    if not isinstance(text, str):
        raise InputError(f"one text is wanted here, a str, and not a {type(text).__name__}")
    row: list[float] = encoder.encode(text, normalize=True).tolist()
    return row


def paired_cosines(encoder: Any, left: Any, right: Any, **options: Any) -> NDArray[np.float64]:
    """The cosine of each text of `left` with the text in the same place of `right`, or with the one text given there.

    options: those of `Encoder.encode`.
    """
    ours, theirs = (encoder.encode(texts, normalize=True, **options) for texts in (left, right))
    theirs = np.atleast_2d(theirs)
    if len(theirs) not in (1, len(ours)):
        raise ParameterError(
            f"{len(ours)} texts cannot be paired with {len(theirs)}: give as many, or one text"
        )
    # Summed in double precision without a copy of the rows in it.
    cosines = np.einsum("ij,ij->i", ours, theirs, dtype=float)
    return np.asarray(np.clip(cosines, -1, 1))

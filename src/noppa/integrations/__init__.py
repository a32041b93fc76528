"""noppa inside other people's libraries: one short file each, each an extra of its own, imported when you ask for it.

    from noppa.integrations.sklearn import NoppaTransformer   # pip install 'noppa[sklearn]'

What every file shares is here: the name of a model in a configuration, unit vectors for
vector stores, and the cosines of two columns.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import Encoder
from noppa.encoder.models import resolve_model
from noppa.encoder.storage import IN_MEMORY, Identity
from noppa.errors import InputError, ParameterError


def identity_of(encoder: Any) -> Identity:
    """Which encoder it is; one of another library counts as in memory."""
    return encoder.identity if isinstance(encoder, Encoder) else IN_MEMORY


def name_of(model: Any) -> str | None:
    """What `resolve_model` loads the same model by: a preset's name, a path, or None for the embedded model."""
    if model is None:
        return None
    if isinstance(model, str | PathLike):
        return str(model)
    identity = identity_of(resolve_model(model))
    if identity is IN_MEMORY:
        raise ParameterError(
            "an encoder that is only in memory has no name to store: save it, and give the folder as the model"
        )
    return identity.name


def unit_rows(encoder: Any, texts: Any) -> NDArray[np.float32]:
    """Vectors of length one for a list of texts, (n, dim): what a store of vectors takes."""
    if isinstance(texts, str):
        raise InputError("a single text is no list of texts: put it in a list")
    # Checked here: the error of `encode` proposes an option that these libraries cannot pass on.
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
    # dtype=float sums in float64 without converting the rows.
    cosines = np.einsum("ij,ij->i", ours, theirs, dtype=float)
    return np.asarray(np.clip(cosines, -1, 1))

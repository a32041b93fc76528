"""noppa inside other libraries: one module and one extra each.

    from noppa.integrations.sklearn import NoppaTransformer   # pip install 'noppa[sklearn]'

Everywhere, `model` is a preset's name, a path, an `hf:` name, an encoder, or any object that encodes.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.encoder.models import Model, resolve_model
from noppa.encoder.storage import IN_MEMORY, Identity
from noppa.errors import InputError, ParameterError


def identity_of(encoder: Any) -> Identity:
    """Return the identity of an encoder; one of another library counts as in memory."""
    identity: Identity = getattr(encoder, "identity", IN_MEMORY)
    return identity


def name_of(model: Model | None) -> str | None:
    """Return the name by which a configuration can load the same model again; None for the default."""
    if model is None or isinstance(model, str | PathLike):
        return None if model is None else str(model)
    identity = identity_of(resolve_model(model))
    if identity is IN_MEMORY:
        raise ParameterError(
            "an encoder in memory has no name to store", "save it, and give its folder as the model"
        )
    return identity.name


def unit_rows(encoder: Any, texts: Any) -> NDArray[np.float32]:
    """Return vectors of length one for a list of texts, (n, dim)."""
    if isinstance(texts, str):
        raise InputError("a list of texts is expected, not a single text", "put it in a list")
    return np.asarray(encoder.encode(texts, normalize=True))


def unit_row(encoder: Any, text: Any) -> list[float]:
    """Return the vector of length one for one text."""
    if not isinstance(text, str):
        raise InputError(f"one text is expected, a str, not a {type(text).__name__}")
    row: list[float] = encoder.encode(text, normalize=True).tolist()
    return row


def paired_cosines(encoder: Any, left: Any, right: Any, **options: Any) -> NDArray[np.float64]:
    """Return the cosine of each text of `left` with the text of `right` in the same place, or with its only text."""
    a, b = (encoder.encode(texts, normalize=True, **options) for texts in (left, right))
    b = np.atleast_2d(b)
    if len(b) not in (1, len(a)):
        raise ParameterError(
            f"{len(a)} texts cannot be paired with {len(b)}", "give as many, or one text"
        )
    # dtype=float sums in float64 without converting the rows.
    return np.asarray(np.clip(np.einsum("ij,ij->i", a, b, dtype=float), -1, 1))

"""noppa inside other people's libraries: one short file each, each an extra of its own, imported when you ask for it.

    from noppa.integrations.sklearn import NoppaTransformer   # pip install 'noppa[sklearn]'

What every file shares is here: which encoder is meant, and the cosines of two columns.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

import noppa
from noppa.errors import ParameterError

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


def paired_cosines(encoder: Any, left: Any, right: Any) -> NDArray[np.float64]:
    """The cosine of each text of `left` with the text in the same place of `right`, or with the one text given there."""
    ours, theirs = (
        np.asarray(encoder.encode(texts, normalize=True), float) for texts in (left, right)
    )
    if theirs.ndim == 2 and len(ours) != len(theirs):
        raise ParameterError(
            f"{len(ours)} texts cannot be paired with {len(theirs)}: give as many, or one text"
        )
    return np.asarray(np.clip((ours * theirs).sum(axis=-1), -1, 1))

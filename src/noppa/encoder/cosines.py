"""Encoders for those who compare texts by cosine: the preset made for it, or whatever the user gives."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.encoder.encoder import Encoder
from noppa.encoder.external import External, external
from noppa.encoder.loading import load
from noppa.threads import thread_count

#: The preset whose cosines tell how alike two texts are.
PRESET = "similarity"


def cosine_encoder(model: Any = None, tokenizer: str | None = None) -> Encoder | External:
    """The preset for cosines, another preset or saved encoder by its name or path, or any object with `encode`.

    tokenizer: that of an encoder that is given by its name, in place of its own.
    """
    if isinstance(model, (Encoder, External)):
        return model
    if model is None or isinstance(model, (str, PathLike)):
        return load(PRESET if model is None else model, tokenizer)
    return external(model)


def unit_vectors(
    encoder: Encoder | External, texts: list[str], threads: int | None = None
) -> NDArray[np.float32]:
    """Vectors of length one (texts, dim), of length zero where no word is known, which is no reason to warn here."""
    if isinstance(encoder, External):
        return encoder.encode(texts, normalize=True)
    count = thread_count(threads)
    encoder = encoder.for_texts(texts, count)
    return encoder.encode_ids(*encoder.look_up(texts, count), count, normalize=True)[0]

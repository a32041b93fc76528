"""Encoders whose vectors are means: one vector a word holds the weights, the steps and all.

Where a text's vector is the mean of what each of its words gives, a word gives what it has as a text of its own. Steps
of `noppa.refine` keep that true: they are linear, and a constant that is added to a mean may as well be added to each of
its terms. Only scaling to length one has to be left to the reader.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from noppa import Encoder, WordVectors
from noppa.errors import ParameterError
from noppa.methods import DCT, GEM, S3E, SIF, USIF, VLAWE, Average, FastSent, NoPPA, Sent2Vec, TfIdf
from noppa.refine import Unit, kernel_steps

BLOCK = 1 << 14


def _noppa(method: NoPPA) -> str:
    others = [part for part in method.parts if part != "word"]
    if others:
        return f"NoPPA's part {others[0]!r} is no sum over words, it depends on pairs of them or on their order"
    return f"NoPPA(max_tokens={method.max_tokens}) bounds the text" if method.max_tokens else ""


#: Why the vector of a text is not the mean of its words; empty where it is.
OBSTACLES: dict[type[Any], Callable[[Any], str]] = {
    Average: lambda method: "",
    SIF: lambda method: "",
    USIF: lambda method: (
        "USIF(normalize='dimension') scales each word by the others of its text"
        if method.normalize == "dimension"
        else ""
    ),
    NoPPA: _noppa,
    TfIdf: lambda method: "TfIdf divides by the weights of a text's words and not by their number",
    FastSent: lambda method: "FastSent adds words up and does not divide by their number",
    Sent2Vec: lambda method: "Sent2Vec has vectors of word pairs, too" if method.buckets else "",
    DCT: lambda method: "DCT depends on the order of the words",
    VLAWE: lambda method: "VLAWE takes powers of sums over the words nearest to each codeword",
    S3E: lambda method: "S3E is a covariance over clusters of words",
    GEM: lambda method: "GEM weighs each word by the words around it",
}


def is_unit(encoder: Encoder) -> bool:
    """Whether the encoder's last step scales to length one."""
    steps = encoder.fitted.steps
    return bool(steps) and isinstance(steps[-1], Unit)


def mean_words(encoder: Encoder, to: str) -> WordVectors:
    """One vector a word whose mean is the vector of a text, but for a last scaling to length one.

    to: the format that wants them, for the reason where there are none.
    """
    if why := OBSTACLES[type(encoder.method)](encoder.method):
        raise ParameterError(
            f"{to} holds one vector a word, whose mean is the text's, and {why}: export to onnx, or the word vectors "
            "alone with words_only (--words-only)"
        )
    words, state = encoder.words, encoder.fitted
    if type(encoder.method) is Average and not state.steps:
        return words
    steps = kernel_steps([step for step in state.steps if not isinstance(step, Unit)])
    pool = encoder.method.pooler(words, state.learnt)
    blocks = []
    for start in range(0, len(words), BLOCK):
        ids = np.arange(start, min(start + BLOCK, len(words)), dtype=np.int32)
        blocks.append(pool(ids, np.arange(len(ids) + 1, dtype=np.int64), steps, 1)[0])
    return WordVectors(
        words.words,
        np.concatenate(blocks).astype(np.float32),
        words.probabilities,
        unknown=words.unknown,
        case=words.case,
        pieces=words.pieces,
    )

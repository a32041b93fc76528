"""Encoders whose vectors are means over words, as one vector a word, with weights and steps applied.

If a text's vector is a mean over its words, the term of a word is its vector as a text of one word. The linear steps of
`noppa.refine` keep this true, and a constant added to a mean may as well be added to each term. Only scaling to length
one is left to the reader.
"""

from __future__ import annotations

import numpy as np

from noppa import Encoder, WordVectors
from noppa.errors import ParameterError
from noppa.methods import Average
from noppa.methods.protocol import NUMPY_FORMS, Method, last_defined
from noppa.methods.registry import own_of
from noppa.parameters import short_repr
from noppa.refine import Unit, kernel_steps

BLOCK = 1 << 14


def obstacle_of(method: Method) -> str:
    """Why the vector of a text is not the mean of its words; "" where it is.

    A subclass that writes another NumPy form inherits no declaration.
    """
    declared = last_defined(type(method), ("mean_obstacle", *NUMPY_FORMS)) == "mean_obstacle"
    obstacle = method.mean_obstacle if declared else None
    if obstacle is None:
        return (
            f"{short_repr(own_of(method))} does not declare that it is a mean (mean_obstacle = '')"
        )
    return obstacle


def is_unit(encoder: Encoder) -> bool:
    """Whether the encoder's last step scales to length one."""
    steps = encoder.fitted.steps
    return bool(steps) and isinstance(steps[-1], Unit)


def mean_words(encoder: Encoder, to: str) -> WordVectors:
    """One vector a word whose mean is the vector of a text, but for a last scaling to length one.

    to: the format, named in the error where there are none.
    """
    if why := obstacle_of(encoder.method):
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

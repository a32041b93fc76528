"""Encoders whose vectors are weighted means, as one vector per word."""

from __future__ import annotations

import numpy as np

from noppa import Encoder, WordVectors
from noppa.errors import ParameterError
from noppa.methods import Average
from noppa.methods.method import NUMPY_FORMS, last_defined
from noppa.parameters import short_repr
from noppa.refine import Unit, kernel_steps

BLOCK = 1 << 14


def ends_in_unit(encoder: Encoder) -> bool:
    """Return whether the encoder's last step scales vectors to length one."""
    steps = encoder.fitted.steps
    return bool(steps) and isinstance(steps[-1], Unit)


def mean_words(encoder: Encoder) -> WordVectors:
    """Return word vectors whose mean is the vector of a text, except for a final scaling to length one."""
    method, words, fitted = encoder.method, encoder.words, encoder.fitted
    # A subclass that only writes another NumPy form does not inherit the declaration.
    if last_defined(type(method), ("is_mean", *NUMPY_FORMS)) != "is_mean" or not method.is_mean:
        raise ParameterError(
            f"{short_repr(method)} is not a weighted mean of word vectors (is_mean), so no export can hold it",
            "export the word vectors alone with words_only=True",
        )
    if type(method) is Average and not fitted.steps:
        return words
    steps = kernel_steps([step for step in fitted.steps if not isinstance(step, Unit)])
    pool = method.pooler(words, fitted.learnt)
    blocks = []
    for start in range(0, len(words), BLOCK):
        # If the text's vector is a mean, the term of a word is the vector of a text with this word alone.
        ids = np.arange(start, min(start + BLOCK, len(words)), dtype=np.int32)
        blocks.append(pool(ids, np.arange(len(ids) + 1, dtype=np.int64), steps, 1)[0])
    return WordVectors(
        words.words,
        np.concatenate(blocks).astype(np.float32),
        words.probabilities,
        unknown=words.unknown,
        case=words.case,
        pieces=words.pieces,
        tokenizer=words.tokenizer,
    )

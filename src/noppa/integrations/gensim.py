"""gensim: its `KeyedVectors` as our word vectors, and ours as its `KeyedVectors`.

>>> import noppa
>>> from noppa.integrations.gensim import keyed_vectors, word_vectors
>>> words = noppa.WordVectors(["a", "cake"], [[0.1, 0.2], [0.3, 0.4]])
>>> word_vectors(keyed_vectors(words)).words
['a', 'cake']
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noppa import WordVectors
from noppa.encoder.embedded import DEFAULT
from noppa.encoder.models import Model, resolve_model
from noppa.errors import InputError
from noppa.extras import needs

with needs("gensim", "noppa.integrations.gensim"):
    from gensim.models import KeyedVectors

PROBABILITY = "probability"


def word_vectors(keyed: Any, **options: Any) -> WordVectors:
    """Return the word vectors of a `KeyedVectors`, with the options of `WordVectors.load`.

    Probabilities come back if `keyed_vectors` wrote them. gensim's "count" is not used: for vectors that were read from a
    file it is the reversed rank. Count words with `with_counts` or `with_corpus`.
    """
    words = WordVectors.load(keyed, **options)
    known = getattr(keyed, "expandos", {}).get(PROBABILITY)
    if known is None:
        return words
    probabilities = dict(zip(keyed.index_to_key, np.asarray(known, float).tolist(), strict=True))
    return WordVectors(
        words.words,
        words.matrix,
        [probabilities[word] for word in words.words],
        scales=words.scales,
        unknown=words.unknown,
        case=words.case,
    )


def keyed_vectors(words: WordVectors | Model | None = None) -> KeyedVectors:
    """Return a `KeyedVectors` of word vectors, or of those of a model, in their order and without pieces.

    Probabilities become its attribute "probability".
    """
    if not isinstance(words, WordVectors):
        words = getattr(resolve_model(words, DEFAULT), "words", None)
    if words is None:
        raise InputError("this model has no word vectors", "give an encoder of noppa")
    words = words.without_pieces()
    if len(words.repeated):
        # gensim would keep the word once and shift all rows after it
        raise InputError(f"the word {words.words[words.repeated[0]]!r} occurs twice")
    keyed = KeyedVectors(words.dim)
    keyed.add_vectors(words.words, words.vectors(np.arange(len(words))))
    if words.probabilities is not None:
        keyed.expandos[PROBABILITY] = np.array(words.probabilities, np.float64)
    return keyed

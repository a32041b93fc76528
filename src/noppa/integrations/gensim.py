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
from noppa.encoder.models import resolve_model
from noppa.errors import InputError
from noppa.extras import needs

with needs("gensim", "noppa.integrations.gensim"):
    from gensim.models import KeyedVectors

PROBABILITY = "probability"


def word_vectors(keyed: Any, **options: Any) -> WordVectors:
    """Our word vectors of a `KeyedVectors`, with the options of `WordVectors.load`.

    Probabilities come back where `keyed_vectors` wrote them. gensim's "count" is no frequency but, for vectors that were
    read from a file, the reversed rank, so it is never used as one: count with `with_counts` or `with_corpus`.
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


def keyed_vectors(words: Any = None) -> KeyedVectors:
    """A `KeyedVectors` of word vectors, or of those of an encoder, without the pieces of words.

    The order is kept, and where there are probabilities they are its attribute "probability". A word that stands twice is
    refused: gensim would keep it once and move all rows after it.
    """
    own = (
        words
        if isinstance(words, WordVectors)
        else getattr(resolve_model(words, DEFAULT), "words", None)
    )
    if own is None:
        raise InputError(f"a {type(words).__name__} has no word vectors: give those of an encoder")
    own = own.without_pieces()
    if len(own.repeated):
        raise InputError(
            f"the word {own.words[own.repeated[0]]!r} stands twice, and gensim numbers words by their spelling: "
            "leave out the second one"
        )
    keyed = KeyedVectors(own.dim)
    keyed.add_vectors(own.words, own.vectors(np.arange(len(own))))
    if own.probabilities is not None:
        keyed.expandos[PROBABILITY] = np.array(own.probabilities, np.float64)
    return keyed

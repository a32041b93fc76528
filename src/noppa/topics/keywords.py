"""`noppa.keywords`: the words and pairs of words that stand for a text, or for a group of texts."""

from __future__ import annotations

from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa.encoder.encoder import Encoder
from noppa.encoder.models import External, resolve_model, unit_vectors
from noppa.parameters import number, whole
from noppa.topics.word_candidates import Language, spread, words_and_pairs
from noppa.words.texts import texts_of

#: Texts of a large group that are looked at, and how many of its most frequent words are compared with it.
TEXTS, CANDIDATES = 20_000, 300
DIVERSITY = 0.3

Vectors = NDArray[np.float32]


class Keyword(NamedTuple):
    """A word or a pair of words, its cosine with the whole, and in how many of the texts it occurs."""

    text: str
    similarity: float
    texts: int


def keywords(
    text_or_texts: Any,
    n: int = 10,
    *,
    diversity: float = DIVERSITY,
    model: Any = None,
    threads: int | None = None,
) -> list[Keyword]:
    """Up to n words and pairs of words nearest to a text, or to a group of texts taken together, the nearest first.

    diversity: 0 takes the nearest ones, however alike; above it none repeats a word of another, and towards 1 each must
    differ more from those before it.
    model: a preset's name, a folder, an `Encoder` or any object with `encode`; the preset for cosines where None.

    Words so frequent in the language that they stand for nothing are left out, by the encoder's word probabilities.

    >>> import noppa
    >>> [word.text for word in noppa.keywords("the cat sleeps and the cat purrs", 2)]
    ['cat', 'sleeps']
    """
    texts = [text_or_texts] if isinstance(text_or_texts, str) else texts_of(text_or_texts)
    weight = number(diversity, "diversity", 0, 1)
    encoder = resolve_model(model)
    return keywords_of(
        texts_of(texts), whole(n, "n", 1), weight, encoder, Language(encoder), threads
    )


def keywords_of(
    texts: list[str],
    n: int,
    diversity: float,
    encoder: Encoder | External,
    language: Language,
    threads: int | None = None,
) -> list[Keyword]:
    """Of texts taken together; of many, `TEXTS` spread over all are looked at."""
    seen = [texts[at] for at in spread(len(texts), TEXTS)]
    counts = words_and_pairs(seen, language)
    # A pair that one text of many has says nothing of the others.
    telling = (
        word
        for word, count in counts.most_common()
        if count > 1 or len(seen) == 1 or " " not in word
    )
    candidates = list(islice(telling, CANDIDATES))
    if not candidates:
        return []
    vectors = unit_vectors(encoder, candidates, threads).astype(float)
    whole_vector = unit_vectors(encoder, seen, threads).sum(axis=0, dtype=float)
    length = float(np.sqrt(whole_vector @ whole_vector))
    nearness = np.einsum("cd,d->c", vectors, whole_vector / (length or 1))
    chosen = diverse(vectors, nearness, n, diversity, candidates)
    return [
        Keyword(candidates[at], float(np.clip(nearness[at], -1, 1)), counts[candidates[at]])
        for at in chosen
    ]


def diverse(
    vectors: NDArray[np.float64],
    nearness: NDArray[np.float64],
    n: int,
    diversity: float,
    names: list[str],
) -> list[int]:
    """Rows by maximal marginal relevance: near to the whole, and far from those chosen before; only rows above 0."""
    alike = np.zeros(len(vectors))
    is_open = nearness > 0
    chosen: list[int] = []
    while len(chosen) < n and is_open.any():
        value = (1 - diversity) * nearness - diversity * alike
        best = int(np.where(is_open, value, -np.inf).argmax())
        chosen.append(best)
        is_open[best] = False
        if diversity > 0:
            words = set(names[best].split())
            is_open &= [words.isdisjoint(name.split()) for name in names]
        alike = np.maximum(alike, np.einsum("cd,d->c", vectors, vectors[best]))
    return chosen

"""TF-IDF: words weighted by their inverse document frequency in the corpus; each sentence is a document."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noppa.methods.method import (
    SUMS,
    Ids,
    Kernel,
    Learnt,
    Method,
    mean_kernel,
    mean_terms,
    sentence_numbers,
)
from noppa.refine import Float
from noppa.words.word_vectors import WordVectors


@dataclass(frozen=True)
class TfIdf(Method):
    """sum_i idf_i v_i / sum_i idf_i with the smoothed idf = ln((1 + N) / (1 + df)) + 1.

    A word counts as often as it occurs, which is its term frequency; a word that is not in the corpus has df = 0.
    """

    learning: ClassVar = SUMS
    uses_order = False
    LEARNT: ClassVar = {"idf": "f4|f8 words+1 positive"}

    def width(self, words: WordVectors) -> int:
        return words.dim

    def gather(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        total, having = 0, np.zeros(len(words) + 1)
        for ids, offsets in sentences:
            total += len(offsets) - 1
            pairs = sentence_numbers(offsets) * (len(words) + 2) + ids
            once = np.unique(pairs[ids >= 0]) % (len(words) + 2)
            having += np.bincount(once, minlength=len(words) + 1)
        return {"total": np.array(total), "having": having}

    def conclude(self, words: WordVectors, sums: Learnt) -> dict[str, NDArray[Any]]:
        return {"idf": np.log((1 + sums["total"]) / (1 + sums["having"])) + 1}

    def weights(self, words: WordVectors, learnt: Learnt) -> Float:
        return np.asarray(learnt["idf"])

    def terms(self, vectors: Float, weights: Float) -> Float:
        return mean_terms(vectors, weights, "weights")

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel:
        return mean_kernel(words.table, self.weights(words, learnt), "weights")

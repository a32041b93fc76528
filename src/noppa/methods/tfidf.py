"""Words weighted by their inverse document frequency in your own corpus, a sentence being a document."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noppa.methods.corpus import Ids, sentence_of_each
from noppa.methods.numpy_form import Learnt
from noppa.methods.protocol import SUMS, Kernel, Method
from noppa.methods.split import Float
from noppa.methods.weighting import mean_arguments, mean_terms
from noppa.words.word_vectors import WordVectors


@dataclass(frozen=True)
class TfIdf(Method):
    """sum_i idf_i v_i / sum_i idf_i with the smoothed idf = ln((1 + N) / (1 + df)) + 1.

    A word counts as often as it occurs, which is its term frequency; one that the corpus lacks has df = 0.
    """

    learning: ClassVar = SUMS
    uses_order = False
    LEARNT: ClassVar = {"idf": "f4|f8 words+1 positive"}
    mean_obstacle = "TfIdf divides by the weights of a text's words and not by their number"
    COST: ClassVar = "n d"

    def width(self, words: WordVectors) -> int:
        return words.dim

    def gather(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        total, having = 0, np.zeros(len(words) + 1)
        for ids, offsets in sentences:
            total += len(offsets) - 1
            pairs = sentence_of_each(offsets) * (len(words) + 2) + ids
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
        return Kernel("mean", words.table, mean_arguments(self.weights(words, learnt), "weights"))

"""FastSent: a sum of word vectors that predicts the neighbouring sentences (Hill, Cho and Korhonen, 2016)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noppa.methods.corpus import Ids
from noppa.methods.numpy_form import Learnt, Sentence
from noppa.methods.protocol import TEXT, Kernel, Method
from noppa.methods.split import Float, Split, plain
from noppa.methods.trained import TRAINED, TRAINING, trained, trained_rows, trained_table
from noppa.methods.weighting import mean_arguments
from noppa.parameters import boolean, validate_fields
from noppa.words.word_vectors import WordVectors


@dataclass(frozen=True)
class FastSent(Method):
    """sum_i u_i, with u trained so that the sum predicts the words of the sentences before and after.

    The texts given to `fit` are the sentences of a running text, in order. Training starts from the word vectors.

    autoencode: predict the sentence's own words, too (the paper's FastSent+AE). epochs: passes over the corpus.
    rate: of learning, falling to 0. negatives: noise words against each true one. t: words more frequent than this are
        predicted less often. seed: of everything drawn.
    """

    learning: ClassVar = TEXT
    uses_order = False
    mean_obstacle = "FastSent adds words up and does not divide by their number"
    COST: ClassVar = "n d"
    LEARNT: ClassVar = {**TRAINED, "pairs": "f4 0 dim"}

    autoencode: bool = False
    epochs: int = 5
    rate: float = 0.025
    negatives: int = 5
    t: float = 1e-4
    seed: int = 0

    def __post_init__(self) -> None:
        validate_fields(self, autoencode=boolean, **TRAINING)

    def width(self, words: WordVectors) -> int:
        return words.dim

    def learn(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        return trained(words, sentences, self, adjacent=True, itself=self.autoencode)

    def pooled(self, sentence: Sentence) -> Float:
        rows = trained_rows(sentence.words, sentence.learnt, sentence.ids)
        return np.asarray(rows.sum(axis=0))

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel:
        return Kernel("mean", trained_table(words, learnt), mean_arguments(None, "one"))

    def split(self, sentence: Sentence) -> Split:
        rows = trained_rows(sentence.words, sentence.learnt, sentence.ids)
        return plain(rows, rows, np.ones(len(rows)))

"""FastSent: a sum of word vectors that predicts the neighbouring sentences (Hill, Cho and Korhonen, 2016)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noppa.methods.method import (
    TEXT,
    Ids,
    Kernel,
    Learnt,
    Method,
    Sentence,
    Split,
    mean_kernel,
    plain,
)
from noppa.methods.trained import TRAINED, TRAINING, train, trained_rows, trained_table
from noppa.parameters import boolean, validate_fields
from noppa.refine import Float
from noppa.words.word_vectors import WordVectors


@dataclass(frozen=True)
class FastSent(Method):
    """sum_i u_i, with u trained so that the sum predicts the words of the sentences before and after.

    The texts given to `fit` are the sentences of a running text, in order. Training starts from the word vectors.

    Args:
        autoencode: Also predict the sentence's own words (the paper's FastSent+AE).
        epochs: Passes over the corpus.
        rate: Learning rate, falling to 0.
        negatives: Noise words per true word.
        t: Words more frequent than this are predicted less often.
        seed: Seed of all random draws.
    """

    learning: ClassVar = TEXT
    uses_order = False
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
        return train(words, sentences, self, adjacent=True, itself=self.autoencode)

    def pooled(self, sentence: Sentence) -> Float:
        rows = trained_rows(sentence.words, sentence.learnt, sentence.ids)
        return np.asarray(rows.sum(axis=0))

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel:
        return mean_kernel(trained_table(words, learnt), None, "one")

    def split(self, sentence: Sentence) -> Split:
        rows = trained_rows(sentence.words, sentence.learnt, sentence.ids)
        return plain(rows, rows, np.ones(len(rows)))

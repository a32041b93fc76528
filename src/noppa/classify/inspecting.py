"""What a classifier has learnt: the n-grams that speak most for each class, and the training rows nearest to a text."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.classify.classifier_folder import Contents
from noppa.classify.features import Features, Texts
from noppa.display import dataclass_repr
from noppa.errors import NoppaWarning, ParameterError

Float = NDArray[np.float64]
#: An n-gram speaks for a class only where at least this share of the training rows has it, and at least this many.
LEAST_SHARE, LEAST_ROWS = 1e-3, 3


@dataclass(frozen=True)
class Neighbour:
    """A training row: its number, its text or pair, its label, and the cosine with the text asked for."""

    row: int
    text: Any
    label: Any
    cosine: float

    __repr__ = dataclass_repr


def strongest(contents: Contents, count: int, threads: int) -> dict[Any, list[tuple[str, float]]]:
    """For every class the n-grams that give most to its logit when they stand alone: by way of the vector and as n-grams."""
    features, labels = contents.features, contents.labels
    known = features.ngrams
    if known is None or features.paired:
        raise ParameterError(
            "the strongest n-grams are those of a model on single texts with ngrams: this one has none"
        )
    rows = (1 + contents.rows) / np.exp(known.idf.astype(np.float64) - 1) - 1
    frequent = np.flatnonzero(rows >= min(max(LEAST_ROWS, LEAST_SHARE * contents.rows), rows.max()))
    texts = Texts(([known.names[at] for at in frequent],))
    with warnings.catch_warnings():  # of n-grams without a known word, such as punctuation
        warnings.simplefilter("ignore", NoppaWarning)
        dense = features.dense(texts, threads)
    logits = contents.model.logits(dense, features.sparse(texts, threads))
    alone = labels.by_class(logits - contents.model.biases)
    found = {}
    for at, label in enumerate(labels.classes.tolist()):
        order = np.argsort(-alone[:, at], kind="stable")[:count]
        found[label] = [(texts.sides[0][row], float(alone[row, at])) for row in order]
    return found


class Neighbours:
    """Kept training texts, with their vectors encoded once."""

    def __init__(self, contents: Contents, threads: int) -> None:
        if contents.texts is None or contents.members is None:
            raise ParameterError(
                "this classifier does not hold its training texts: train it with keep_texts=True"
            )
        self.features, self.texts = contents.features, Texts(contents.texts)
        self.labels = contents.labels.of_members(contents.members > 0)
        self.rows = _unit(self.features, self.texts, threads)

    def nearest(self, texts: Texts, count: int, threads: int) -> list[Neighbour]:
        """The training rows with the largest cosines to the first of `texts`."""
        cosines = self.rows @ _unit(self.features, texts, threads)[0]
        order = np.argsort(-cosines, kind="stable")[:count]
        return [self._neighbour(int(row), float(cosines[row])) for row in order]

    def _neighbour(self, row: int, cosine: float) -> Neighbour:
        sides = tuple(side[row] for side in self.texts.sides)
        label = self.labels[row]
        return Neighbour(
            row,
            sides if self.texts.paired else sides[0],
            label.tolist() if isinstance(label, np.generic | np.ndarray) else label,
            cosine,
        )


def _unit(features: Features, texts: Texts, threads: int) -> NDArray[np.float32]:
    """Rows of length one, of all that the classifier sees of texts but n-grams."""
    blocks = features.dense(texts, threads)
    if not blocks:
        raise ParameterError("nearest rows are found by vectors, and this classifier has none")
    rows = np.hstack(blocks)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)

"""Explanations of a classifier: a logit as a sum over words and n-grams, the strongest n-grams, and the nearest training rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.classify.features import Features, Texts
from noppa.classify.logistic import LinearModel
from noppa.classify.storage import Contents
from noppa.display import Displayed, cut, dataclass_repr, frame
from noppa.errors import NoppaWarning, ParameterError
from noppa.explain import Explanation

Float = NDArray[np.float64]
BIAS, VECTOR, ROUNDING = "bias", "vector", "rounding of vectors to float32"
#: `strongest_ngrams` considers n-grams that at least this share of the training rows has, and at least this many.
LEAST_SHARE, LEAST_ROWS = 1e-3, 3


@dataclass(frozen=True, eq=False)
class Side:
    """One text: its tokens, and the share of each in the logit of every class through the vector, (tokens, classes)."""

    text: str
    tokens: tuple[str, ...]
    shares: Float

    __repr__ = dataclass_repr


@dataclass(frozen=True, eq=False)
class NgramShare:
    """The share of an n-gram in the logit of every class (classes,), and its places: (side, first token, tokens) each."""

    name: str
    shares: Float
    places: tuple[tuple[int, int, int], ...]

    __repr__ = dataclass_repr


@dataclass(frozen=True, eq=False)
class Decision(Displayed):
    """The explanation of one text, or one pair.

    sides: one for a text, two for a pair. ngrams: the n-grams of the model that the text has. rest: by name, shares (classes,)
    that belong to no word: the bias, constants of the encoder's refinements, and the rounding of its vectors.
    logits (classes,): the sums of all these shares. probabilities (classes,).
    """

    classes: tuple[Any, ...]
    sides: tuple[Side, ...]
    ngrams: tuple[NgramShare, ...]
    rest: Mapping[str, Float]
    logits: Float
    probabilities: Float

    @property
    def best(self) -> int:
        """The index of the most probable class."""
        return int(self.probabilities.argmax())

    @property
    def label(self) -> Any:
        """The most probable class."""
        return self.classes[self.best]

    def class_index(self, label: Any = None) -> int:
        """Return the index of a class; None for the most probable one."""
        if label is None:
            return self.best
        if label not in self.classes:
            known = ", ".join(map(str, self.classes[:10]))
            raise ParameterError(f"there is no class {label!r}", f"choose from {known}")
        return self.classes.index(label)

    def total(self) -> Float:
        """Return the sum of all shares, (classes,): the logits."""
        words = sum((side.shares.sum(axis=0) for side in self.sides), np.zeros(len(self.classes)))
        ngrams = sum((ngram.shares for ngram in self.ngrams), np.zeros(len(self.classes)))
        return np.asarray(words + ngrams + sum(self.rest.values()))

    def token_shares(self) -> tuple[Float, ...]:
        """Return the shares of the tokens of each side, (tokens, classes), with n-grams divided equally over their tokens."""
        shares = [side.shares.copy() for side in self.sides]
        for ngram in self.ngrams:
            tokens = sum(length for _, _, length in ngram.places)
            for side, first, length in ngram.places:
                shares[side][first : first + length] += ngram.shares / tokens
        return tuple(shares)

    def reasons(self, label: Any = None) -> list[tuple[str, float]]:
        """Return words, n-grams and the rest with their shares in the logit of a class, the strongest first.

        A word that occurs several times is one entry, with its share through the vector and as an n-gram of one word.
        """
        column = self.class_index(label)
        shares: dict[str, float] = {}
        for side in self.sides:
            for token, share in zip(side.tokens, side.shares[:, column], strict=True):
                shares[token.lower()] = shares.get(token.lower(), 0.0) + float(share)
        for ngram in self.ngrams:
            shares[ngram.name] = shares.get(ngram.name, 0.0) + float(ngram.shares[column])
        for name, values in self.rest.items():
            shares[f"({name})"] = float(values[column])
        return sorted(shares.items(), key=lambda item: -abs(item[1]))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "label": self.label,
            "classes": list(self.classes),
            "logits": self.logits.tolist(),
            "probabilities": self.probabilities.tolist(),
            "texts": [
                {"text": side.text, "tokens": list(side.tokens), "shares": side.shares.tolist()}
                for side in self.sides
            ],
            "ngrams": [
                {
                    "ngram": ngram.name,
                    "shares": ngram.shares.tolist(),
                    "places": list(map(list, ngram.places)),
                }
                for ngram in self.ngrams
            ],
            "rest": {name: values.tolist() for name, values in self.rest.items()},
        }

    def to_pandas(self) -> Any:
        """Return a data frame with one row per reason, the strongest first, and its share in the logit of every class."""
        names = [name for name, _ in self.reasons()]
        shares = {label: dict(self.reasons(label)) for label in self.classes}
        columns = {label: [by_name[name] for name in names] for label, by_name in shares.items()}
        return frame(columns, names)

    def __repr__(self) -> str:
        texts = " / ".join(side.text for side in self.sides)
        return (
            f"Decision({cut(texts, 80)!r}, label={cut(self.label, 40)}, "
            f"probability={self.probabilities[self.best]:.4f})"
        )

    @property
    def _title(self) -> str:
        probability, logit = self.probabilities[self.best], self.logits[self.best]
        return f"{self.label}: {100 * probability:.1f} %, logit {logit:+.3f}"

    def _columns(self) -> dict[str, list[Any]]:
        names, shares = zip(*self.reasons(), strict=True)
        return {"reason": list(names), "share of the logit": list(shares)}


def explain_text(
    contents: Contents, texts: Texts, logits: Float, probabilities: Float, threads: int
) -> Decision:
    """Explain one text or pair, with its logits (1, columns) and probabilities (1, classes)."""
    by_class, model = contents.labels.by_class, contents.model
    model = LinearModel(by_class(model.dense), by_class(model.ngrams), by_class(model.biases))
    sides, rest = _vector_shares(texts, contents.features, model, threads)
    return Decision(
        classes=tuple(contents.labels.classes.tolist()),
        sides=tuple(sides),
        ngrams=tuple(_ngram_shares(texts, contents.features, model, threads)),
        rest={BIAS: model.biases, **rest},
        logits=by_class(logits)[0],
        probabilities=probabilities[0],
    )


def _vector_shares(
    texts: Texts, features: Features, model: LinearModel, threads: int
) -> tuple[list[Side], dict[str, Float]]:
    """Return the shares of tokens through the vectors (tokens, classes), and by name the shares of no token (classes,)."""
    split = features.tokenizer or kernels.tokenize
    sides = []
    for text in texts.flat:
        tokens = tuple(split(text))
        sides.append(Side(text, tokens, np.zeros((len(tokens), len(model.biases)))))
    if features.encoder is None:
        return sides, {}
    vectors = np.concatenate([block[0] for block in features.dense(texts, threads)])
    whole = vectors.astype(np.float64) @ model.dense
    if not hasattr(features.encoder, "explain"):
        return sides, {VECTOR: whole}
    explained = [features.encoder.explain(text) for text in texts.flat]
    all_slopes = _slopes(explained, model.dense.astype(np.float64), features.unit)
    rest: dict[str, Float] = {}
    suffixes = [" (first text)", " (second text)"] if features.paired else [""]
    for side, suffix, explanation, slopes in zip(
        sides, suffixes, explained, all_slopes, strict=True
    ):
        np.add.at(side.shares, explanation.sources, explanation.refined @ slopes)
        constants = explanation.constants.items()
        rest |= {name + suffix: constant @ slopes for name, constant in constants}
    total = sum(side.shares.sum(axis=0) for side in sides) + sum(rest.values())
    return sides, {**rest, ROUNDING: whole - total}


def _slopes(explained: list[Explanation], weights: Float, unit: bool) -> list[Float]:
    """Return the factors (dim, classes) of the vector of each side.

    For a pair, |u - v| is s * u - s * v with the signs s, and each text gets half of u * v.
    """
    if unit:
        lengths = [float(np.linalg.norm(explanation.vector)) for explanation in explained]
        return [weights / (length or 1.0) for length in lengths]
    if len(explained) == 1:
        return [weights]
    u, v = (explanation.vector[:, None] for explanation in explained)
    apart, product = np.split(weights, 2)
    signs = np.sign(u - v)
    return [signs * apart + 0.5 * v * product, -signs * apart + 0.5 * u * product]


def _ngram_shares(
    texts: Texts, features: Features, model: LinearModel, threads: int
) -> list[NgramShare]:
    """Return the shares of n-grams (classes,)."""
    if features.ngrams is None:
        return []
    places: dict[int, list[tuple[int, int, int]]] = {}
    for side, side_texts in enumerate(texts.sides):
        found = features.ngrams.occurrences(side_texts, features.tokenizer, threads)
        for column, first, length in zip(found.columns, found.places, found.lengths, strict=True):
            places.setdefault(int(column), []).append((side, int(first), int(length)))
    sparse, names = features.sparse(texts, threads), features.ngram_names
    width = len(features.ngrams)
    columns, weights = sparse.ids.tolist(), model.ngrams[sparse.ids].astype(np.float64)
    shares = sparse.values.astype(np.float64)[:, None] * weights
    return [
        NgramShare(names[column], share, tuple(places[column % width]))
        for column, share in zip(columns, shares, strict=True)
    ]


def strongest_ngrams(
    contents: Contents, n: int, threads: int
) -> dict[Any, list[tuple[str, float]]]:
    """Return, for every class, the n n-grams that add most to its logit as a text of their own."""
    features, labels, ngrams = contents.features, contents.labels, contents.features.ngrams
    if ngrams is None or features.paired:
        raise ParameterError(
            "the strongest n-grams are those of a model on single texts with ngrams: this one has none"
        )
    rows = (1 + contents.rows) / np.exp(ngrams.idf.astype(np.float64) - 1) - 1
    frequent = np.flatnonzero(rows >= min(max(LEAST_ROWS, LEAST_SHARE * contents.rows), rows.max()))
    names = [ngrams.names[column] for column in frequent]
    with warnings.catch_warnings():  # n-grams without a known word, such as punctuation
        warnings.simplefilter("ignore", NoppaWarning)
        dense = features.dense(Texts((names,)), threads)
    logits = contents.model.logits(dense, features.sparse(Texts((names,)), threads))
    alone = labels.by_class(logits - contents.model.biases)
    strongest = {}
    for column, label in enumerate(labels.classes.tolist()):
        order = np.argsort(-alone[:, column], kind="stable")[:n]
        strongest[label] = [(names[row], float(alone[row, column])) for row in order]
    return strongest


def plain_label(label: Any) -> Any:
    """Return a label as a value of Python's own types."""
    return label.tolist() if isinstance(label, (np.generic, np.ndarray)) else label

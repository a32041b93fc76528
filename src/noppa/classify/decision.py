"""Why a text got its class: every logit as a sum over its words, its n-grams and what belongs to no word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.classify.features import Features, Texts
from noppa.classify.linear_model import LinearModel
from noppa.display import Displayed, cut, dataclass_repr, frame, text_table
from noppa.errors import ParameterError
from noppa.explain import Explanation

Float = NDArray[np.float64]
BIAS, VECTOR, ROUNDING = "bias", "vector", "rounding of vectors to float32"


@dataclass(frozen=True, eq=False)
class Side:
    """One text: its tokens, and what each gives to every class by way of the vector, (tokens, classes)."""

    text: str
    tokens: tuple[str, ...]
    shares: Float

    __repr__ = dataclass_repr


@dataclass(frozen=True, eq=False)
class NgramShare:
    """What an n-gram gives to every class (classes,), and where it stands: side, first token and number of tokens."""

    name: str
    shares: Float
    places: tuple[tuple[int, int, int], ...]

    __repr__ = dataclass_repr


@dataclass(frozen=True, eq=False)
class Decision(Displayed):
    """One text, or one pair, explained.

    sides: one for a text, two for a pair. ngrams: those of the model that the text has. rest: what belongs to no word, by
    name, (classes,) each: the bias, constants of the encoder's refinements, and the rounding of its vectors.
    logits (classes,): the sums of all these. probabilities (classes,).
    """

    classes: tuple[Any, ...]
    sides: tuple[Side, ...]
    ngrams: tuple[NgramShare, ...]
    rest: Mapping[str, Float]
    logits: Float
    probabilities: Float

    @property
    def best(self) -> int:
        """The number of the likeliest class."""
        return int(self.probabilities.argmax())

    @property
    def label(self) -> Any:
        """The likeliest class."""
        return self.classes[self.best]

    def number_of(self, label: Any = None) -> int:
        """The number of a class; of the likeliest one for None."""
        if label is None:
            return self.best
        if label not in self.classes:
            raise ParameterError(
                f"there is no class {label!r}: choose from {', '.join(map(str, self.classes[:10]))}"
            )
        return self.classes.index(label)

    def total(self) -> Float:
        """The sum of all shares, (classes,): the logits again."""
        words = sum((side.shares.sum(axis=0) for side in self.sides), np.zeros(len(self.classes)))
        ngrams = sum((one.shares for one in self.ngrams), np.zeros(len(self.classes)))
        return np.asarray(words + ngrams + sum(self.rest.values()))

    def token_shares(self) -> tuple[Float, ...]:
        """For each side what its tokens give in all, (tokens, classes): an n-gram is divided equally over its tokens."""
        shares = [side.shares.copy() for side in self.sides]
        for one in self.ngrams:
            tokens = sum(length for _, _, length in one.places)
            for side, first, length in one.places:
                shares[side][first : first + length] += one.shares / tokens
        return tuple(shares)

    def reasons(self, label: Any = None) -> list[tuple[str, float]]:
        """Words, n-grams and the rest by name with their share in the logit of a class, the strongest first.

        The same word at several places is one line, with what it gives by way of the vector and as an n-gram of one word.
        """
        at = self.number_of(label)
        shares: dict[str, float] = {}
        for side in self.sides:
            for token, share in zip(side.tokens, side.shares[:, at], strict=True):
                shares[token.lower()] = shares.get(token.lower(), 0.0) + float(share)
        for one in self.ngrams:
            shares[one.name] = shares.get(one.name, 0.0) + float(one.shares[at])
        for name, values in self.rest.items():
            shares[f"({name})"] = float(values[at])
        return sorted(shares.items(), key=lambda item: -abs(item[1]))

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON."""
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
                    "ngram": one.name,
                    "shares": one.shares.tolist(),
                    "places": [list(place) for place in one.places],
                }
                for one in self.ngrams
            ],
            "rest": {name: values.tolist() for name, values in self.rest.items()},
        }

    def to_pandas(self) -> Any:
        """A row for each reason, the strongest for the likeliest class first: its shares in the logit of every class."""
        names = [name for name, _ in self.reasons()]
        shares = {label: dict(self.reasons(label)) for label in self.classes}
        return frame({label: [of[name] for name in names] for label, of in shares.items()}, names)

    def __repr__(self) -> str:
        texts = " / ".join(side.text for side in self.sides)
        return f"Decision({cut(texts, 80)!r}, label={cut(self.label, 40)}, probability={self.probabilities[self.best]:.4f})"

    def __str__(self) -> str:
        return f"{self._title}\n{text_table(self._columns())}"

    @property
    def _title(self) -> str:
        best = self.best
        percent = 100 * self.probabilities[best]
        return f"{self.label}: {percent:.1f} %, logit {self.logits[best]:+.3f}"

    def _columns(self) -> dict[str, list[Any]]:
        reasons = self.reasons()
        return {
            "reason": [name for name, _ in reasons],
            "share of the logit": [share for _, share in reasons],
        }


@dataclass(frozen=True, eq=False)
class Shares:
    """What is explained so far, by the model's columns: the sides, the n-grams, and the rest."""

    sides: tuple[Side, ...]
    ngrams: tuple[NgramShare, ...]
    rest: dict[str, Float]


def shares_of(texts: Texts, features: Features, model: LinearModel, threads: int) -> Shares:
    """One text or pair taken apart; all shares are (…, columns)."""
    sides, rest = _vector_shares(texts, features, model, threads)
    return Shares(
        sides, _ngram_shares(texts, features, model, threads), {BIAS: model.biases, **rest}
    )


def _vector_shares(
    texts: Texts, features: Features, model: LinearModel, threads: int
) -> tuple[tuple[Side, ...], dict[str, Float]]:
    columns = len(model.biases)
    plain = [tokens_of_text(features, text) for text in texts.flat]
    empty = tuple(
        Side(text, tokens, np.zeros((len(tokens), columns)))
        for text, tokens in zip(texts.flat, plain, strict=True)
    )
    if features.encoder is None:
        return empty, {}
    dense = np.concatenate([block[0] for block in features.dense(texts, threads)]).astype(
        np.float64
    )
    whole = dense @ model.dense
    if not hasattr(features.encoder, "explain"):
        return empty, {VECTOR: whole}
    explained = [features.encoder.explain(text) for text in texts.flat]
    sides: list[Side] = []
    rest: dict[str, Float] = {}
    for at, slopes in enumerate(_slopes(explained, model.dense.astype(np.float64), features.unit)):
        one = explained[at]
        shares = np.zeros_like(empty[at].shares)
        np.add.at(shares, one.sources, one.refined @ slopes)
        sides.append(Side(texts.flat[at], plain[at], shares))
        which = f" ({('first', 'second')[at]} text)" if features.paired else ""
        rest |= {name + which: constant @ slopes for name, constant in one.constants.items()}
    total = sum(side.shares.sum(axis=0) for side in sides) + sum(rest.values())
    return tuple(sides), {**rest, ROUNDING: whole - total}


def _slopes(explained: list[Explanation], weights: Float, unit: bool) -> list[Float]:
    """By what parts of the vector of each side are multiplied, (dim, columns): a pair's |u - v| is s * u - s * v with the signs
    s, and each text has half of u * v.
    """
    if unit:
        lengths = [float(np.linalg.norm(one.vector)) for one in explained]
        return [weights / (length or 1.0) for length in lengths]
    if len(explained) == 1:
        return [weights]
    u, v = (one.vector[:, None] for one in explained)
    apart, product = np.split(weights, 2)
    signs = np.sign(u - v)
    return [signs * apart + 0.5 * v * product, -signs * apart + 0.5 * u * product]


def tokens_of_text(features: Features, text: str) -> tuple[str, ...]:
    """The tokens of a text that shares belong to."""
    return tuple((features.tokenizer or kernels.tokenize)(text))


def _ngram_shares(
    texts: Texts, features: Features, model: LinearModel, threads: int
) -> tuple[NgramShare, ...]:
    if features.ngrams is None:
        return ()
    sparse, names, width = (
        features.sparse(texts, threads),
        features.ngram_names,
        len(features.ngrams),
    )
    places: dict[int, list[tuple[int, int, int]]] = {}
    for side, side_texts in enumerate(texts.sides):
        found = features.ngrams.occurrences(side_texts, features.tokenizer, threads)
        for column, first, length in zip(found.columns, found.places, found.lengths, strict=True):
            places.setdefault(int(column), []).append((side, int(first), int(length)))
    return tuple(
        NgramShare(
            names[column],
            value * model.ngrams[column].astype(np.float64),
            tuple(places[column % width]),
        )
        for column, value in zip(sparse.ids.tolist(), sparse.values.astype(np.float64), strict=True)
    )

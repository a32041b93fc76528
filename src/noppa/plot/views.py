"""Pictures of explanations, of word weights and of many sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from noppa.encoder.models import SupportsEncode
from noppa.errors import ParameterError
from noppa.explain import Explanation, PairExplanation
from noppa.methods.method import smooth_frequency_weight
from noppa.parameters import one_of, positive
from noppa.plot.pictures import Bars, Heatmap, Lines, Scatter
from noppa.topics.groups import principal_plane
from noppa.words.texts import texts_of
from noppa.words.word_vectors import WordVectors

#: The measures of a token that bars can show, and how to read them.
MEASURES = {
    "cosine": "Cosine of each word, repeated to the width of the sentence vector, with that vector",
    "share": "Share of each token in the pooled vector; the shares add up to 1",
    "weight": "Weight of each word, before attention",
}

#: The values of `a` in the paper's Figure 1.
A_VALUES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6)


def attention(explanation: Explanation, weighted: bool = False) -> Heatmap:
    """Draw how much each word (row) attends to each other word (column), as in the paper's Figures 3 to 5.

    Args:
        explanation: of a sentence by a method with attention.
        weighted: multiply by the weight of the row's word, as in equation 9; rows then add up to the weights, not to 1.
    """
    values = explanation.weighted_attention if weighted else explanation.attention
    if values is None:
        raise ParameterError(
            f"{explanation.method} has no attention for {explanation.text!r}: choose NoPPA and a text with a known "
            "word, or draw its contributions"
        )
    _require_tokens(explanation)
    note = (
        "Attention times the weight of the row's word (w A): each row adds up to that weight."
        if weighted
        else "Raw attention: each row adds up to 100 %."
    )
    return Heatmap(
        f"{'Weighted attention' if weighted else 'Attention'} in “{explanation.text}”",
        f"{note} Colour grows with the square root.",
        explanation.tokens,
        explanation.tokens,
        values,
        "word",
        "attends to",
        explanation.known,
        explanation.known,
        percent=not weighted,
    )


def contributions(explanation: Explanation, measure: str = "cosine") -> Bars:
    """Draw how close each word is to its sentence, as in the paper's Figure 2; or its share of the vector, or its weight."""
    one_of(measure, "measure", tuple(MEASURES))
    _require_tokens(explanation)
    values = {
        "cosine": explanation.cosines,
        "share": explanation.shares,
        "weight": explanation.weights,
    }[measure]
    rest = 1 - explanation.shares.sum() if measure == "share" and explanation.pooled.any() else 0
    more = f"; {rest:.4f} belongs to no token" if abs(rest) > 5e-5 else ""
    return Bars(
        f"{measure.capitalize()} of each word in “{explanation.text}”",
        f"{MEASURES[measure]}{more}.",
        explanation.tokens,
        values,
        measure,
        explanation.known,
    )


def alignment(pair: PairExplanation) -> Heatmap:
    """Draw which pairs of words make two texts similar: cells and remainders add up to the cosine."""
    for explanation in (pair.a, pair.b):
        _require_tokens(explanation)
    rest = sum(pair.remainders.values())
    more = f" and {rest:+.4f} that belongs to no pair" if pair.remainders else ""
    signs = "; two colours for the two signs" if (pair.pairs < 0).any() else ""
    return Heatmap(
        f"Cosine {pair.cosine:.4f} of “{pair.a.text}” and “{pair.b.text}”",
        f"The cells{more} add up to the cosine. Colour grows with the square root{signs}.",
        pair.a.tokens,
        pair.b.tokens,
        pair.pairs,
        "first text",
        "second text",
        pair.a.known,
        pair.b.known,
    )


def weights(
    words: WordVectors, groups: Mapping[str, Iterable[str]], a: Sequence[float] = A_VALUES
) -> Lines:
    """Draw the mean weight of groups of words against `a`, as in the paper's Figure 1.

    The curves show (a/2) / (p + a/2), half the weight of equation 9, over the words that have a count, as in the paper.
    """
    probabilities = words.needed_probabilities("a picture of weights")
    a = [positive(value, "a") for value in a]
    row_of = {word: row for row, word in enumerate(words.words)}
    counted = words.counted if words.counted is not None and words.counted.any() else None
    curves, sizes = {}, []
    for name, members in groups.items():
        group = list(members)
        rows = [row_of[word] for word in group if word in row_of]
        rows = [row for row in rows if counted is None or counted[row]]
        if not rows:
            raise ParameterError(
                f"no word of the group {name!r} has a probability here: give counts that hold some of them"
            )
        p = probabilities[rows]
        curves[name] = np.array([smooth_frequency_weight(p, value).mean() / 2 for value in a])
        sizes.append(f"{name}: {len(rows)} of {len(group)} words have a count")
    return Lines(
        "Mean weight of groups of words",
        f"Half the weight a / (p + a/2), so that it lies between 0 and 1. {'; '.join(sizes)}.",
        np.array(a, float),
        curves,
        "a",
        "mean weight / 2",
    )


def sentence_map(
    encoder: SupportsEncode,
    texts: Sequence[str],
    labels: Sequence[object] | None = None,
    title: str = "Map of sentences",
) -> Scatter:
    """Draw sentences as points in the plane of their two principal components; `labels` colour them."""
    items = texts_of(texts)
    groups = [""] * len(items) if labels is None else [str(label) for label in labels]
    if len(groups) != len(items):
        raise ParameterError(f"{len(items)} texts need {len(items)} labels, not {len(groups)}")
    if len(items) < 3:
        raise ParameterError(f"a map needs at least 3 texts, and got {len(items)}")
    rows = np.asarray(encoder.encode(items), float)
    if not np.isfinite(rows).all():
        raise ParameterError("a map needs finite vectors, and the encoder gave others")
    points, shares = principal_plane(rows)
    first, second = (100 * share for share in [*shares, 0.0, 0.0][:2])
    return Scatter(
        title,
        f"Principal components: the plane holds {first + second:.0f} % of the variance.",
        points,
        tuple(items),
        tuple(groups),
        f"component 1 ({first:.0f} % of the variance)",
        f"component 2 ({second:.0f} % of the variance)",
    )


def _require_tokens(explanation: Explanation) -> None:
    if not explanation.tokens:
        raise ParameterError(
            f"{explanation.text!r} has no tokens, so there is nothing to draw: give a text with words"
        )

"""Pictures of explanations, of word weights and of many sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noppa.errors import ParameterError
from noppa.explain import Explanation, PairExplanation
from noppa.methods.method import smooth_frequency_weight
from noppa.parameters import one_of, positive
from noppa.plot.pictures import Bars, Float, Heatmap, Lines, Scatter
from noppa.topics.groups import umap_plane
from noppa.words.texts import texts_of
from noppa.words.word_vectors import WordVectors

#: What a bar can show of each token, and how to read it.
MEASURES = {
    "cosine": "Cosine of each word, repeated to the width of the sentence vector, with that vector",
    "share": "Share of each token in the pooled vector; the shares add up to 1",
    "weight": "Weight of each word, before attention",
}

#: The values of `a` in the paper's Figure 1.
A_VALUES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6)


def attention(explanation: Explanation, weighted: bool = False) -> Heatmap:
    """The paper's Figures 3 to 5: how much each word (row) attends to each other one (column).

    weighted: times the weight of the row's word, as equation 9 uses it; rows then add up to the weights, not to 1.
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
    """The paper's Figure 2: how close each word is to its sentence; or its share of the vector, or its weight."""
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
    """Which pairs of words make two texts similar: cells and remainders add up to the cosine."""
    for one in (pair.a, pair.b):
        _require_tokens(one)
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
    """The paper's Figure 1: the mean weight of groups of words against `a`.

    What is drawn is (a/2) / (p + a/2), half the weight of equation 9, over the words that have a count, as the paper did.
    """
    probabilities = words.needed_probabilities("a picture of weights")
    a = [positive(one, "a") for one in a]
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
        curves[name] = np.array([smooth_frequency_weight(p, one).mean() / 2 for one in a])
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
    encoder: Any,
    texts: Sequence[str],
    labels: Sequence[object] | None = None,
    layout: str = "pca",
    title: str = "Map of sentences",
) -> Scatter:
    """Many sentences on a plane, by anything that has `encode`; `labels` colour them.

    layout: "pca", the two directions of most variance, or "umap" (`pip install 'noppa[umap]'`), which keeps neighbours.
    """
    one_of(layout, "layout", tuple(LAYOUTS))
    items = texts_of(texts)
    groups = [""] * len(items) if labels is None else [str(label) for label in labels]
    if len(groups) != len(items):
        raise ParameterError(f"{len(items)} texts need {len(items)} labels, not {len(groups)}")
    if len(items) < 3:
        raise ParameterError(f"a map needs at least 3 texts, and got {len(items)}")
    rows = np.asarray(encoder.encode(items), float)
    if not np.isfinite(rows).all():
        raise ParameterError("a map needs finite vectors, and the encoder gave others")
    points, x_axis, y_axis, note = LAYOUTS[layout](rows)
    return Scatter(title, note, points, tuple(items), tuple(groups), x_axis, y_axis)


def pca(rows: ArrayLike) -> tuple[Float, str, str, str]:
    """The first two principal components of rows (count, dim), each with its larger half to the right or up."""
    centred = np.asarray(rows, float)
    centred = centred - centred.mean(axis=0)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    points = np.zeros((len(centred), 2))
    rank = min(2, len(values))
    points[:, :rank] = (left * values)[:, :rank]
    signs = np.sign(points[np.abs(points).argmax(axis=0), [0, 1]])
    points *= np.where(signs == 0, 1, signs)
    total = (values**2).sum()
    shares = [100 * values[at] ** 2 / total if at < rank and total > 0 else 0.0 for at in (0, 1)]
    names = [
        f"component {at + 1} ({share:.0f} % of the variance)" for at, share in enumerate(shares)
    ]
    note = f"Principal components: the plane holds {sum(shares):.0f} % of the variance."
    return points, names[0], names[1], note


def umap(rows: NDArray[np.float64]) -> tuple[Float, str, str, str]:
    """UMAP's plane for cosine distances, always from the same seed."""
    points = umap_plane(rows)
    return points, "UMAP 1", "UMAP 2", "UMAP: neighbours mean something, axes and distances do not."


LAYOUTS = {"pca": pca, "umap": umap}


def _require_tokens(explanation: Explanation) -> None:
    if not explanation.tokens:
        raise ParameterError(
            f"{explanation.text!r} has no tokens, so there is nothing to draw: give a text with words"
        )

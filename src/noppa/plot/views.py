"""Pictures of explanations, word weights and sentences; pictures and pages of classifiers and topics."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from noppa.classify.explain import Decision
from noppa.classify.report import MOST_CONFUSED, SuspiciousLabel, TrainingReport
from noppa.encoder.models import SupportsEncode
from noppa.errors import ParameterError
from noppa.explain import Explanation, PairExplanation
from noppa.methods.method import smooth_frequency_weight
from noppa.parameters import one_of, positive
from noppa.plot.page import page, table
from noppa.plot.pictures import Bars, Heatmap, Lines, Picture, Scatter
from noppa.topics.find_topics import Topics
from noppa.topics.groups import group_plane, principal_plane, spread
from noppa.words.texts import texts_of
from noppa.words.word_vectors import WordVectors

#: The measures of a token that bars can show, and how to read them.
MEASURES = {
    "cosine": "Cosine of each word, repeated to the width of the sentence vector, with that vector",
    "share": "Share of each token in the pooled vector; the shares add up to 1",
    "weight": "Weight of each word, before attention",
}

#: The most reasons of a decision, or n-grams of a class, that are drawn; one bar sums up the rest.
MOST_BARS = 30
#: Letters of a text in a table.
MOST_LETTERS = 160
#: Texts on a map of topics: more would hide each other, and make a page slow.
MOST_POINTS = 2_000
#: Representatives of a topic on a page.
REPRESENTATIVES = 3

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
    rest = 1 - explanation.shares.sum() if measure == "share" and explanation.pooled.any() else 0
    more = f"; {rest:.4f} belongs to no token" if abs(rest) > 5e-5 else ""
    return Bars(
        f"{measure.capitalize()} of each word in “{explanation.text}”",
        f"{MEASURES[measure]}{more}.",
        explanation.tokens,
        getattr(explanation, f"{measure}s"),
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


def decision(explained: Decision, label: Any = None, most: int = MOST_BARS) -> Bars:
    """Draw how much each word and n-gram adds to the logit of a class; the bars add up to it.

    Args:
        label: the class; the most probable one if None.
        most: number of bars; one more sums up the rest.
    """
    number = explained.class_index(label)
    name = explained.classes[number]
    reasons = explained.reasons(name)
    bars, rest = reasons[:most], reasons[most:]
    if rest:
        bars = [*bars, (f"({len(rest)} weaker ones)", sum(share for _, share in rest))]
    texts = " / ".join(side.text for side in explained.sides)
    return Bars(
        f"{name}: {100 * explained.probabilities[number]:.1f} % for “{texts}”",
        f"Shares of the logit {explained.logits[number]:.4f}, to which the bars add up; names in brackets belong to no word.",
        tuple(reason for reason, _ in bars),
        np.array([share for _, share in bars]),
        "share of the logit",
    )


def training_page(
    report: TrainingReport,
    title: str,
    ngrams: Mapping[Any, Sequence[tuple[str, float]]] | None = None,
) -> str:
    """Return the report as one self-contained HTML page: learning curve, calibration, confusion, and strongest n-grams."""
    figures = [
        ["", "value"],
        ["rows", f"{report.rows:,}"],
        ["classes", str(len(report.classes))],
        ["accuracy on held-out rows", f"{100 * report.accuracy:.2f} % ± {100 * report.error:.2f}"],
        [
            "calibration error",
            f"{100 * report.calibration_error:.2f} % (before: {100 * report.uncalibrated_error:.2f} %)",
        ],
        ["strengths", f"vectors {report.l2[0]:g}, n-grams {report.l2[1]:g}"],
    ]
    body = table(figures) + _suspicious_labels("Most suspicious labels", report.suspicious)
    if report.conflicts is not None:
        body += _suspicious_labels("Near-duplicates with different labels", report.conflicts)
    pictures: list[Picture] = [_learning_curve(report), _calibration(report)]
    if report.confusion:
        pictures.append(_confusion(report))
    for label, pairs in (ngrams or {}).items():
        names, logits = zip(*pairs[:MOST_BARS], strict=True)
        note = "The logit that each word or n-gram gives to the class by itself."
        pictures.append(Bars(f"Evidence for {label}", note, names, np.array(logits), "logit"))
    return page(pictures, title, body)


def _suspicious_labels(heading: str, labels: Sequence[SuspiciousLabel]) -> str:
    if not labels:
        return f"<p>{heading}: none.</p>"
    rows = [["record", "label", "probability", "suggested", "reason", "text"]]
    for doubt in labels:
        text = doubt.text if isinstance(doubt.text, str) else " / ".join(doubt.text)
        probability = f"{100 * doubt.probability:.1f} %"
        cells = [doubt.row, doubt.label, probability, doubt.suggested, doubt.reason]
        rows.append([*map(str, cells), text[:MOST_LETTERS]])
    name = f"{html.escape(heading)}: {len(labels)}"
    return f'<details><summary>{name}</summary><div class="scroll">{table(rows)}</div></details>'


def _learning_curve(report: TrainingReport) -> Lines:
    rows, accuracies = zip(*report.curve, strict=True)
    return Lines(
        "Learning curve",
        "Accuracy on held-out rows against the number of training rows. If the curve still rises, more labels will help.",
        np.array(rows, float),
        {"accuracy": np.array(accuracies)},
        "training rows",
        "accuracy",
    )


def _calibration(report: TrainingReport) -> Bars:
    confidences, accuracies, counts = zip(*report.calibration, strict=True)
    return Bars(
        "Calibration",
        "How often answers of about the same confidence are right; the ticks are the confidence itself.",
        tuple(
            f"{100 * confidence:.0f} % sure, {count} answers"
            for confidence, count in zip(confidences, counts, strict=True)
        ),
        np.array(accuracies),
        "share of right answers",
        marks=np.array(confidences),
        marks_name="the confidence",
    )


def _confusion(report: TrainingReport) -> Heatmap:
    counts = np.array(report.confusion, float)
    wrong = counts.sum(axis=0) + counts.sum(axis=1) - 2 * np.diag(counts)
    chosen = np.sort(np.argsort(-wrong, kind="stable")[:MOST_CONFUSED])
    names = tuple(str(report.classes[number]) for number in chosen)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    note = (
        "The share of the held-out rows of a class (row) that was predicted as each class (column)."
    )
    if len(chosen) < len(counts):
        note += f" The {len(chosen)} classes that are confused most."
    values = shares[np.ix_(chosen, chosen)]
    return Heatmap("Confusion", note, names, names, values, "label", "predicted", percent=True)


def topic_map(topics: Topics) -> Scatter:
    """Draw texts as points in the plane in which the topics are furthest apart; of many texts, an even sample."""
    if not len(topics.texts):
        raise ParameterError("there are no texts, so there is nothing to draw")
    rows = np.array(spread(len(topics.texts), MOST_POINTS))
    # Sorted, so that the legend has the order of the topics.
    rows = rows[np.argsort(topics.labels[rows], kind="stable")]
    labels = topics.labels[rows]
    # Without gaps in the numbers: a small topic may have no text in the sample.
    dense = np.unique(labels, return_inverse=True)[1]
    names = _topic_names(topics)
    return Scatter(
        "Map of the texts",
        f"{len(rows):,} of {len(topics.texts):,} texts, in the plane in which the topics are furthest apart.",
        group_plane(np.asarray(topics.vectors[rows], float), dense),
        tuple(topics.texts[row] for row in rows.tolist()),
        tuple(names[label] for label in labels.tolist()),
        "first axis",
        "second axis",
    )


def topic_page(topics: Topics, title: str = "Topics") -> str:
    """Return topics as one self-contained HTML page: names, sizes, typical texts, outliers, and a map."""
    rows = [["topic", "texts", "typical texts"]]
    for name, topic in zip(_topic_names(topics), topics.topics, strict=True):
        texts = [topics.texts[row] for row in topic.representatives[:REPRESENTATIVES]]
        rows.append([name, f"{topic.size:,}", " · ".join(texts)])
    outliers = [["text", "1 - mean cosine to its nearest texts"]]
    outliers += [
        [topics.texts[row], f"{topics.outlier_scores[row]:.4f}"] for row in topics.outliers
    ]
    body = (
        f"<p>{len(topics.topics)} topics of {len(topics.texts):,} texts.</p>\n"
        f'<div class="scroll texts">{table(rows)}</div>\n'
        f'<h2>Outliers</h2>\n<div class="scroll texts">{table(outliers)}</div>\n'
    )
    return page([topic_map(topics)], title, body)


def _topic_names(topics: Topics) -> list[str]:
    """Return a distinct name for each topic."""
    return [
        f"{number}. {topic.name or 'without a name'}"
        for number, topic in enumerate(topics.topics, 1)
    ]

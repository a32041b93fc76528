"""Pictures and pages of classifiers and topics."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from noppa.classify.explain import Decision
from noppa.classify.report import MOST_CONFUSED, SuspiciousLabel, TrainingReport
from noppa.errors import ParameterError
from noppa.plot.page import page, table
from noppa.plot.pictures import Bars, Heatmap, Lines, Picture, Scatter
from noppa.topics.find_topics import Topics
from noppa.topics.groups import group_plane, spread

#: The most reasons of a decision, or n-grams of a class, that are drawn; one bar sums up the rest.
MOST_BARS = 30
#: Letters of a text in a table.
MOST_LETTERS = 160
#: Texts on a map of topics: more would hide each other, and make a page slow.
MOST_POINTS = 2_000
#: Representatives of a topic on a page.
REPRESENTATIVES = 3


def decision(explained: Decision, label: Any = None, most: int = MOST_BARS) -> Bars:
    """Draw how much each word and n-gram adds to the logit of a class; the bars add up to it.

    Args:
        explained: from `Classifier.explain`.
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


def training_pictures(
    report: TrainingReport, ngrams: Mapping[Any, Sequence[tuple[str, float]]] | None = None
) -> list[Picture]:
    """Draw the learning curve, calibration, confusion, and the strongest n-grams of each class."""
    pictures: list[Picture] = [_learning_curve(report), _calibration(report)]
    if report.confusion:
        pictures.append(_confusion(report))
    for label, pairs in (ngrams or {}).items():
        names, logits = zip(*pairs[:MOST_BARS], strict=True)
        note = "The logit that each word or n-gram gives to the class by itself."
        pictures.append(Bars(f"Evidence for {label}", note, names, np.array(logits), "logit"))
    return pictures


def training_page(
    report: TrainingReport,
    title: str,
    ngrams: Mapping[Any, Sequence[tuple[str, float]]] | None = None,
) -> str:
    """Return the report as one self-contained HTML page."""
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
    return page(training_pictures(report, ngrams), title, body)


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

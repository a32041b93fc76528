"""Pictures of a classifier: why a text got its class, and how good the model is."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from noppa.classify.explain import Decision
from noppa.classify.report import MOST_CONFUSED, SuspiciousLabel, TrainingReport
from noppa.plot.page import page, table
from noppa.plot.pictures import Bars, Heatmap, Lines, Picture

#: Reasons of a decision, and n-grams of a class, that are drawn; the rest is one bar.
MOST_BARS = 30
TEXT_SHOWN = 160


def decision(explained: Decision, label: Any = None, most: int = MOST_BARS) -> Bars:
    """What each word and n-gram gave to the logit of a class, of the likeliest one where None; the bars add up to it."""
    at = explained.class_index(label)
    reasons = explained.reasons(explained.classes[at])
    shown, rest = reasons[:most], reasons[most:]
    if rest:
        shown = [*shown, (f"({len(rest)} weaker ones)", sum(share for _, share in rest))]
    texts = " / ".join(side.text for side in explained.sides)
    return Bars(
        f"{explained.classes[at]}: {100 * explained.probabilities[at]:.1f} % for “{texts}”",
        f"Shares of the logit {explained.logits[at]:.4f}, to which the bars add up; names in brackets belong to no word.",
        tuple(name for name, _ in shown),
        np.array([share for _, share in shown]),
        "share of the logit",
        np.ones(len(shown), bool),
    )


def training_pictures(
    report: TrainingReport, ngrams: Mapping[Any, Sequence[tuple[str, float]]] | None = None
) -> list[Picture]:
    """Learning curve, calibration, confusion, and the n-grams that speak for each class."""
    pictures: list[Picture] = [_curve(report), _calibration(report)]
    if report.confusion:
        pictures.append(_confusion(report))
    for label, pairs in (ngrams or {}).items():
        pictures.append(_ngrams(label, pairs[:MOST_BARS]))
    return pictures


def training_page(
    report: TrainingReport,
    title: str,
    ngrams: Mapping[Any, Sequence[tuple[str, float]]] | None = None,
) -> str:
    """The report as one HTML page."""
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
    body = table(figures) + _doubts("Most suspicious labels", report.suspicious)
    if report.conflicts is not None:
        body += _doubts("Near-duplicates with different labels", report.conflicts)
    return page(training_pictures(report, ngrams), title, body)


def _doubts(heading: str, doubts: Sequence[SuspiciousLabel]) -> str:
    if not doubts:
        return f"<p>{heading}: none.</p>"
    rows = [["record", "label", "probability", "suggested", "reason", "text"]]
    for one in doubts:
        text = one.text if isinstance(one.text, str) else " / ".join(one.text)
        rows.append(
            [
                str(one.row),
                str(one.label),
                f"{100 * one.probability:.1f} %",
                str(one.suggested),
                one.reason,
                text[:TEXT_SHOWN],
            ]
        )
    name = f"{html.escape(heading)}: {len(doubts)}"
    return f'<details><summary>{name}</summary><div class="scroll">{table(rows)}</div></details>'


def _curve(report: TrainingReport) -> Lines:
    rows, accuracies = zip(*report.curve, strict=True)
    return Lines(
        "Learning curve",
        "Accuracy on held-out rows against the rows trained on: a curve that still rises asks for more labels.",
        np.array(rows, float),
        {"accuracy": np.array(accuracies)},
        "rows trained on",
        "accuracy",
    )


def _calibration(report: TrainingReport) -> Bars:
    return Bars(
        "Calibration",
        "How often answers of about the same confidence are right; the ticks are the confidence itself.",
        tuple(f"{100 * sure:.0f} % sure, {count} answers" for sure, _, count in report.calibration),
        np.array([right for _, right, _ in report.calibration]),
        "share of right answers",
        np.ones(len(report.calibration), bool),
        np.array([sure for sure, _, _ in report.calibration]),
        "the confidence",
    )


def _confusion(report: TrainingReport) -> Heatmap:
    whole = np.array(report.confusion, float)
    wrong = whole.sum(axis=0) + whole.sum(axis=1) - 2 * np.diag(whole)
    chosen = np.sort(np.argsort(-wrong, kind="stable")[:MOST_CONFUSED])
    names = tuple(str(report.classes[at]) for at in chosen)
    shares = whole / np.maximum(whole.sum(axis=1, keepdims=True), 1)
    less = (
        "" if len(chosen) == len(whole) else f" The {len(chosen)} classes that are confused most."
    )
    known = np.ones(len(names), bool)
    return Heatmap(
        "Confusion",
        f"Of the held-out rows of a class (row), the share that was given each class (column).{less}",
        names,
        names,
        shares[np.ix_(chosen, chosen)],
        "label",
        "predicted",
        known,
        known,
        percent=True,
    )


def _ngrams(label: Any, pairs: Sequence[tuple[str, float]]) -> Bars:
    return Bars(
        f"What speaks for {label}",
        "What each word or n-gram gives to the logit of the class where it stands alone.",
        tuple(name for name, _ in pairs),
        np.array([value for _, value in pairs]),
        "logit",
        np.ones(len(pairs), bool),
    )

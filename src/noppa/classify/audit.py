"""Labels that may be wrong: rows that out-of-fold models doubt, and near-duplicates with different labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.classify.learning import Training
from noppa.classify.linear_fit import probabilities
from noppa.display import dataclass_repr

Float = NDArray[np.float64]

#: Texts whose vectors have at least this cosine are near-duplicates.
NEAR = 0.97
#: Axes of most variance that candidates are found by, and their cosine; up to this many rows are compared.
AXES, CANDIDATE, MOST_COMPARED = 96, 0.95, 30_000
BLOCK = 1024


@dataclass(frozen=True)
class Doubt:
    """A row whose label may be wrong, and why: a class that models trained without the row prefer, or a near-duplicate.

    row: its number among the training rows, from 0 on, or in the file. probability: of its own label, by models that were not trained on it.
    """

    row: int
    text: Any
    label: Any
    probability: float
    suggested: Any
    reason: str

    __repr__ = dataclass_repr


def own_probabilities(training: Training) -> Float:
    """The calibrated out-of-fold probability of each row's own labels, (n,); of several, the least; NaN where unknown."""
    choice, labels = training.choice, training.labels
    p = class_probabilities(training)
    if labels.exclusive:
        return np.asarray(p[np.arange(len(p)), training.members.argmax(axis=1)])
    held = choice.fold_of >= 0
    return np.where(held, np.where(training.members > 0, p, 1 - p).min(axis=1), np.nan)


def class_probabilities(training: Training) -> Float:
    """Calibrated out-of-fold probabilities, (n, classes)."""
    labels = training.labels
    logits = training.choice.logits / training.choice.temperature
    return np.asarray(
        probabilities(logits if labels.softmax else labels.by_class(logits), labels.softmax)
    )


def doubts(training: Training, count: int) -> list[Doubt]:
    """The rows whose own labels are least probable, most suspicious first, where another answer is more probable."""
    own, p = own_probabilities(training), class_probabilities(training)
    order = np.argsort(np.where(np.isnan(own), 2.0, own), kind="stable")[:count]
    return [_doubt(training, int(row), own, p) for row in order if own[row] < 0.5]


def _doubt(training: Training, row: int, own: Float, p: Float) -> Doubt:
    labels = training.labels
    if labels.exclusive:
        best = int(p[row].argmax())
        suggested, sure = labels.classes.tolist()[best], p[row, best]
        reason = f"models that did not see it say {suggested!s}, {100 * sure:.0f} % sure"
    else:
        suggested = plain(labels.of_members(p[row : row + 1] >= 0.5)[0])
        reason = "models that did not see it would give other labels"
    return _made(training, row, float(own[row]), suggested, reason)


def conflicts(training: Training) -> list[Doubt]:
    """Rows that nearly repeat an earlier row with another label, once each, in the order of the rows."""
    strata = training.labels.strata(training.members)
    own = own_probabilities(training)
    found: dict[int, Doubt] = {}
    for earlier, row, cosine in _near_pairs(training):
        if strata[earlier] != strata[row] and row not in found:
            label = plain(
                training.labels.of_members(training.members[earlier : earlier + 1] > 0)[0]
            )
            same = "repeats" if cosine >= 1 else f"nearly repeats, with a cosine of {cosine:.3f},"
            reason = f"it {same} record {training.number(earlier)}, whose label is {label!s}"
            found[row] = _made(training, row, float(own[row]), label, reason)
    return [found[row] for row in sorted(found)]


def _near_pairs(training: Training) -> list[tuple[int, int, float]]:
    """Pairs of rows (earlier, later) whose words are the same, or whose vectors are near; with the cosine."""
    words = [" ".join(text.lower().split()) for text in training.texts.sides[0]]
    if training.texts.paired:
        words = [
            f"{one}\t{' '.join(two.lower().split())}"
            for one, two in zip(words, training.texts.sides[1], strict=True)
        ]
    first: dict[str, int] = {}
    pairs = {}
    for row, text in enumerate(words):
        if first.setdefault(text, row) != row:
            pairs[first[text], row] = 1.0
    for earlier, row, cosine in _near_vectors(training):
        pairs.setdefault((earlier, row), cosine)
    return [(*pair, cosine) for pair, cosine in sorted(pairs.items())]


def _near_vectors(training: Training) -> list[tuple[int, int, float]]:
    rows = training.design.dense[:, :-1]
    if not rows.shape[1] or len(rows) > MOST_COMPARED:
        return []
    whole = _unit(rows)
    axes = np.argsort(-training.design.variances[:-1])[:AXES]
    small = _unit(rows[:, axes])
    found = []
    for start in range(0, len(rows), BLOCK):
        cosines = small[start : start + BLOCK] @ small.T
        for at, other in np.argwhere(cosines >= CANDIDATE).tolist():
            later = start + at
            cosine = float(whole[later] @ whole[other]) if other < later else 0.0
            if cosine >= NEAR:
                found.append((other, later, min(cosine, 0.9999)))
    return found


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)


def _made(training: Training, row: int, own: float, suggested: Any, reason: str) -> Doubt:
    sides = tuple(side[row] for side in training.texts.sides)
    label = plain(training.labels.of_members(training.members[row : row + 1] > 0)[0])
    return Doubt(
        training.number(row), sides if len(sides) == 2 else sides[0], label, own, suggested, reason
    )


def plain(label: Any) -> Any:
    """A label as JSON has it."""
    return label.tolist() if isinstance(label, (np.generic, np.ndarray)) else label

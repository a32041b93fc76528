"""Reports on a training run: accuracy by folds, confusion, learning curve, calibration, and labels that may be wrong."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.classify import logistic
from noppa.classify.explain import plain_label
from noppa.classify.logistic import fit_temperature, probabilities
from noppa.classify.training import Training
from noppa.display import Displayed, dataclass_repr
from noppa.encoder.models import unit_rows

Float = NDArray[np.float64]
#: Mean confidence, share of correct answers, and number of answers.
Bin = tuple[float, float, int]

#: The learning curve: shares of the training rows, and the number of folds that each is measured in.
SHARES, CURVE_FOLDS = (1 / 16, 1 / 8, 1 / 4, 1 / 2), 2
#: The default number of suspicious labels.
SUSPICIOUS = 20
#: Larger confusion tables are unreadable: pictures show the classes that are confused most.
MOST_CONFUSED = 30
#: Texts whose vectors have at least this cosine are near-duplicates.
NEAR = 0.97
#: Near-duplicates: the axes of most variance that candidates are found by, their cosine, and the most rows that are compared.
AXES, CANDIDATE, MOST_COMPARED = 96, 0.95, 30_000
BLOCK = 1024
#: The columns of a table of suspicious labels.
COLUMNS = ("row", "label", "probability", "suggested", "text")


@dataclass(frozen=True)
class SuspiciousLabel:
    """A row whose label may be wrong: models trained without it prefer another class, or it nearly repeats another row.

    row: its number among the training rows, or in the file. probability: that of its label, by models not trained on the row.
    """

    row: int
    text: Any
    label: Any
    probability: float
    suggested: Any
    reason: str

    __repr__ = dataclass_repr


@dataclass(frozen=True)
class TrainingReport(Displayed):
    """How good a classifier is; all figures are of rows that the scoring models were not trained on.

    folds: the accuracy in each fold. confusion (classes, classes): rows of a class (row) by predicted class (column); empty if
    rows have several labels. curve: (rows trained on, accuracy). calibration: (confidence, accuracy, answers) of each bin.
    calibration_error, uncalibrated_error: with and without the temperature. conflicts: None without an audit.
    """

    rows: int
    classes: list[Any]
    counts: list[int]
    l2: tuple[float, float]
    temperature: float
    folds: list[float]
    confusion: list[list[int]]
    curve: list[tuple[int, float]]
    calibration: list[Bin]
    calibration_error: float
    uncalibrated_error: float
    suspicious: list[SuspiciousLabel]
    conflicts: list[SuspiciousLabel] | None

    @property
    def accuracy(self) -> float:
        """The mean accuracy over the folds."""
        return float(np.mean(self.folds))

    @property
    def error(self) -> float:
        """The standard error of the accuracy over the folds; 0 for a single fold."""
        folds = len(self.folds)
        return float(np.std(self.folds, ddof=1) / np.sqrt(folds)) if folds > 1 else 0.0

    def __repr__(self) -> str:
        return (
            f"TrainingReport({self.rows} rows, {len(self.classes)} classes, "
            f"accuracy={self.accuracy:.4f}, error={self.error:.4f})"
        )

    @property
    def _title(self) -> str:
        return (
            f"accuracy {self.accuracy:.1%} ± {self.error:.1%} on held-out rows of {self.rows:,}; "
            f"{len(self.suspicious)} labels may be wrong"
        )

    def _columns(self) -> dict[str, list[Any]]:
        """Return the most suspicious labels, one row each."""
        return {name: [getattr(row, name) for row in self.suspicious] for name in COLUMNS}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {"accuracy": self.accuracy, "error": self.error, **asdict(self)}


def make_report(
    training: Training, suspicious: int = SUSPICIOUS, audit: bool = False
) -> TrainingReport:
    """Report on a fit; `audit` also compares all rows with each other for near-duplicates with different labels."""
    choice, labels, members = training.choice, training.labels, training.members
    correct = _correct(choice.logits, training)
    folds = [
        float(correct[choice.fold_of == fold].mean()) for fold in range(choice.fold_of.max() + 1)
    ]
    trained_rows = int((training.train & (choice.fold_of != 0)).sum())
    bins, uncalibrated_error = _calibration(training)
    return TrainingReport(
        rows=int(training.train.sum()),
        classes=labels.classes.tolist(),
        counts=members[training.train].sum(axis=0).astype(int).tolist(),
        l2=choice.l2,
        temperature=choice.temperature,
        folds=folds,
        confusion=_confusion(training) if labels.exclusive else [],
        curve=[*_curve(training), (trained_rows, float(np.mean(folds)))],
        calibration=bins,
        calibration_error=calibration_error(bins),
        uncalibrated_error=uncalibrated_error,
        suspicious=_suspicious(training, suspicious),
        conflicts=_conflicts(training) if audit else None,
    )


def _correct(logits: Float, training: Training) -> NDArray[np.bool_]:
    """Return whether the answer by these logits (n, columns) is correct, (n,); meaningless for rows without logits."""
    labels, members = training.labels, training.members
    by_class = labels.by_class(logits)
    if labels.exclusive:
        return np.asarray(by_class.argmax(axis=1) == members.argmax(axis=1))
    return np.asarray(((by_class >= 0) == (members > 0)).all(axis=1))


def _confusion(training: Training) -> list[list[int]]:
    held = training.choice.fold_of >= 0
    truth = training.members[held].argmax(axis=1)
    predicted = _class_probabilities(training)[held].argmax(axis=1)
    count = len(training.labels.classes)
    table = np.bincount(truth * count + predicted, minlength=count * count)
    return [[int(cell) for cell in row] for row in table.reshape(count, count)]


def _curve(training: Training) -> list[tuple[int, float]]:
    """Measure the accuracy of models trained on a share of the rows, with the chosen penalties."""
    choice, design = training.choice, training.design
    folds = min(CURVE_FOLDS, int(choice.fold_of.max()) + 1)
    random = np.random.default_rng(0)
    weights, sizes = [], []
    for fold in range(folds):
        rows = random.permutation(np.flatnonzero(training.train & (choice.fold_of != fold)))
        for share in SHARES:
            chosen = np.zeros(len(training.train), np.float32)
            chosen[rows[: max(2, round(share * len(rows)))]] = 1
            weights.append(chosen)
            sizes.append(int(chosen.sum()))
    l2 = np.tile(np.array(choice.l2), (len(weights), 1))
    models = logistic.fit(design, design.folds(np.stack(weights)), np.arange(len(weights)), l2)
    logits = models.logits().astype(np.float64)
    accuracies = [
        _correct(logits[model], training)[choice.fold_of == model // len(SHARES)].mean()
        for model in range(len(weights))
    ]
    means = np.reshape(accuracies, (folds, len(SHARES))).mean(axis=0)
    return list(zip(sizes[: len(SHARES)], means.tolist(), strict=True))


# Calibration


def _calibration(training: Training) -> tuple[list[Bin], float]:
    """Return the bins with temperatures from other folds, and the error without any temperature."""
    choice, design, softmax = training.choice, training.design, training.labels.softmax
    held = np.flatnonzero(choice.fold_of >= 0)
    logits, fold_of = choice.logits[held], choice.fold_of[held]
    calibrated = logits / choice.temperature
    if fold_of.max() > 0:
        for fold in range(fold_of.max() + 1):
            others = fold_of != fold
            temperature = fit_temperature(
                logits[others], design.targets[held][others], design.softmax
            )
            calibrated[~others] = logits[~others] / temperature
    truth = design.targets[held] > 0
    error = calibration_error(reliability(logits, truth, softmax))
    return reliability(calibrated, truth, softmax), error


def reliability(
    logits: Float, truth: NDArray[np.bool_], softmax: bool, bins: int = 10
) -> list[Bin]:
    """Return the bins of confidence that contain answers.

    truth (n, columns): whether each column holds. With `softmax` an answer is the most probable column, otherwise each column,
    yes or no.
    """
    p = probabilities(logits, softmax)
    if softmax:
        top = p.argmax(axis=1)
        confidence, correct = p[np.arange(len(p)), top], truth[np.arange(len(p)), top]
    else:
        confidence, correct = np.maximum(p, 1 - p).ravel(), ((p >= 0.5) == truth).ravel()
    bin_of = np.minimum((confidence * bins).astype(int), bins - 1)
    return [
        (float(confidence[inside].mean()), float(correct[inside].mean()), int(inside.sum()))
        for inside in (bin_of == number for number in range(bins))
        if inside.any()
    ]


def calibration_error(bins: list[Bin]) -> float:
    """Return the mean difference of confidence and share of correct answers, weighted by answers."""
    answers = sum(count for _, _, count in bins)
    return sum(count * abs(sure - correct) for sure, correct, count in bins) / max(answers, 1)


# Labels that may be wrong


def _class_probabilities(training: Training) -> Float:
    """Return calibrated out-of-fold probabilities, (n, classes)."""
    labels = training.labels
    logits = labels.by_class(training.choice.logits / training.choice.temperature)
    return np.asarray(probabilities(logits, labels.softmax))


def label_probabilities(training: Training) -> Float:
    """Return the calibrated out-of-fold probability of each row's label, (n,); the least of several; NaN if unknown."""
    p = _class_probabilities(training)
    if training.labels.exclusive:
        return np.asarray(p[np.arange(len(p)), training.members.argmax(axis=1)])
    held = training.choice.fold_of >= 0
    return np.where(held, np.where(training.members > 0, p, 1 - p).min(axis=1), np.nan)


def _suspicious(training: Training, count: int) -> list[SuspiciousLabel]:
    """Return up to `count` rows whose label is less probable than another answer, the least probable first."""
    own, p, labels = label_probabilities(training), _class_probabilities(training), training.labels
    found = []
    for row in np.argsort(np.where(np.isnan(own), 2.0, own), kind="stable")[:count].tolist():
        if not own[row] < 0.5:
            continue
        if labels.exclusive:
            best = int(p[row].argmax())
            suggested = labels.classes.tolist()[best]
            reason = (
                f"models that did not see it say {suggested!s}, {100 * p[row, best]:.0f} % sure"
            )
        else:
            suggested = plain_label(labels.from_members(p[row : row + 1] >= 0.5)[0])
            reason = "models that did not see it would give other labels"
        found.append(_suspicious_label(training, row, own, suggested, reason))
    return found


def _conflicts(training: Training) -> list[SuspiciousLabel]:
    """Return rows that nearly repeat an earlier row with another label, once each, in row order."""
    strata = training.labels.strata(training.members)
    own = label_probabilities(training)
    found: dict[int, SuspiciousLabel] = {}
    for (earlier, row), cosine in sorted(_near_pairs(training).items()):
        if strata[earlier] != strata[row] and row not in found:
            label = _label(training, earlier)
            how = "repeats" if cosine >= 1 else f"nearly repeats, with a cosine of {cosine:.3f},"
            reason = f"it {how} record {training.number(earlier)}, whose label is {label!s}"
            found[row] = _suspicious_label(training, row, own, label, reason)
    return [found[row] for row in sorted(found)]


def _near_pairs(training: Training) -> dict[tuple[int, int], float]:
    """Map pairs of rows (earlier, later) with the same words, or with near vectors, to their cosine."""
    sides = [[" ".join(text.lower().split()) for text in side] for side in training.texts.sides]
    first: dict[str, int] = {}
    pairs: dict[tuple[int, int], float] = {}
    for row, words in enumerate(map("\t".join, zip(*sides, strict=True))):
        if first.setdefault(words, row) != row:
            pairs[first[words], row] = 1.0
    rows = training.design.dense[:, :-1]
    if not rows.shape[1] or len(rows) > MOST_COMPARED:
        return pairs
    whole = unit_rows(rows)
    axes = np.argsort(-training.design.variances[:-1])[:AXES]
    small = unit_rows(rows[:, axes])
    for start in range(0, len(rows), BLOCK):
        cosines = small[start : start + BLOCK] @ small.T
        for offset, earlier in np.argwhere(cosines >= CANDIDATE).tolist():
            row = start + offset
            cosine = float(whole[row] @ whole[earlier]) if earlier < row else 0.0
            if cosine >= NEAR:
                pairs.setdefault((earlier, row), min(cosine, 0.9999))
    return pairs


def _label(training: Training, row: int) -> Any:
    return plain_label(training.labels.from_members(training.members[row : row + 1] > 0)[0])


def _suspicious_label(
    training: Training, row: int, own: Float, suggested: Any, reason: str
) -> SuspiciousLabel:
    label, text = _label(training, row), training.texts.item(row)
    return SuspiciousLabel(training.number(row), text, label, float(own[row]), suggested, reason)

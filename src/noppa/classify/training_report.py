"""What a training run found: accuracy by folds, confusion, learning curve, calibration, and the most suspicious labels."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.classify import linear_fit
from noppa.classify.audit import Doubt, class_probabilities, conflicts, doubts
from noppa.classify.calibration import calibration_error, reliability, temperature
from noppa.classify.learning import Training
from noppa.classify.linear_fit import Folds
from noppa.display import Displayed, text_table

Float = NDArray[np.float64]

#: The learning curve: shares of the training rows, and folds that each is measured in.
SHARES, CURVE_FOLDS = (1 / 16, 1 / 8, 1 / 4, 1 / 2), 2
SUSPICIOUS = 20
#: Larger tables of confusion are read by nobody: the classes that are confused most are shown.
MOST_CONFUSED = 30
#: What a table of doubtful labels shows.
DOUBT = ("row", "label", "probability", "suggested", "text")


@dataclass(frozen=True)
class TrainingReport(Displayed):
    """All figures are of rows that the scoring models were not trained on.

    folds: the accuracy in each. confusion (classes, classes): rows of a class (row) by what was predicted (column); empty
    for several labels. curve: rows trained on, and accuracy. calibration: confidence, accuracy and rows of each bin;
    calibration_error before and after the temperature. conflicts: only where an audit was asked for.
    """

    rows: int
    classes: list[Any]
    counts: list[int]
    l2: tuple[float, float]
    temperature: float
    folds: list[float]
    confusion: list[list[int]]
    curve: list[tuple[int, float]]
    calibration: list[tuple[float, float, int]]
    calibration_error: float
    uncalibrated_error: float
    suspicious: list[Doubt]
    conflicts: list[Doubt] | None

    @property
    def accuracy(self) -> float:
        """The mean over the folds."""
        return float(np.mean(self.folds))

    @property
    def error(self) -> float:
        """The standard error of the accuracy over folds; 0 for a single one."""
        return (
            float(np.std(self.folds, ddof=1) / np.sqrt(len(self.folds)))
            if len(self.folds) > 1
            else 0.0
        )

    def __repr__(self) -> str:
        return f"TrainingReport({self.rows} rows, {len(self.classes)} classes, accuracy={self.accuracy:.4f}, error={self.error:.4f})"

    def __str__(self) -> str:
        return f"{self._title}\n{text_table(self._columns())}"

    @property
    def _title(self) -> str:
        return (
            f"accuracy {self.accuracy:.1%} ± {self.error:.1%} on held-out rows of {self.rows:,}; "
            f"{len(self.suspicious)} labels may be wrong"
        )

    def _columns(self) -> dict[str, list[Any]]:
        """Return the most suspicious labels, one row each."""
        return {name: [getattr(doubt, name) for doubt in self.suspicious] for name in DOUBT}

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON."""
        return {"accuracy": self.accuracy, "error": self.error, **asdict(self)}


def report_of(
    training: Training, suspicious: int = SUSPICIOUS, audit: bool = False
) -> TrainingReport:
    """The report of a fit; `audit` also compares all rows with each other for near-duplicates with different labels."""
    choice, labels, members = training.choice, training.labels, training.members
    right = _right(choice.logits, training)
    folds = [float(right[choice.fold_of == at].mean()) for at in range(choice.fold_of.max() + 1)]
    bins, before = _calibration(training)
    return TrainingReport(
        rows=int(training.train.sum()),
        classes=labels.classes.tolist(),
        counts=members[training.train].sum(axis=0).astype(int).tolist(),
        l2=choice.l2,
        temperature=choice.temperature,
        folds=folds,
        confusion=_confusion(training) if labels.exclusive else [],
        curve=[*_curve(training), (_trained_rows(training), float(np.mean(folds)))],
        calibration=bins,
        calibration_error=calibration_error(bins),
        uncalibrated_error=before,
        suspicious=doubts(training, suspicious),
        conflicts=conflicts(training) if audit else None,
    )


def _right(logits: Float, training: Training) -> NDArray[np.bool_]:
    """Whether the answer by these logits (n, columns) is right, (n,); nonsense for rows without logits."""
    labels, members = training.labels, training.members
    each = labels.by_class(logits)
    if labels.exclusive:
        return np.asarray(each.argmax(axis=1) == members.argmax(axis=1))
    return np.asarray(((each >= 0) == (members > 0)).all(axis=1))


def _confusion(training: Training) -> list[list[int]]:
    held = training.choice.fold_of >= 0
    truth = training.members[held].argmax(axis=1)
    predicted = class_probabilities(training)[held].argmax(axis=1)
    count = len(training.labels.classes)
    table = np.bincount(truth * count + predicted, minlength=count * count)
    return [[int(cell) for cell in row] for row in table.reshape(count, count)]


def _calibration(training: Training) -> tuple[list[tuple[float, float, int]], float]:
    """The bins of reliability with temperatures from other folds, and the error without any."""
    choice, design = training.choice, training.design
    labels = training.labels
    held = np.flatnonzero(choice.fold_of >= 0)
    logits, fold_of = choice.logits[held], choice.fold_of[held]
    cooled = logits / choice.temperature
    if fold_of.max() > 0:
        for fold in range(fold_of.max() + 1):
            others = fold_of != fold
            warmth = temperature(logits[others], design.targets[held][others], design.softmax)
            cooled[~others] = logits[~others] / warmth
    truth = design.targets[held] > 0
    error = calibration_error(reliability(logits, truth, labels.softmax))
    return reliability(cooled, truth, labels.softmax), error


def _trained_rows(training: Training) -> int:
    """Rows that a fold's model was trained on."""
    fold_of = training.choice.fold_of
    return int((training.train & (fold_of != 0)).sum())


def _curve(training: Training) -> list[tuple[int, float]]:
    """Accuracy when only some of the training rows are used, at the chosen strengths."""
    choice, design = training.choice, training.design
    folds = min(CURVE_FOLDS, int(choice.fold_of.max()) + 1)
    random = np.random.default_rng(0)
    sets, sizes = [], []
    for fold in range(folds):
        rows = random.permutation(np.flatnonzero(training.train & (choice.fold_of != fold)))
        for share in SHARES:
            chosen = np.zeros(len(training.train), np.float32)
            chosen[rows[: max(2, round(share * len(rows)))]] = 1
            sets.append(chosen)
            sizes.append(int(chosen.sum()))
    l2 = np.tile(np.array(choice.l2), (len(sets), 1))
    weights = np.stack(sets)
    fitted = linear_fit.fit(design, Folds.of(design, weights), np.arange(len(sets)), l2)
    logits = fitted.logits().astype(np.float64)
    curve = []
    for at in range(len(SHARES)):
        scores = [
            _right(logits[fold * len(SHARES) + at], training)[choice.fold_of == fold].mean()
            for fold in range(folds)
        ]
        curve.append((sizes[at], float(np.mean(scores))))
    return curve

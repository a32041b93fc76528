"""Model cards of classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from noppa.classify.classifier_folder import Contents
from noppa.classify.training_report import TrainingReport
from noppa.encoder.encoder_card import license_of
from noppa.io.model_card import model_card


def classifier_card(
    repo_id: str,
    folder: Path,
    contents: Contents,
    facts: Mapping[str, str],
    report: TrainingReport | None,
    license: str | None,
    figures: Mapping[str, float] | None,
) -> str:
    """The card of a classifier that was just saved; right after a fit it has the accuracy on held-out rows."""
    usage = [
        "import noppa",
        f'model = noppa.load_classifier("hf:{repo_id}")',
        'labels = model.predict(["the first text", "the second text"])',
        'reasons = model.explain("the first text")',
        "",
        f"noppa predict hf:{repo_id} texts.txt",
    ]
    known = {}
    if report is not None:
        known = {
            "accuracy on held-out rows": report.accuracy,
            "its standard error over folds": report.error,
            "calibration error": report.calibration_error,
        }
    encoder = contents.features.encoder
    given = license or (None if encoder is None else license_of(encoder.words))
    classes = len(contents.labels.classes)
    summary = f"A classifier of texts into {classes} classes that says which words decided."
    return model_card(
        repo_id, folder, "text-classification", summary, usage, facts, given, {**known, **(figures or {})}
    )  # fmt: skip

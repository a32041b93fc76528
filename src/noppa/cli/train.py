"""`noppa train`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from noppa.classify.classifier import Classifier
from noppa.classify.report import SUSPICIOUS, TrainingReport
from noppa.cli.options import AsJson, Format, input_files, input_size
from noppa.cli.output import (
    check_output,
    interruptible,
    note,
    print_json,
    printable,
    records_bar,
    visible,
)
from noppa.files.collect import Labelled, read_labelled
from noppa.io.atomic import atomic_file
from noppa.plot import training_page
from noppa.progress_bar import counts_bar

TextColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        "--column",
        "-c",
        help="Column with the text; twice for pairs of texts.",
        show_default="text",
    ),
]
REPORTS = (".html", ".json", ".txt")
LISTED_CLASSES, LISTED_NGRAMS = 10, 8
#: The value of `--model` and `--ngrams` for no such features.
NONE = "none"


def train(
    inputs: Annotated[list[str], typer.Argument(help="Files with labelled rows.")],
    label: Annotated[str, typer.Option(help="Column with the label.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the classifier.")],
    text: TextColumns = None,
    separator: Annotated[
        str | None, typer.Option(help="Separates the labels of a row that has several.")
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(help="A file of rows that choose the regularization, instead of folds."),
    ] = None,
    report: Annotated[
        list[Path] | None,
        typer.Option(help="Also write the report as .html, .json or .txt; repeat for more."),
    ] = None,
    audit: Annotated[
        bool, typer.Option("--audit", help="Also find near-duplicates with different labels.")
    ] = False,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="As for `noppa encode`; none for n-grams only."),
    ] = None,
    ngrams: Annotated[
        str, typer.Option(help="Words of the shortest and the longest n-gram, or none.")
    ] = "1-2",
    folds: Annotated[int, typer.Option(help="Folds of the cross-validation.")] = 5,
    as_json: AsJson = False,
    form: Format = None,
    on_error: Annotated[
        Literal["raise", "skip"], typer.Option(help="Bad rows: stop, or leave them out.")
    ] = "raise",
) -> None:
    """Train a classifier on labelled texts and report accuracy, confusion, calibration and doubtful labels.

    Example: noppa train reviews.csv --text body --label topic -o model --report report.html
    """
    paths = report or []
    for path in paths:
        if path.suffix.lower() not in REPORTS:
            raise typer.BadParameter(f"--report {path}: give a name in {', '.join(REPORTS)}")
    for target in (output, *paths):
        check_output(target, [*inputs, dev])
    lengths = _ngram_lengths(ngrams)

    def read_rows(files: list[str]) -> Labelled:
        source = input_files(files, text[0] if text else None, form)
        with records_bar("read", input_size(source)) as progress:
            rows = read_labelled(
                source, text or [None], label, separator, on_error == "skip", progress
            )
        if rows.skipped:
            note(f"{len(rows.skipped)} rows were left out: {visible(rows.skipped[0])}, …")
        return rows

    with interruptible(": nothing was written"), counts_bar() as progress:
        rows = read_rows(inputs)
        dev_rows = None if dev is None else read_rows([dev])
        classifier = Classifier(False if model == NONE else model, lengths, folds=folds)
        progress("train", 0, 2)
        classifier.fit(
            rows.texts, rows.labels, None if dev_rows is None else (dev_rows.texts, dev_rows.labels)
        )
        progress("report", 1, 2)
        numbers = [*rows.numbers, *([] if dev_rows is None else dev_rows.numbers)]
        results = classifier.report(SUSPICIOUS, audit, numbers)
        has_ngrams = classifier.contents.features.ngrams is not None and len(rows.sides) == 1
        top = classifier.top_ngrams() if has_ngrams else {}
        classifier.name_columns([name for name in text or [] if name])
        classifier.save(output)
        for path in paths:
            _write(path, results, top, f"Training of {output.name}")
    if as_json:
        print_json(_to_dict(results, top))
    else:
        print("\n".join(printable(line) for line in report_text(results, top).split("\n")))


def _ngram_lengths(value: str) -> tuple[int, int] | None:
    if value == NONE:
        return None
    try:
        first, _, last = value.partition("-")
        return int(first), int(last or first)
    except ValueError:
        raise typer.BadParameter(
            f"--ngrams must be a range such as 1-2, or none, not {value!r}"
        ) from None


def _write(path: Path, report: TrainingReport, top: dict[Any, Any], title: str) -> None:
    with atomic_file(path) as new:
        if path.suffix.lower() == ".html":
            content = training_page(report, title, top)
        elif path.suffix.lower() == ".json":
            content = json.dumps(_to_dict(report, top), ensure_ascii=False) + "\n"
        else:
            content = report_text(report, top) + "\n"
        new.write_text(content, encoding="utf-8", errors="replace")


def _to_dict(report: TrainingReport, top: dict[Any, Any]) -> dict[str, Any]:
    return {**report.to_dict(), "ngrams": {str(name): pairs for name, pairs in top.items()}}


def report_text(report: TrainingReport, top: dict[Any, Any]) -> str:
    """Return the report as lines of text."""
    folds = f"{len(report.folds)} fold{'s' * (len(report.folds) != 1)}"
    lines = [
        f"{report.rows:,} rows, {len(report.classes)} classes",
        f"accuracy  {100 * report.accuracy:.2f} % ± {100 * report.error:.2f}  ({folds}, held-out rows)",
        f"calibration error  {100 * report.calibration_error:.2f} %, "
        f"{100 * report.uncalibrated_error:.2f} % before calibration",
        f"regularization  vectors {report.l2[0]:g}, n-grams {report.l2[1]:g}, temperature {report.temperature:.3f}",
        "learning curve  "
        + ", ".join(f"{rows:,}: {100 * right:.1f} %" for rows, right in report.curve),
        "",
        *_class_lines(report),
    ]
    for name, pairs in list(top.items())[:LISTED_CLASSES]:
        lines.append(f"for {name!s}:  " + ", ".join(word for word, _ in pairs[:LISTED_NGRAMS]))
    if report.suspicious:
        lines += ["", "most suspicious labels", *map(_doubt_line, report.suspicious)]
    if report.conflicts is not None:
        shown = report.conflicts[: max(len(report.suspicious), SUSPICIOUS)]
        lines += ["", f"near-duplicates with different labels: {len(report.conflicts)}"]
        lines += map(_doubt_line, shown)
    return "\n".join(lines)


def _class_lines(report: TrainingReport) -> list[str]:
    """Describe each class: its rows, the share that was recognized, and the classes it was confused with."""
    lines: list[str] = []
    for number, (name, count) in enumerate(zip(report.classes, report.counts, strict=True)):
        if number == LISTED_CLASSES:
            return [*lines, f"and {len(report.classes) - number} more classes"]
        line = f"{name!s}: {count:,} rows"
        if report.confusion:
            row = report.confusion[number]
            others = sorted(
                ((rows, other) for other, rows in enumerate(row) if other != number and rows),
                reverse=True,
            )
            line += f", {100 * row[number] / max(sum(row), 1):.1f} % recognized"
            line += "".join(
                f", {rows:,} taken for {report.classes[other]!s}" for rows, other in others[:2]
            )
        lines.append(line)
    return lines


def _doubt_line(doubt: Any) -> str:
    text = doubt.text if isinstance(doubt.text, str) else " / ".join(doubt.text)
    start = " ".join(text.split())[:80]
    return f"  record {doubt.row}, {doubt.label!s}, {100 * doubt.probability:.1f} %: {doubt.reason}: {start}"


def register(app: typer.Typer) -> None:
    app.command()(train)

"""`noppa train`: from a labelled file to a classifier and a report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from noppa.classify.classifier import Classifier
from noppa.classify.training_report import SUSPICIOUS, TrainingReport
from noppa.cli.checked_output import output_of
from noppa.cli.options import AsJson, Model, Threads, TokenizerName, expanded
from noppa.cli.progress import records_bar
from noppa.cli.record_options import Reading, interruptible, size_of
from noppa.cli.table_output import print_json
from noppa.cli.terminal import printable, visible
from noppa.encoder.models import load
from noppa.files.labelled import Labelled, read_labelled
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


@expanded
def train(
    reading: Reading,
    inputs: Annotated[list[str], typer.Argument(help="Files with labelled rows.", show_default=False)],
    label: Annotated[str, typer.Option(help="Column with the label.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the classifier.", show_default=False)],
    text: TextColumns = None,
    separator: Annotated[
        str | None, typer.Option(help="What divides the labels of a row that has several.", show_default=False)
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(help="A file of rows that choose the strengths in place of folds.", show_default=False),
    ] = None,
    report: Annotated[
        list[Path] | None,
        typer.Option(help="Also write the report: .html, .json or .txt; repeat for more.", show_default=False),
    ] = None,
    audit: Annotated[
        bool, typer.Option("--audit", help="Also find near-duplicates with different labels.")
    ] = False,
    suspicious: Annotated[int, typer.Option(help="How many doubtful labels to list.")] = SUSPICIOUS,
    model: Model = None,
    tokenizer: TokenizerName = None,
    no_vectors: Annotated[bool, typer.Option("--no-vectors", help="N-grams alone.")] = False,
    ngrams: Annotated[
        str, typer.Option(help="Words of the shortest and the longest n-gram, or none.")
    ] = "1-2",
    folds: Annotated[int, typer.Option(help="Folds that choose and score.")] = 5,
    seed: Annotated[int, typer.Option(help="Of the folds.")] = 0,
    keep_texts: Annotated[
        bool, typer.Option("--keep-texts", help="Save the texts, so that the nearest rows can be named.")
    ] = False,
    as_json: AsJson = False,
    threads: Threads = None,
) -> None:  # fmt: skip
    """A classifier from labelled texts, and how good it is: accuracy, confusion, learning curve, calibration, doubtful labels.

    Example: noppa train reviews.csv --text body --label topic -o model --report report.html
    """
    if reading.on_error not in ("raise", "skip"):
        raise typer.BadParameter(f"--on-error must be raise or skip, not {reading.on_error!r}")
    if no_vectors and model is not None:
        raise typer.BadParameter("give --model or --no-vectors, not both")
    paths = report or []
    for path in paths:
        if path.suffix.lower() not in REPORTS:
            raise typer.BadParameter(f"--report {path}: give a name in {', '.join(REPORTS)}")
    for target in (output, *paths):
        output_of(target, [*inputs, dev])
    lengths = _lengths(ngrams)
    encoder = model if tokenizer is None else load(model, tokenizer)

    def labelled(files: list[str]) -> Labelled:
        origin = reading.input_of(files, text[0] if text else None)
        with records_bar("read", size_of(origin)) as progress:
            found = read_labelled(
                origin, text or [None], label, separator, reading.on_error == "skip", progress
            )
        if found.skipped:
            typer.echo(
                f"noppa: {len(found.skipped)} rows were left out: {visible(found.skipped[0])}, …",
                err=True,
            )
        return found

    with interruptible(": nothing was written"), counts_bar() as progress:
        rows = labelled(inputs)
        choosing = None if dev is None else labelled([dev])
        classifier = Classifier(
            False if no_vectors else encoder, lengths, folds=folds, keep_texts=keep_texts, seed=seed, threads=threads
        )  # fmt: skip
        progress("train", 0, 2)
        classifier.fit(
            rows.texts, rows.labels, None if choosing is None else (choosing.texts, choosing.labels)
        )
        progress("report", 1, 2)
        numbers = [*rows.numbers, *([] if choosing is None else choosing.numbers)]
        made = classifier.report(suspicious, audit, numbers)
        single = classifier.contents.features.ngrams is not None and len(rows.sides) == 1
        top = classifier.top_ngrams() if single else {}
        classifier.name_columns([name for name in text or [] if name])
        classifier.save(output)
        for path in paths:
            _write(path, made, top, f"Training of {output.name}")
    if as_json:
        print_json(_described(made, top))
    else:
        typer.echo(printable_report(made, top))


def _lengths(given: str) -> tuple[int, int] | None:
    if given == "none":
        return None
    try:
        first, _, last = given.partition("-")
        return int(first), int(last or first)
    except ValueError:
        raise typer.BadParameter(f"--ngrams is such as 1-2, or none, not {given!r}") from None


def _write(path: Path, report: TrainingReport, top: dict[Any, Any], title: str) -> None:
    with atomic_file(path) as new:
        if path.suffix.lower() == ".html":
            content = training_page(report, title, top)
        elif path.suffix.lower() == ".json":
            content = json.dumps(_described(report, top), ensure_ascii=False) + "\n"
        else:
            content = report_text(report, top) + "\n"
        new.write_text(content, encoding="utf-8", errors="replace")


def _described(report: TrainingReport, top: dict[Any, Any]) -> dict[str, Any]:
    return {**report.to_dict(), "ngrams": {str(name): pairs for name, pairs in top.items()}}


def printable_report(report: TrainingReport, top: dict[Any, Any]) -> str:
    """The report for standard output, without control characters of the data on a terminal."""
    return "\n".join(printable(line) for line in report_text(report, top).split("\n"))


def report_text(report: TrainingReport, top: dict[Any, Any]) -> str:
    """The report as lines of text."""
    lines = [
        f"{report.rows:,} rows, {len(report.classes)} classes",
        f"accuracy  {100 * report.accuracy:.2f} % ± {100 * report.error:.2f}  "
        f"({len(report.folds)} fold{'s' * (len(report.folds) != 1)}, rows that were held out)",
        f"calibration error  {100 * report.calibration_error:.2f} %, {100 * report.uncalibrated_error:.2f} % before",
        f"strengths  vectors {report.l2[0]:g}, n-grams {report.l2[1]:g}, temperature {report.temperature:.3f}",
        "learning curve  "
        + ", ".join(f"{rows:,}: {100 * right:.1f} %" for rows, right in report.curve),
        "",
        *_class_lines(report),
    ]
    for name, pairs in list(top.items())[:LISTED_CLASSES]:
        lines.append(f"for {name!s}:  " + ", ".join(word for word, _ in pairs[:LISTED_NGRAMS]))
    if report.suspicious:
        lines += ["", "most suspicious labels"]
        lines += [_doubt_line(one) for one in report.suspicious]
    if report.conflicts is not None:
        lines += ["", f"near-duplicates with different labels: {len(report.conflicts)}"]
        lines += [
            _doubt_line(one) for one in report.conflicts[: max(len(report.suspicious), SUSPICIOUS)]
        ]
    return "\n".join(lines)


def _class_lines(report: TrainingReport) -> list[str]:
    """Each class with its rows, and how many of them were found and by what they were mistaken."""
    lines: list[str] = []
    for at, (name, count) in enumerate(zip(report.classes, report.counts, strict=True)):
        if at == LISTED_CLASSES:
            return [*lines, f"and {len(report.classes) - at} more classes"]
        line = f"{name!s}: {count:,} rows"
        if report.confusion:
            row = report.confusion[at]
            others = sorted(
                ((n, at2) for at2, n in enumerate(row) if at2 != at and n), reverse=True
            )
            line += f", {100 * row[at] / max(sum(row), 1):.1f} % found"
            line += "".join(f", {n:,} taken for {report.classes[at2]!s}" for n, at2 in others[:2])
        lines.append(line)
    return lines


def _doubt_line(one: Any) -> str:
    text = one.text if isinstance(one.text, str) else " / ".join(one.text)
    return f"  record {one.row}, {one.label!s}, {100 * one.probability:.1f} %: {one.reason}: {' '.join(text.split())[:80]}"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(train)

"""`noppa predict`: labels for texts, one record in, one record out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

import noppa
from noppa.cli.checked_output import output_of
from noppa.cli.options import Threads, expanded
from noppa.cli.record_options import Inputs, Output, Overwrite, Reading, Resume
from noppa.cli.run_job import run_job
from noppa.cli.table_output import print_json
from noppa.cli.terminal import printable
from noppa.cli.train import TextColumns
from noppa.errors import ParameterError
from noppa.files.predictions import PredictJob
from noppa.files.record_writers import RECORD_WRITERS
from noppa.io.atomic import atomic_file
from noppa.io.hub import locate
from noppa.plot import decision, save
from noppa.plot.pictures import checked

MOST_REASONS = 12


@expanded
def predict(
    reading: Reading,
    model: Annotated[Path, typer.Argument(help="The folder of a classifier, or hf:owner/name.", show_default=False)],
    inputs: Inputs = None,
    output: Output = "-",
    to: Annotated[
        str | None, typer.Option("--to", help=f"Output format: {', '.join(RECORD_WRITERS)}.")
    ] = None,
    text: TextColumns = None,
    into: Annotated[str, typer.Option(help="Column for the label.")] = "predicted",
    every: Annotated[
        bool, typer.Option("--every", help="The probability of every class, in a column each.")
    ] = False,
    explain: Annotated[
        str | None,
        typer.Option(help="Explain one text, given here, in place of files; -o for .html or .json.", show_default=False),
    ] = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    as_json: Annotated[bool, typer.Option("--json", help="The explanation as JSON.")] = False,
    threads: Threads = None,
) -> None:  # fmt: skip
    """Labels of texts with their probabilities: one record in, one record out, the other columns kept.

    The texts of a table are in the column that `noppa train` was told, unless another is named.

    Example: noppa predict model new.csv -o labelled.csv
    """
    model = Path(locate(str(model)))
    classifier = noppa.load_classifier(model)
    classifier.threads = threads
    if explain is not None:
        _explain(classifier, explain, output, model, as_json)
        return
    contents = classifier.contents
    source = reading.input_of(inputs, text[0] if text else None)
    columns = text or contents.text_columns or [None, None][: 1 + contents.features.paired]
    try:
        job = PredictJob(
            model=classifier,
            source=replace(source, column=columns[0], records=True),
            target=output,
            form=to,
            on_error=reading.on_error,
            resume=resume,
            overwrite=overwrite,
            folder=model,
            columns=columns,
            into=into,
            every=every,
        )
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from error
    run_job(job, "predict")


def _explain(
    classifier: noppa.Classifier, text: str, output: str, model: Path, as_json: bool
) -> None:
    """Print the reasons for one text, or write them as a page or as JSON."""
    if output != "-":
        path = checked(output, (".json",))
        output_of(path, [model])
    explained = classifier.explain(text)
    if output == "-" and as_json:
        print_json(explained.to_dict())
    elif output == "-":
        best = explained.best
        print(
            printable(
                f"{explained.label!s}\t{explained.probabilities[best]:.4f}\tlogit {explained.logits[best]:+.4f}"
            )
        )
        for name, share in explained.reasons()[:MOST_REASONS]:
            print(printable(f"{share:+.4f}\t{name}"))
    elif path.suffix.lower() == ".json":
        with atomic_file(path) as new:
            new.write_text(json.dumps(explained.to_dict(), ensure_ascii=False), encoding="utf-8")
    else:
        save([decision(explained)], path)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(predict)

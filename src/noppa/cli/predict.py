"""`noppa predict`."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import noppa
from noppa.cli.encode import run_job, run_on_engine
from noppa.cli.options import (
    AsJson,
    Engine,
    Format,
    Inputs,
    OnError,
    Output,
    Overwrite,
    Resume,
    Scheduler,
    input_files,
)
from noppa.cli.output import check_output, print_json, printable
from noppa.cli.train import TextColumns
from noppa.errors import ParameterError
from noppa.files import PredictJob
from noppa.io.atomic import atomic_file
from noppa.io.hub import locate
from noppa.plot import decision, save
from noppa.plot.pictures import checked_path

#: Reasons that an explanation prints.
MOST_REASONS = 12


def predict(
    model: Annotated[Path, typer.Argument(help="A classifier's folder, or hf:owner/name.")],
    inputs: Inputs = None,
    output: Output = "-",
    to: Annotated[
        str | None,
        typer.Option(
            "--to", help="Output format: jsonl, csv, parquet; by the file name if not given."
        ),
    ] = None,
    text: TextColumns = None,
    into: Annotated[str, typer.Option(help="Column for the label.")] = "predicted",
    every: Annotated[
        bool, typer.Option("--every", help="Write the probability of every class.")
    ] = False,
    explain: Annotated[
        str | None,
        typer.Option(
            help="Explain the label of this text, instead of reading files; -o for .html or .json."
        ),
    ] = None,
    as_json: AsJson = False,
    resume: Resume = False,
    overwrite: Overwrite = False,
    form: Format = None,
    on_error: OnError = "raise",
    engine: Engine = None,
    scheduler: Scheduler = None,
) -> None:
    """Label texts, with probabilities: one record in, one record out, other columns kept.

    The texts are in the columns that `noppa train` used, unless others are named.

    Example: noppa predict model new.csv -o labelled.csv
    """
    model = Path(locate(str(model)))
    classifier = noppa.load_classifier(model)
    if explain is not None:
        return _explain(classifier, explain, output, model, as_json)
    contents = classifier.contents
    source = input_files(inputs, text[0] if text else None, form, engine)
    make_job = partial(
        PredictJob,
        model=classifier,
        on_error=on_error,
        folder=model.absolute(),
        columns=text or contents.text_columns or [None, None][: 1 + contents.features.paired],
        into=into,
        every=every,
    )
    try:
        if engine is not None:
            classifier.threads = 1
            return run_on_engine(make_job, source, output, to, on_error, engine, scheduler)
        job = make_job(source=source, target=output, format=to, resume=resume, overwrite=overwrite)
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from error
    run_job(job, "predict")


def _explain(
    classifier: noppa.Classifier, text: str, output: str, model: Path, as_json: bool
) -> None:
    """Print the reasons for one label, or write them as a page or as JSON."""
    path = None if output == "-" else checked_path(output, (".json",))
    if path is not None:
        check_output(path, [model])
    decided = classifier.explain(text)
    if path is None and as_json:
        print_json(decided.to_dict())
    elif path is None:
        best = decided.best
        probability, logit = decided.probabilities[best], decided.logits[best]
        print(printable(f"{decided.label!s}\t{probability:.4f}\tlogit {logit:+.4f}"))
        for name, share in decided.reasons()[:MOST_REASONS]:
            print(printable(f"{share:+.4f}\t{name}"))
    elif path.suffix.lower() == ".json":
        with atomic_file(path) as new:
            new.write_text(json.dumps(decided.to_dict(), ensure_ascii=False), encoding="utf-8")
    else:
        save([decision(decided)], path)


def register(app: typer.Typer) -> None:
    app.command()(predict)

"""`noppa compare`."""

from __future__ import annotations

from dataclasses import asdict, astuple
from typing import Annotated

import typer

import noppa
from noppa.cli import scoring
from noppa.cli.encoder_options import Counts, Vectors, kind_of, words_of
from noppa.cli.options import AsJson, TokenizerName, expanded
from noppa.cli.record_options import Reading
from noppa.cli.table_output import print_json, print_table
from noppa.errors import NoppaError
from noppa.files.labelled import read_labelled
from noppa.paper import compare as comparison
from noppa.paper import recipes
from noppa.paper.candidates import Candidate
from noppa.paper.protocols import SEED
from noppa.processes import processes


@expanded
def compare(
    reading: Reading,
    data: Annotated[str, typer.Argument(help="A file with labelled rows.", show_default=False)],
    text: Annotated[
        str,
        typer.Option("--text", "--column", "-c", help="Its column of texts.", show_default=False),
    ],
    label: Annotated[str, typer.Option(help="Its column of labels.", show_default=False)],
    vectors: Vectors = None,
    counts: Counts = None,
    tokenizer: TokenizerName = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="One method, also package.module:Class; repeat for more.", show_default="all"
        ),
    ] = None,
    seed: scoring.Seed = SEED,
    jobs: scoring.Jobs = None,
    as_json: AsJson = False,
) -> None:
    """All methods on your own labelled texts: accuracy in ten folds, time and size, and a recommendation.

    Without --vectors on some columns of the embedded words, whose presets are compared too. Without --method, also a bag of
    words and the classifier of `noppa train`.

    Example: noppa compare data.csv --text review --label stars --vectors glove.6B.100d.npy --counts counts.txt
    """
    found = read_labelled(
        reading.input_of([data], text), [text], label, skip=reading.on_error == "skip"
    )
    rows = comparison.rows_of(found.texts, found.labels, data)
    candidates = None if method is None else [kind_of(name) for name in method]
    words = _embedded_words() if vectors is None else words_of(vectors, counts)
    words = words if tokenizer is None else words.with_tokenizer(tokenizer)
    words = words.frozen(found.texts)
    if words.probabilities is None:
        # The methods need probabilities, and most files are sorted by frequency.
        words = words.with_ranks()
        typer.echo(
            "noppa: no --counts: word probabilities are estimated from the order of words", err=True
        )
    lines = []
    with processes(scoring.jobs_of(jobs)) as run, scoring.warnings_once():
        compared: list[Candidate] = [*recipes.every_method(words, candidates)]
        if candidates is None and vectors is None:
            compared += comparison.presets()
        for candidate in compared:
            try:
                lines.append(comparison.line_of(rows, candidate, seed, run))
            # Such as more directions than dimensions; the other methods can still be compared.
            except NoppaError as error:
                typer.echo(f"noppa: {candidate.name} is left out: {error}", err=True)
        if candidates is None:
            lines += [
                comparison.classifier_line(rows, name, seed, run) for name in comparison.CLASSIFIERS
            ]
    lines.sort(key=lambda line: -line.accuracy)
    choice = comparison.recommended(lines)
    if as_json:
        print_json({"lines": [asdict(line) for line in lines], "choice": choice.name})
        return
    head = ["method", "accuracy %", "± error", "µs a text", "dim"]
    print_table(head, [astuple(line) for line in lines], [0, 2, 2, 1, 0])
    typer.echo(
        f"Take {choice.name}: the smallest vectors ({choice.dim}) among the methods within one standard error "
        "of the best."
    )


def _embedded_words() -> noppa.WordVectors:
    """The embedded words in the columns in which `noppa.load()` compares pairs: some methods make long vectors of all of them."""
    model = noppa.load()
    columns = getattr(model.method, "pair_columns", None)
    return model.words.columns(*columns) if columns else model.words


def register(app: typer.Typer) -> None:
    app.command()(compare)

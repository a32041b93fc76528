"""`noppa bench`: scores on SentEval's tasks, searches over parameters, and reports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import noppa
from noppa.cli import bench_paper, scoring
from noppa.cli.encoder_options import (
    SMALLEST,
    Counts,
    Missing,
    Parameters,
    Vectors,
    kind_of,
    parameters_of,
    words_of,
)
from noppa.cli.options import Model
from noppa.encoder import embedded
from noppa.errors import ParameterError
from noppa.io.atomic import atomic_file
from noppa.io.outputs import refuse_input_as_output
from noppa.methods.registry import adapted
from noppa.paper import bench as runs
from noppa.paper import protocols, recipes, report, tuning
from noppa.paper.candidates import Candidate, Fixed, Recipe
from noppa.paper.results import Record
from noppa.paper.results import read as read_records
from noppa.parameters import one_of
from noppa.plot.pictures import save
from noppa.processes import processes

group = typer.Typer(invoke_without_command=True)

Method = Annotated[
    str,
    typer.Option(
        help=f"With --vectors: {', '.join(noppa.METHODS)}, package.module:Class, or all with `all`."
    ),
]


@group.callback()
def bench(
    context: typer.Context,
    data: Annotated[
        Path | None, typer.Option(help="SentEval's data folder.", show_default=False)
    ] = None,
    model: Model = None,
    vectors: Vectors = None,
    counts: Counts = None,
    missing: Missing = SMALLEST,
    method: Method = "noppa",
    parameter: Parameters = None,
    protocol: scoring.Protocol = "fast",
    tasks: scoring.Tasks = None,
    jobs: scoring.Jobs = None,
    seed: scoring.Seed = protocols.SEED,
    transductive: scoring.Transductive = False,
    unchecked: scoring.Unchecked = False,
    corpus: scoring.Corpus = None,
    shuffle_labels: Annotated[
        bool, typer.Option("--shuffle-labels", help="A control that must score chance; labelled.")
    ] = False,
    sbert: Annotated[
        str | None,
        typer.Option(help="A sentence-transformers model to score instead.", show_default=False),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="JSON lines; rows are added.")
    ] = Path("results.jsonl"),
) -> None:
    """Score a saved model, or word vectors with a method, on SentEval's tasks.

    Example: noppa bench --data SentEval/data --vectors glove.6B.100d.npy --counts counts.txt -p a=0.05 -o results.jsonl
    """
    if context.invoked_subcommand is not None:
        return
    if data is None:
        raise typer.BadParameter("give SentEval's data folder", param_hint="--data")
    one_of(protocol, "protocol", protocols.PROTOCOLS)
    refuse_input_as_output(output, [vectors, counts, corpus, model])
    candidates = _candidates(model, vectors, counts, missing, method, parameter or [], sbert)
    selected = scoring.tasks_in(data, tasks)
    conditions = scoring.conditions_of(
        data, protocol, seed, transductive, unchecked, corpus, shuffle_labels
    )
    with processes(scoring.jobs_of(jobs)) as run:
        rows = runs.results(selected, candidates, conditions, run)
        _show(
            scoring.write(
                rows,
                len(selected) * len(candidates),
                output,
                scoring.sources(vectors, counts, missing),
            )
        )


def _show(rows: list[Record]) -> None:
    typer.echo(report.text(rows), nl=False)


def _candidates(
    model: str | None,
    vectors: Path | None,
    counts: Path | None,
    missing: str,
    method: str,
    parameter: list[str],
    sbert: str | None,
) -> list[Candidate]:
    if sbert is not None:
        return [Fixed(noppa.external(sbert), Path(sbert).name)]
    if vectors is None:
        return [Fixed(noppa.load(model), Path(model or embedded.DEFAULT).name)]
    if model is not None:
        raise ParameterError("--model and --vectors are both given: choose one of them")
    words = words_of(vectors, counts, missing=missing).without_ngrams()
    if method == "all":
        return [*recipes.every_method(words)]
    kind = kind_of(method)
    parameters = parameters_of(parameter, kind)
    name = recipes.row_name(kind, parameters)
    return [Recipe(words, adapted(kind(**parameters)), name)]


@group.command()
def ablations(
    data: scoring.Data,
    vectors: scoring.RequiredVectors,
    output: scoring.Output,
    counts: Counts = None,
    missing: Missing = SMALLEST,
    a: Annotated[float, typer.Option(help="Strength of the frequency weight.")] = 0.05,
    k: Annotated[int, typer.Option(help="Directions that noise removal takes out.")] = 12,
    protocol: scoring.Protocol = "fast",
    tasks: scoring.Tasks = None,
    jobs: scoring.Jobs = None,
    seed: scoring.Seed = protocols.SEED,
    transductive: scoring.Transductive = False,
    unchecked: scoring.Unchecked = False,
) -> None:
    """The average, CE-avg, CE-avg+NR, CE+SFW, NoPPA, and NoPPA with other kinds of noise removal.

    Example: noppa bench ablations --data SentEval/data --vectors glove.6B.100d.npy --counts counts.txt -o ablations.jsonl
    """
    one_of(protocol, "protocol", protocols.PROTOCOLS)
    selected = scoring.tasks_in(data, tasks)
    refuse_input_as_output(output, [vectors, counts])
    candidates = recipes.ablations(words_of(vectors, counts, missing=missing), a, k)
    conditions = scoring.conditions_of(data, protocol, seed, transductive, unchecked)
    with processes(scoring.jobs_of(jobs)) as run:
        rows = runs.results(selected, candidates, conditions, run)
        _show(
            scoring.write(
                rows,
                len(selected) * len(candidates),
                output,
                scoring.sources(vectors, counts, missing),
            )
        )


@group.command("search")
def search_(
    data: scoring.Data,
    vectors: scoring.RequiredVectors,
    output: scoring.Output,
    counts: Counts = None,
    missing: Missing = SMALLEST,
    method: Method = "noppa",
    parameter: Parameters = None,
    space: Annotated[
        list[str] | None,
        typer.Option(
            help="a=0.01:0.15, k=0:24 or noise=paper|reference; repeat. By default the paper's."
        ),
    ] = None,
    trials: Annotated[int, typer.Option(help="Trials of each search.", min=1)] = tuning.TRIALS,
    search_seed: Annotated[
        list[int] | None,
        typer.Option(help="Of a whole search, 0 if not given; repeat, five give a deviation."),
    ] = None,
    select_on: Annotated[
        str, typer.Option(help="dev, or test to replay the paper's protocol; labelled.")
    ] = "dev",
    protocol: scoring.Protocol = "fast",
    tasks: scoring.Tasks = None,
    jobs: scoring.Jobs = None,
    seed: scoring.Seed = protocols.SEED,
    transductive: scoring.Transductive = False,
    unchecked: scoring.Unchecked = False,
) -> None:
    """Search the parameters of a method on development rows; run again, it goes on where it stopped.

    Example: noppa bench search --data SentEval/data --vectors glove.6B.100d.npy --counts counts.txt --tasks TREC -o search.jsonl
    """
    one_of(protocol, "protocol", protocols.PROTOCOLS)
    one_of(select_on, "select_on", tuning.SELECT_ON)
    refuse_input_as_output(output, [vectors, counts])
    words = words_of(vectors, counts, missing=missing).without_ngrams()
    ranges = [tuning.Range.of(text) for text in space or tuning.SPACE]
    kind = kind_of(method)
    fixed = parameters_of(parameter or [], kind)

    def make(values: dict[str, Any]) -> Candidate:
        typed = parameters_of([f"{name}={value}" for name, value in values.items()], kind)
        return Recipe(words, adapted(kind(**fixed | typed)), kind.__name__)

    make({part.name: part.choices[0] if part.choices else part.high for part in ranges})
    selected = scoring.tasks_in(data, tasks)
    seeds = search_seed or [0]
    plan = tuning.Plan(make, tuple(ranges), trials, select_on)
    conditions = scoring.conditions_of(data, protocol, seed, transductive, unchecked)
    about = scoring.sources(vectors, counts, missing)
    old = read_records([output]) if output.exists() else []
    old = [row for row in old if all(row.get(key) == value for key, value in about.items())]
    with processes(scoring.jobs_of(jobs)) as run:
        rows = tuning.searches(selected, seeds, plan, conditions, old, run)
        _show(scoring.write(rows, len(selected) * len(seeds) * (trials + 1), output, about))


@group.command("report")
def report_(
    results: Annotated[list[Path], typer.Argument(help="Files of results.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="A file; by default standard output.", show_default=False
        ),
    ] = None,
    format: Annotated[
        str, typer.Option(help="markdown, latex, html, csv, text or pdf.")
    ] = "markdown",
) -> None:
    """Tables of results in Markdown, LaTeX, CSV or plain text, one HTML page with plots, or plots alone as PDF.

    Example: noppa bench report results.jsonl --format html -o results.html
    """
    one_of(format, "format", (*report.FORMATS, "pdf"))
    if output is not None:
        refuse_input_as_output(output, results)
    if format == "pdf":
        if output is None:
            raise typer.BadParameter("a PDF needs a file: give -o NAME.pdf", param_hint="--output")
        save(report.pictures(read_records(results)), output)
        return
    text = report.FORMATS[format](read_records(results))
    if output is None:
        typer.echo(text, nl=False)
    else:
        with atomic_file(output) as new:
            new.write_text(text, encoding="utf-8")


def register(app: typer.Typer) -> None:
    bench_paper.register(group)
    app.add_typer(group, name="bench")

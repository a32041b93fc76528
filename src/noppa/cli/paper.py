"""`noppa paper`: reproduce the paper, or score other models on its tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

import noppa
from noppa.cli.options import (
    Counts,
    Model,
    Vectors,
    find_method,
    load_words,
    parse_parameters,
    unfitted_encoder,
)
from noppa.cli.output import check_output, note, warnings_once
from noppa.encoder import embedded
from noppa.errors import FileError, NoppaError, ParameterError
from noppa.io.atomic import atomic_file
from noppa.io.paths import folders_of, refuse_input_as_output
from noppa.paper import figures, records, report, study, tasks
from noppa.paper.protocols import Candidate, Encoded, Fixed, Recipe
from noppa.paper.records import Conditions, Record
from noppa.paper.study import Item, Study, Words
from noppa.paper.tasks import RAW, SENTEVAL, TASKS, Task
from noppa.parameters import one_of
from noppa.processes import Run, processes
from noppa.progress_bar import counts_bar
from noppa.threads import thread_count

group = typer.Typer(no_args_is_help=True)

Data = Annotated[Path, typer.Option(help="SentEval's data folder.")]
Tasks = Annotated[
    str | None,
    typer.Option("--tasks", help="Names separated by commas; default: all in the folder."),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter", "-p", help="With --vectors: a parameter of the method, as in a=0.05; repeat."
    ),
]
Jobs = Annotated[
    int | None, typer.Option(help="Processes; default: one per core.", show_default=False, min=1)
]
Unchecked = Annotated[
    bool, typer.Option("--unchecked", help="Accept files with other checksums; labelled.")
]

SOURCES = {RAW: "as published", SENTEVAL: "as SentEval writes them"}


@group.callback()
def paper() -> None:
    """Reproduce the paper, or score other models on its tasks."""


@group.command("prepare")
def prepare_(
    data: Annotated[Path, typer.Argument(help="SentEval's folder, or published files.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder to write.")] = None,
    selected: Tasks = None,
) -> None:
    """Check the files of the tasks; with -o, write them in the form that SentEval's scripts produce.

    The exit code is 1 if a file is wrong. Example: noppa paper prepare raw -o SentEval/data
    """
    chosen = _tasks_in(data, selected)
    if output is not None:
        for task in chosen:
            tasks.prepare(data, output, task)
    wrong = False
    for task in chosen:
        try:
            source = SOURCES[str(tasks.source_of(task, tasks.check(output or data, task)))]
            rows = " + ".join(str(file.rows) for file in task.files)
            typer.echo(f"{task.name:<8} good: {rows} rows, {source}")
        except FileError as error:
            wrong = True
            typer.echo(f"{task.name:<8} {error}")
    if selected is None and (absent := [name for name in TASKS if TASKS[name] not in chosen]):
        typer.echo(f"not found: {', '.join(absent)}")
    if wrong:
        raise typer.Exit(1)


@group.command()
def score(
    data: Data,
    model: Model = None,
    vectors: Vectors = None,
    counts: Counts = None,
    method: Annotated[
        str, typer.Option(help="With --vectors: a method, package.module:Class, or `all`.")
    ] = "noppa",
    parameter: Parameters = None,
    protocol: Annotated[
        str, typer.Option(help="fast (logistic regression) or senteval (the paper's network).")
    ] = "fast",
    selected: Tasks = None,
    unchecked: Unchecked = False,
    jobs: Jobs = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="JSON lines; results are appended.")
    ] = Path("results.jsonl"),
) -> None:
    """Score a saved model, or word vectors with a method, on SentEval's tasks.

    Example: noppa paper score --data SentEval/data --vectors glove.6B.100d.npy --counts counts.txt -p a=0.05
    """
    refuse_input_as_output(output, [vectors, counts, model])
    chosen = _tasks_in(data, selected)
    conditions = Conditions(data, protocol, unchecked=unchecked)
    candidates = _candidates(model, vectors, counts, method, parameter or [])
    with processes(jobs or thread_count()) as run:
        rows = records.score_all(chosen, candidates, conditions, run)
        total, files = len(chosen) * len(candidates), _file_records(vectors, counts)
        typer.echo(report.markdown(_write(rows, total, output, files)), nl=False)


def _candidates(
    model: str | None,
    vectors: Path | None,
    counts: Path | None,
    method: str,
    parameter: list[str],
) -> list[Candidate]:
    if vectors is None:
        return [Fixed(noppa.load(model), Path(model or embedded.DEFAULT).name)]
    if model is not None:
        raise ParameterError("--model and --vectors are both given: choose one of them")
    words = load_words(vectors, counts).without_ngrams()
    if method == "all":
        return [Recipe(words, kind(), kind.__name__) for kind in noppa.METHODS.values()]
    kind = find_method(method)
    parameters = parse_parameters(parameter, kind)
    settings = ", ".join(f"{key}={value}" for key, value in parameters.items())
    name = f"{kind.__name__}({settings})" if settings else kind.__name__
    return [Recipe(words, kind(**parameters), name)]


@group.command("run")
def run_(
    data: Data,
    vectors: Annotated[list[Path], typer.Option("--vectors", "-v", help="Word vectors; repeat.")],
    counts: Counts = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            help="Sentences, one per line, for FastSent and Sent2Vec, which are left out without it."
        ),
    ] = None,
    encoded: Annotated[
        list[Path] | None,
        typer.Option(
            help="Vectors of another program: NAME.npy, with one text per line in NAME.txt; repeat."
        ),
    ] = None,
    part: Annotated[
        list[str] | None, typer.Option(help=f"{', '.join(study.PARTS)}; repeat. Default: all.")
    ] = None,
    selected: Tasks = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few tasks, methods, trials and runs: minutes.")
    ] = False,
    unchecked: Unchecked = False,
    jobs: Jobs = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder; each part appends to one file.")
    ] = Path("paper-results"),
) -> None:
    """Run the experiments of the paper: both protocols of Table 1, ablations, speed, grid, tuning, search, replay.

    An interrupted run resumes. Example: noppa paper run --data SentEval/data -v glove.6B.100d.npy --counts counts.txt --quick
    """
    names = list(part or study.PARTS)
    for name in names:
        one_of(name, "part", tuple(study.PARTS))
    whole = Study(
        str(data),
        [_words(path, counts) for path in vectors],
        _tasks_in(data, selected),
        None if corpus is None else _read_lines(corpus),
        records.file_fingerprint(corpus),
        [Encoded(path, records.file_fingerprint(path) or {}) for path in encoded or ()],
        unchecked,
    )
    if quick:
        whole = whole.quickened()
    output.mkdir(parents=True, exist_ok=True)
    items = {name: study.PARTS[name][1](whole) for name in names}
    files = {name: output / f"paper_{name}.jsonl" for name in names}
    old = {name: records.read([file]) if file.exists() else [] for name, file in files.items()}
    missing = {name: sum(item.missing(old[name]) for item in items[name]) for name in names}
    for name in names:
        typer.echo(f"{name:<10} {missing[name]:>5} rows left   {study.PARTS[name][0]}")
    if corpus is None and {"fast", "senteval"} & set(names):
        typer.echo("FastSent and Sent2Vec are left out: give --corpus FILE to train them")
    failed: list[str] = []
    with processes(jobs or thread_count()) as run:
        for name in names:
            if missing[name]:
                rows = _missing_records(items[name], old[name], run, failed)
                _write(rows, missing[name], files[name], {}, f"{name}: ")
    if failed:
        raise NoppaError(f"{len(failed)} results are missing: {'; '.join(dict.fromkeys(failed))}")
    typer.echo(f"{output} is complete: noppa paper report {output}/*.jsonl prints the tables")


def _missing_records(
    items: Sequence[Item], old: Sequence[Record], run: Run, failed: list[str]
) -> Iterator[Record]:
    """Yield the missing records; a method that fails does not stop the others."""
    for item in items:
        try:
            if item.missing(old):
                yield from item.records(old, run)
        except NoppaError as error:
            failed.append(str(error))


def _words(path: Path, counts: Path | None) -> Words:
    words = load_words(path, counts).without_ngrams()
    if words.probabilities is None:
        raise ParameterError(
            f"{path} has no word probabilities, which NoPPA and most rows need: give --counts FILE"
        )
    as_authors = words if counts is None else words.with_counts(counts, missing=0.0)
    return Words(words, as_authors, _file_records(path, counts))


def _file_records(vectors: Path | None, counts: Path | None) -> Record:
    """Return the names and hashes of the files that words come from."""
    return {
        "vectors": records.file_fingerprint(vectors),
        "counts": records.file_fingerprint(counts),
    }


def _tasks_in(data: Path, names: str | None) -> list[Task]:
    chosen = tasks.tasks_in(data, names)
    if not chosen:
        raise FileError(f"{data} holds the files of no task: give SentEval's data folder")
    return chosen


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read: {error}") from error


def _write(
    rows: Iterable[Record], total: int, output: Path, files: Record, label: str = ""
) -> list[Record]:
    """Append rows to a file one by one, under a progress bar, and return them; Ctrl-C keeps those already written."""
    about = files | records.surroundings()
    written: list[Record] = []
    try:
        with counts_bar() as update, warnings_once():
            update(f"{label}scoring", 0, total)
            for row in rows:
                written.append(row | about)
                records.append(output, written[-1])
                update(f"{label}{row['task']} {row['score']:.2f}", len(written), total)
    except KeyboardInterrupt:
        note(f"interrupted; {output} holds {len(written)} finished results")
        raise SystemExit(130) from None
    return written


@group.command("report")
def report_(
    results: Annotated[list[Path], typer.Argument(help="Files of results.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="An HTML page with plots.")
    ] = None,
) -> None:
    """Print tables of results in Markdown, or write one HTML page with plots.

    Example: noppa paper report results.jsonl -o results.html
    """
    if output is None:
        typer.echo(report.markdown(records.read(results)), nl=False)
        return
    refuse_input_as_output(output, results)
    text = report.page(records.read(results))
    with atomic_file(output) as new:
        new.write_text(text, encoding="utf-8")


@group.command("figures")
def figures_(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")],
    model: Model = None,
    vectors: Vectors = None,
    counts: Counts = None,
    parameter: Parameters = None,
) -> None:
    """Draw every figure of the paper, and a page that compares the paper's printed values with ours.

    Example: noppa paper figures -v glove.6B.300d.txt --counts counts.txt -o figures
    """
    if vectors is None:
        encoder = noppa.load(model)
    else:
        settings = ["k=0", *(parameter or [])]
        encoder = unfitted_encoder(model, vectors, counts, False, "noppa", settings)
    check_output(output, folders_of(encoder))
    for path in figures.figures(encoder, output, counts):
        typer.echo(path)


def register(app: typer.Typer) -> None:
    app.add_typer(group, name="paper")

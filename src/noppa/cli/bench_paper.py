"""`noppa bench paper`: the paper's tables and studies, in parts that resume."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

import noppa
from noppa.cli import scoring
from noppa.cli.encoder_options import Counts, words_of
from noppa.errors import FileError, NoppaError, ParameterError
from noppa.paper import experiments
from noppa.paper.candidates import Encoded, Fixed
from noppa.paper.results import Record
from noppa.paper.results import read as read_records
from noppa.paper.study import Corpus, Cost, Item, Study, Words, total_of
from noppa.processes import Run, processes


def register(group: typer.Typer) -> None:
    group.command("paper")(paper_)


def paper_(
    data: scoring.Data,
    vectors: Annotated[
        list[Path],
        typer.Option("--vectors", "-v", help="Word vectors; repeat.", show_default=False),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A folder; each part adds rows to a file of it.")
    ] = Path("paper-results"),
    counts: Counts = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            help="Sentences of running text, one a line, to train FastSent and Sent2Vec on; without it they are left out.",
            show_default=False,
        ),
    ] = None,
    sbert: Annotated[
        list[str] | None,
        typer.Option(
            help="A sentence-transformers model as a further row; repeat.", show_default=False
        ),
    ] = None,
    encoded: Annotated[
        list[Path] | None,
        typer.Option(
            help="Vectors that another program made as a further row: NAME.npy, and the texts in NAME.txt, one a line; repeat.",
            show_default=False,
        ),
    ] = None,
    part: Annotated[
        list[str] | None,
        typer.Option(
            help=f"{', '.join(experiments.PARTS)}; repeat. By default all.", show_default=False
        ),
    ] = None,
    tasks: scoring.Tasks = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few tasks, methods, trials and runs: minutes.")
    ] = False,
    jobs: scoring.Jobs = None,
    unchecked: scoring.Unchecked = False,
) -> None:
    """Everything that the paper measures: both protocols of Table 1, ablations, speed, grid, tuning, search, replay.

    Run again, it goes on where it stopped. Example: noppa bench paper --data SentEval/data --vectors glove.6B.100d.npy --counts counts.txt --quick
    """
    names = experiments.parts_of(part)
    study = Study(
        str(data),
        [_words(path, counts) for path in vectors],
        scoring.tasks_in(data, tasks),
        _corpus(corpus),
        [
            *(Fixed(noppa.external(name), Path(name).name) for name in sbert or ()),
            *(Encoded(path, scoring.fingerprint(path) or {}) for path in encoded or ()),
        ],
        unchecked,
    )
    if quick:
        study = experiments.quickened(study)
    _make_folder(output)
    measured, parts = (
        Cost.measured(),
        {name: experiments.PARTS[name].items(study) for name in names},
    )
    files = {name: output / f"paper_{name}.jsonl" for name in names}
    old = {name: read_records([file]) if file.exists() else [] for name, file in files.items()}
    left = {name: total_of(parts[name], old[name], measured) for name in names}
    for name, (rows, seconds) in left.items():
        cost = f"{rows:>5} rows left, about {duration(seconds)} of CPU time"
        typer.echo(f"{name:<10} {cost:<50} {experiments.PARTS[name].about}")
    typer.echo(f"{'all':<10} {_total(left.values())}; stop it when you like: run again, it goes on")
    if corpus is None and {"fast", "senteval"} & set(names):
        typer.echo("FastSent and Sent2Vec are left out: give --corpus FILE to train them")
    failed: list[str] = []
    with processes(scoring.jobs_of(jobs)) as run:
        for name in names:
            if left[name][0]:
                found = _records(parts[name], old[name], run, failed)
                scoring.write(found, left[name][0], files[name], {}, f"{name}: ")
    if failed:
        raise NoppaError(
            f"{len(failed)} rows could not be made: {'; '.join(dict.fromkeys(failed))}"
        )
    typer.echo(
        f"{output} holds all rows that were asked for: noppa bench report {output}/*.jsonl shows them"
    )


def _records(
    items: Sequence[Item], old: Sequence[Record], run: Run, failed: list[str]
) -> Iterator[Record]:
    """The records that are left; a method that cannot run does not stop the others."""
    for item in items:
        try:
            yield from item.records(old, run)
        except NoppaError as error:
            failed.append(str(error))


def _total(left: Iterable[tuple[int, float]]) -> str:
    rows, seconds = (sum(each) for each in zip(*left, strict=True))
    return f"{rows:>5.0f} rows left, about {duration(seconds)} of CPU time"


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 6000 else f"{seconds / 3600:.1f} hours"


def _words(path: Path, counts: Path | None) -> Words:
    words = words_of(path, counts).without_ngrams()
    if words.word_probabilities is None:
        raise ParameterError(
            f"{path} has no word probabilities, which NoPPA and most rows need: give --counts FILE with lines of word and count"
        )
    as_authors = words if counts is None else words.with_counts(counts, missing=0.0)
    return Words(words, as_authors, scoring.sources(path, counts))


def _corpus(path: Path | None) -> Corpus | None:
    texts, file = scoring.lines_of(path), scoring.fingerprint(path)
    return None if texts is None or file is None else Corpus(texts, file)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"{path} cannot be a folder of results ({error.strerror}): give another"
        ) from error

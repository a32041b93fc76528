"""What `bench` and `compare` share: options, conditions, and records appended to a file under a progress bar."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from noppa.cli.encoder_options import SMALLEST
from noppa.errors import FileError, NoppaWarning
from noppa.paper import results, task_files
from noppa.paper.bench import Conditions
from noppa.paper.results import Record
from noppa.paper.tasks import Task
from noppa.threads import thread_count

Data = Annotated[
    Path,
    typer.Option(
        help="SentEval's data folder, the one that holds downstream/.", show_default=False
    ),
]
RequiredVectors = Annotated[Path, typer.Option(help="File of word vectors.", show_default=False)]
Tasks = Annotated[
    str | None,
    typer.Option(help="Names with commas; by default all that DIR holds.", show_default=False),
]
Protocol = Annotated[
    str, typer.Option(help="fast (logistic regression) or senteval (the paper's).")
]
Jobs = Annotated[
    int | None, typer.Option(help="Processes; one a core if not given.", show_default=False, min=1)
]
Output = Annotated[
    Path, typer.Option("--output", "-o", help="JSON lines; rows are added.", show_default=False)
]
Transductive = Annotated[
    bool, typer.Option("--transductive", help="Fit on test text too, as the paper did; labelled.")
]
Unchecked = Annotated[
    bool, typer.Option("--unchecked", help="Score files that are not SentEval's; labelled.")
]
Seed = Annotated[int, typer.Option(help="Of the folds and of the classifier.")]
Corpus = Annotated[
    Path | None,
    typer.Option(help="Texts to fit on, one a line, for tasks that have none.", show_default=False),
]


def tasks_in(data: Path, names: str | None) -> list[Task]:
    """The named tasks, or all tasks whose files exist."""
    if names is not None:
        return task_files.tasks_of(names)
    tasks = task_files.available(data)
    if not tasks:
        raise FileError(f"{data} holds the files of no task: see `noppa data check {data}`")
    return tasks


def lines_of(path: Path | None) -> list[str] | None:
    if path is None:
        return None
    try:
        return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read: {error}") from error


def fingerprint(path: Path | None) -> dict[str, str] | None:
    """The name of a file and its sha256."""
    if path is None or not path.is_file():
        return None if path is None else {"file": path.name}
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return {"file": path.name, "sha256": digest.hexdigest()}


def sources(vectors: Path | None, counts: Path | None, missing: str = SMALLEST) -> Record:
    """The files that words come from, and the probability of words without a count where it was given."""
    files: Record = {"vectors": fingerprint(vectors), "counts": fingerprint(counts)}
    return files if missing == SMALLEST else files | {"missing": missing}


def jobs_of(jobs: int | None) -> int:
    return thread_count() if jobs is None else jobs


@contextmanager
def warnings_once() -> Iterator[None]:
    """Show a warning once, not in every fold: two that differ only in numbers and examples are the same."""
    seen: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", NoppaWarning)
        show = warnings.showwarning

        def once(message: Warning | str, *rest: Any, **more: Any) -> None:
            shape = re.sub(r"\d+", "", re.split(r": |, among", str(message))[0])
            if shape not in seen:
                seen.add(shape)
                show(message, *rest, **more)

        warnings.showwarning = once
        yield


def write(
    rows: Iterable[Record], total: int, output: Path, more: Record, label: str = ""
) -> list[Record]:
    """Append rows to a file one by one, under a progress bar, and return them; Ctrl-C keeps those already written."""
    about = more | results.surroundings()
    written: list[Record] = []
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.completed}/{task.total}"),
    )
    try:
        with Progress(*columns, TimeElapsedColumn(), console=console) as bar, warnings_once():
            line = bar.add_task(f"{label}scoring", total=total)
            for row in rows:
                written.append(row | about)
                results.append(output, written[-1])
                shown = f"{label}{row['task']} {row['score']:.2f}"
                bar.update(line, advance=1, description=shown)
    except KeyboardInterrupt:
        typer.echo(
            f"noppa: interrupted; {output} holds the {len(written)} rows that were ready", err=True
        )
        raise SystemExit(130) from None
    return written


def conditions_of(
    data: Path,
    protocol: str,
    seed: int,
    transductive: bool,
    unchecked: bool,
    corpus: Path | None = None,
    shuffled_labels: bool = False,
) -> Conditions:
    texts = lines_of(corpus)
    return Conditions(data, protocol, seed, transductive, unchecked, shuffled_labels, texts)

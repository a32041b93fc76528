"""`noppa data check` and `noppa data prepare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from noppa.cli import scoring
from noppa.cli.options import AsJson
from noppa.errors import FileError
from noppa.paper import senteval_files, task_files
from noppa.paper.tasks import RAW, SENTEVAL, TASKS, Task

group = typer.Typer(no_args_is_help=True, help="The data that encoders are scored on.")


@group.callback()
def data() -> None:
    """The data that encoders are scored on."""


Folder = Annotated[Path, typer.Argument(help="SentEval's data folder.", show_default=False)]


@group.command()
def check(folder: Folder, tasks: scoring.Tasks = None, as_json: AsJson = False) -> None:
    """Whether the files of each task have the checksums of SentEval's copies, or of the files as they were published.

    Exit code 1 if one has not. Example: noppa data check SentEval/data --tasks TREC,CR
    """
    selected = scoring.tasks_in(folder, tasks)
    states = {task.name: _state(folder, task) for task in selected}
    absent = [name for name, task in TASKS.items() if task not in selected] if tasks is None else []
    if as_json:
        typer.echo(json.dumps({"tasks": states, "absent": absent}))
    else:
        for name, state in states.items():
            typer.echo(f"{name:<8} {state.get('fault') or _summary(state)}")
        if absent:
            typer.echo(f"not there: {', '.join(absent)}")
    if any("fault" in state for state in states.values()):
        raise typer.Exit(1)


def _state(folder: Path, task: Task) -> dict[str, Any]:
    try:
        hashes = task_files.check(folder, task)
    except FileError as error:
        return {"fault": str(error)}
    rows = [file.rows for file in task.files]
    return {"rows": rows, "source": task_files.source_of(task, hashes)}


def _summary(state: dict[str, Any]) -> str:
    rows = " + ".join(str(count) for count in state["rows"])
    return f"good: {rows} rows, {KINDS[state['source']]}"


KINDS = {
    RAW: "as published",
    SENTEVAL: "as SentEval writes them",
    None: "with no checksum to compare",
}


@group.command()
def prepare(
    raw: Annotated[
        Path, typer.Argument(help="A folder with the published files.", show_default=False)
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Another folder.", show_default=False)
    ],
    tasks: scoring.Tasks = None,
) -> None:
    """Make the files that SentEval's scripts make of the published ones: tokens apart, as the programs they call write them.

    Example: noppa data prepare raw -o SentEval/data
    """
    for task in scoring.tasks_in(raw, tasks):
        for path in senteval_files.prepare(raw, output, task):
            typer.echo(f"{task.name:<8} {path}")


def register(app: typer.Typer) -> None:
    app.add_typer(group, name="data")

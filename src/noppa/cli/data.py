"""`noppa data check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noppa.cli import scoring
from noppa.errors import FileError
from noppa.evaluate import task_files

group = typer.Typer(no_args_is_help=True, help="The data that encoders are scored on.")


@group.callback()
def data() -> None:
    """The data that encoders are scored on."""


@group.command()
def check(
    folder: Annotated[Path, typer.Argument(help="SentEval's data folder.", show_default=False)],
    tasks: scoring.Tasks = None,
) -> None:
    """Whether the files of each task exist and have the checksums of SentEval's copies.

    Exit code 1 if one is not. Example: noppa data check SentEval/data --tasks TREC,CR
    """
    failures = 0
    for task in task_files.tasks_of(tasks):
        try:
            task_files.check(folder, task)
        except FileError as error:
            failures += 1
            typer.echo(f"{task.name:<8} {error}")
        else:
            rows = " + ".join(str(file.rows) for file in task.files)
            typer.echo(f"{task.name:<8} good: {rows} rows")
    if failures:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    app.add_typer(group, name="data")

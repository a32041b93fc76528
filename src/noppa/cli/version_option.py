"""What `noppa` takes before any command."""

from __future__ import annotations

from typing import Annotated

import typer


def _version(flag: bool) -> None:
    if flag:
        from noppa import __version__

        print(__version__)
        raise typer.Exit


def noppa(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, help="Print the version and end.")
    ] = False,
) -> None:
    """Sentence vectors without a neural network."""

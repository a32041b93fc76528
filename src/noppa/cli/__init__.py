"""The command line: `noppa --help`."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import Annotated

import typer

from noppa.errors import NoppaError, NoppaWarning

#: The commands of each module, in the order of the help.
COMMANDS = {
    "encode": ("encode", "fit"),
    "similarity": ("similarity",),
    "explain": ("explain",),
    "search": ("search", "index"),
    "serve": ("serve",),
    "cluster": ("cluster",),
    "compare": ("compare",),
    "vectors": ("vectors",),
    "distill": ("distill",),
    "export": ("export",),
    "bench": ("bench",),
    "figures": ("figures",),
    "data": ("data",),
    "info": ("info",),
}


def program(command: str | None = None) -> typer.Typer:
    """The command line, with all commands or, to start sooner, with those of the module that has `command`."""
    app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
    app.callback()(noppa)
    found = [module for module, commands in COMMANDS.items() if command in commands]
    for module in found or COMMANDS:
        import_module(f"noppa.cli.{module}").register(app)
    return app


def _version(asked: bool) -> None:
    if asked:
        from noppa import __version__

        print(__version__)
        raise typer.Exit


def noppa(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, help="Print the version and end.")
    ] = False,
) -> None:
    """Sentence vectors without a neural network."""


def main() -> None:
    """Run the command line; a user's mistake is one line on standard error and exit code 1."""
    warnings.filterwarnings("always", category=NoppaWarning)
    warnings.showwarning = _show_warning
    try:
        program(sys.argv[1] if len(sys.argv) > 1 else None)()
    except NoppaError as error:
        sys.exit(f"noppa: {error}")
    except BrokenPipeError:
        sys.stderr.close()  # the reader has left; Python would complain once more when it ends
        sys.exit(1)


def _show_warning(message: object, *_: object, **__: object) -> None:
    print(f"noppa: {message}", file=sys.stderr)

"""The command line: `noppa --help`."""

from __future__ import annotations

import sys
import warnings

import typer

from noppa.cli import (
    bench,
    cluster,
    compare,
    data,
    distill,
    encode,
    explain,
    export,
    figures,
    info,
    search,
    serve,
    similarity,
    vectors,
)
from noppa.errors import NoppaError, NoppaWarning

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Sentence vectors without a neural network.",
)
COMMANDS = (
    encode,
    similarity,
    explain,
    search,
    serve,
    cluster,
    compare,
    vectors,
    distill,
    export,
    bench,
    figures,
    data,
    info,
)
for commands in COMMANDS:
    commands.register(app)


def main() -> None:
    """Run the command line; a user's mistake is one line on standard error and exit code 1."""
    warnings.filterwarnings("always", category=NoppaWarning)
    warnings.showwarning = _show_warning
    try:
        app()
    except NoppaError as error:
        sys.exit(f"noppa: {error}")
    except BrokenPipeError:
        sys.stderr.close()  # the reader has left; Python would complain once more when it ends
        sys.exit(1)


def _show_warning(message: object, *_: object, **__: object) -> None:
    print(f"noppa: {message}", file=sys.stderr)

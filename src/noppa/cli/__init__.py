"""The command line."""

from __future__ import annotations

import sys

import typer

from noppa.cli import encode, vectors
from noppa.errors import NoppaError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
encode.register(app)
vectors.register(app)


def main() -> None:
    """Run a command; a user's mistake is one line on standard error."""
    try:
        app()
    except NoppaError as error:
        print(f"noppa: {error}", file=sys.stderr)
        sys.exit(1)

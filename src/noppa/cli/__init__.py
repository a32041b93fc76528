"""The command line: `noppa --help`."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated

import typer

from noppa.cli.terminal import visible
from noppa.errors import NoppaError, NoppaWarning, UnknownWordsWarning
from noppa.methods.registry import import_extensions

#: The commands of each module, in the order of the help.
COMMANDS = {
    "encode": ("encode", "fit"),
    "similarity": ("similarity",),
    "explain": ("explain",),
    "search": ("search",),
    "index": ("index",),
    "dedupe": ("dedupe",),
    "topics": ("topics", "clusters"),
    "outliers": ("outliers",),
    "keywords": ("keywords",),
    "train": ("train",),
    "predict": ("predict",),
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
    """The command line with all commands, or, for a faster start, with only those of the module that has `command`."""
    app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
    app.callback()(noppa)
    modules = [module for module, commands in COMMANDS.items() if command in commands]
    for module in modules or COMMANDS:
        import_module(f"noppa.cli.{module}").register(app)
    return app


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


def main() -> None:
    """Run the command line; a user's mistake is one line on standard error and exit code 1."""
    warnings.filterwarnings("always", category=NoppaWarning)
    warnings.showwarning = _show_warning
    if isinstance(sys.stdout, TextIOWrapper):
        # Not every terminal encoding has all characters.
        sys.stdout.reconfigure(errors="backslashreplace")
    command = sys.argv[1] if len(sys.argv) > 1 else None
    if command != "serve":  # it has its own handlers, which finish open requests
        _unwind_on_signals()
    try:
        try:
            import_extensions()
            program(command)()
        finally:
            sys.stdout.flush()  # a full disk raises here at the latest
    except NoppaError as error:
        sys.exit(f"noppa: {visible(error)}")
    except BrokenPipeError:
        sys.stderr.close()  # the reader is gone; avoids a second error at interpreter exit
        sys.exit(1)
    except OSError as error:
        _drop_output()
        where = "" if error.filename is None else f"{error.filename}: "
        sys.exit(f"noppa: {visible(f'{where}{error.strerror or error}')}")
    except MemoryError:
        sys.exit("noppa: there is not enough memory: give less at a time, or free some")


def _drop_output() -> None:
    """Point standard output to /dev/null: Python would flush again at exit and print a second error."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _unwind_on_signals() -> None:
    """Turn SIGTERM and SIGHUP into SystemExit, so that `finally` blocks remove or keep partial files on purpose."""
    process = os.getpid()

    def unwind(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        if os.getpid() != process:  # a forked worker has nothing to clean up
            os.kill(os.getpid(), number)
        raise SystemExit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # nohup sets SIGHUP to SIG_IGN
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, unwind)


def _show_warning(message: object, category: type[Warning], *_: object, **__: object) -> None:
    print(f"noppa: {visible(message)}", file=sys.stderr)
    if category is UnknownWordsWarning:  # once, not for every batch of a file
        warnings.filterwarnings("ignore", category=UnknownWordsWarning)

"""The command line: `noppa --help`."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, NoReturn

from noppa.cli.terminal import visible
from noppa.cli.two_texts import answer, two_texts
from noppa.cli.wording import worded
from noppa.errors import NoppaError, NoppaWarning, ParameterError, UnknownWordsWarning
from noppa.methods.registry import import_extensions

if TYPE_CHECKING:
    import typer

INTERRUPTED = 130
#: What a shell sets while it completes a command.
COMPLETION = "_NOPPA_COMPLETE"

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
    "doctor": ("doctor",),
}


def program(command: str | None = None) -> typer.Typer:
    """The command line with all commands, or, for a faster start, with only those of the module that has `command`."""
    # Imported lazily, as everywhere in this file: it takes twice as long as the similarity of two texts.
    import typer

    from noppa.cli.version_option import noppa

    app = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(noppa)
    modules = [module for module, commands in COMMANDS.items() if command in commands]
    for module in modules or COMMANDS:
        import_module(f"noppa.cli.{module}").register(app)
    return app


def prepare() -> None:
    """Import what `main` will need."""
    if not _two_texts():
        import_module("typer")


def _two_texts() -> list[str]:
    return [] if COMPLETION in os.environ else two_texts(sys.argv[1:])


def main() -> None:
    """Run the command line; a mistake is one line on standard error.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 ended by Ctrl-C, 143 by SIGTERM.
    """
    warnings.filterwarnings("always", category=NoppaWarning)
    warnings.showwarning = _show_warning
    if isinstance(sys.stdout, TextIOWrapper):
        # Not every terminal encoding has all characters.
        sys.stdout.reconfigure(errors="backslashreplace")
    command, code = _command(), 0
    if command != "serve":  # it has its own handlers, which finish open requests
        _unwind_on_signals()
    try:
        try:
            import_extensions()
            if texts := _two_texts():
                answer(texts)
            else:
                code = program(command)(prog_name="noppa", standalone_mode=False)
        finally:
            sys.stdout.flush()  # a full disk raises here at the latest
    except NoppaError as error:
        _fail(worded(error, command), 2 if isinstance(error, ParameterError) else 1)
    except BrokenPipeError:
        _drop_output()
        sys.exit(1)
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        _fail(f"{where}{error.strerror or error}", 1)
    except MemoryError:
        _fail("there is not enough memory: give less at a time, or free some", 1)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except _abort():
        code = INTERRUPTED
    except _usage_error() as error:
        _fail_usage(error)
    if code == INTERRUPTED:
        _fail("interrupted", INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)


def _command() -> str | None:
    """The command that is called, or whose options a shell completes."""
    words = sys.argv
    if COMPLETION in os.environ:
        typed = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
        words = [*typed.split(), ""] if typed[-1:].isspace() else typed.split()
        words = words[:2] if len(words) > 2 else []
    return words[1] if len(words) > 1 else None


def _abort() -> Any:
    """What typer raises for a Ctrl-C of its own."""
    import typer

    return typer.Abort


def _usage_error() -> Any:
    """The base of all mistakes in how a command is called; typer may carry click or depend on it."""
    import typer

    return typer.BadParameter.__mro__[1]


def _fail(message: str, code: int) -> NoReturn:
    _drop_output()
    print(f"noppa: {visible(message)}", file=sys.stderr)
    sys.exit(code)


def _fail_usage(error: Any) -> NoReturn:
    """A mistake in how a command was called, with the help that tells how to; or the help, where nothing was called."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        sys.exit(2)
    message = error.format_message().removeprefix("Invalid value: ").rstrip()
    context = getattr(error, "ctx", None)
    more = "" if context is None else f" ({context.command_path} -h tells more)"
    _fail(f"{worded(message.rstrip('.'))}{more}", 2)


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
    print(f"noppa: {visible(worded(message))}", file=sys.stderr)
    if category is UnknownWordsWarning:  # once, not for every batch of a file
        warnings.filterwarnings("ignore", category=UnknownWordsWarning)

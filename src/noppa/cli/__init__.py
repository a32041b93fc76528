"""The command line: `noppa --help`.

Each module is one command, with a `register(app)` function, and is imported only when its command is called.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, NoReturn

from noppa.errors import NoppaError, NoppaWarning, ParameterError, UnknownWordsWarning
from noppa.methods.registry import import_extensions

if TYPE_CHECKING:
    import typer

INTERRUPTED = 130
#: The variable that a shell sets while it completes a command.
COMPLETION = "_NOPPA_COMPLETE"

#: The commands, in the order of the help.
COMMANDS = (
    "encode",
    "fit",
    "similarity",
    "explain",
    "search",
    "index",
    "dedupe",
    "topics",
    "keywords",
    "train",
    "predict",
    "serve",
    "compare",
    "vectors",
    "distill",
    "export",
    "paper",
    "info",
)
#: An argument in a message of the library, such as `on_error='skip'`, and one at its start, such as `on_error must be`.
_ARGUMENT = re.compile(r"\b([a-z_]+)=('[^']*'|\"[^\"]*\"|[\w.-]*)")
_SUBJECT = re.compile(r"^([a-z_]+)(?= must be )")


def program(command: str | None = None) -> typer.Typer:
    """Return the command line with all commands, or with a single one for a faster start."""
    # Imported lazily, as everywhere in this file: typer takes twice as long as the similarity of two texts.
    import typer

    app = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Sentence vectors without a neural network.",
    )

    def print_version(flag: bool) -> None:
        if flag:
            from noppa import __version__

            print(__version__)
            raise typer.Exit

    @app.callback()
    def root(
        version: bool = typer.Option(
            False, "--version", callback=print_version, help="Print the version and exit."
        ),
    ) -> None:
        pass

    for name in [command] if command in COMMANDS else COMMANDS:
        import_module(f"noppa.cli.{name}").register(app)
    return app


def main() -> None:
    """Run the command line; a mistake is one line on standard error.

    Exit codes: 0 success, 1 failure, 2 wrong usage, 130 ended by Ctrl-C, 143 ended by SIGTERM.
    """
    warnings.filterwarnings("always", category=NoppaWarning)
    warnings.showwarning = _show_warning
    if isinstance(sys.stdout, TextIOWrapper):
        # Not every terminal encoding has all characters.
        sys.stdout.reconfigure(errors="backslashreplace")
    command, code = _command(), 0
    if command != "serve":  # its own handlers finish open requests
        _exit_on_signals()
    try:
        try:
            import_extensions()
            if not _compare_two_texts():
                code = program(command)(prog_name="noppa", standalone_mode=False)
        finally:
            sys.stdout.flush()  # a full disk raises here at the latest
    except NoppaError as error:
        _fail(in_shell_words(error, command), 2 if isinstance(error, ParameterError) else 1)
    except BrokenPipeError:
        _discard_output()
        sys.exit(1)
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        _fail(f"{where}{error.strerror or error}", 1)
    except MemoryError:
        _fail("not enough memory: process less at a time, or free some", 1)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except _typer_class("Abort"):
        code = INTERRUPTED
    except _typer_class("BadParameter").__mro__[1] as error:  # any usage error, of typer or click
        _fail_usage(error)
    if code == INTERRUPTED:
        _fail("interrupted", INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)


def in_shell_words(message: object, command: str | None) -> str:
    """Turn Python arguments in a message of the library into options of the command.

    `on_error='skip'` becomes `--on-error skip` and `threshold must be` becomes `--threshold must be`, if the command has
    such an option.
    """
    text = str(message)
    if command not in COMMANDS or not (_ARGUMENT.search(text) or _SUBJECT.search(text)):
        return text
    import typer.main

    flags = set(_flags(typer.main.get_command(program(command))))

    def option(match: re.Match[str]) -> str:
        flag = f"--{match[1].replace('_', '-')}"
        value = match[2].strip("'\"") if match.re is _ARGUMENT else ""
        if flag not in flags:
            return match[0]
        return flag if value in ("", "True") else f"{flag} {value}"

    return _SUBJECT.sub(option, _ARGUMENT.sub(option, text))


def _flags(command: Any) -> list[str]:
    """Return the options of a command and of its subcommands."""
    inner = [flag for other in getattr(command, "commands", {}).values() for flag in _flags(other)]
    return inner + [flag for parameter in command.params for flag in parameter.opts]


def _command() -> str | None:
    """Return the command that is called, or whose options a shell completes."""
    words = sys.argv
    if COMPLETION in os.environ:
        typed = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
        words = [*typed.split(), ""] if typed[-1:].isspace() else typed.split()
        words = words[:2] if len(words) > 2 else []
    return words[1] if len(words) > 1 else None


def _compare_two_texts() -> bool:
    """Answer `noppa similarity TEXT TEXT` without importing typer, which takes longer than the rest."""
    command, *texts = sys.argv[1:] or [""]
    if command != "similarity" or len(texts) != 2 or COMPLETION in os.environ:
        return False
    if any(text.startswith("-") for text in texts):
        return False
    from noppa.encoder.models import load

    print(f"{load('similarity').similarity(*texts):.4f}")
    return True


def _typer_class(name: str) -> Any:
    import typer

    return getattr(typer, name)


def _fail(message: str, code: int) -> NoReturn:
    from noppa.cli.output import visible

    _discard_output()
    print(f"noppa: {visible(message)}", file=sys.stderr)
    sys.exit(code)


def _fail_usage(error: Any) -> NoReturn:
    """Print what is wrong with the call and where its help is; or the help, if there is no command."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        sys.exit(2)
    message = error.format_message().removeprefix("Invalid value: ").rstrip().rstrip(".")
    context = getattr(error, "ctx", None)
    more = "" if context is None else f" (see {context.command_path} -h)"
    _fail(f"{in_shell_words(message, _command())}{more}", 2)


def _discard_output() -> None:
    """Point standard output to /dev/null: Python would flush again at exit and print a second error."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _exit_on_signals() -> None:
    """Turn SIGTERM and SIGHUP into SystemExit, so that `finally` blocks clean up partial files."""
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
    from noppa.cli.output import note, visible

    note(visible(in_shell_words(message, _command())))
    if category is UnknownWordsWarning:  # once, not for every batch of a file
        warnings.filterwarnings("ignore", category=UnknownWordsWarning)

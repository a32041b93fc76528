"""Options of commands that read records, their texts, and what such commands say at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from noppa.cli.progress import records_bar
from noppa.cli.terminal import visible
from noppa.errors import FileError, ParameterError
from noppa.files import FORMATS, Input, Outcome, read
from noppa.files.batch import Batch
from noppa.files.checkpoint import LISTED
from noppa.files.fingerprint import file_statuses, refuse_changed
from noppa.files.job import ON_ERROR
from noppa.files.record_file import STDIN, record_file

Inputs = Annotated[
    list[str] | None, typer.Argument(help="Files with text; - or none for standard input.")
]
Column = Annotated[
    str | None,
    typer.Option("--column", "-c", help="Column with the text: a name, or a number from 1 on."),
]
Normalize = Annotated[bool, typer.Option("--normalize", help="Scale each vector to length one.")]
Dim = Annotated[int | None, typer.Option(help="Only the first dimensions.", show_default=False)]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace what is there, begun or finished.")
]
Output = Annotated[
    str, typer.Option("--output", "-o", help="File to write, or - for standard output.")
]
#: How a tab may be written where a shell would make it something else.
TABS = {"\\t": "\t", "tab": "\t"}


@dataclass(frozen=True)
class Reading:
    """How files of records are read: options of every command that does."""

    form: Annotated[
        str | None,
        typer.Option(
            "--from", help=f"Input format: {', '.join(FORMATS)}. By the name where not given."
        ),
    ] = None
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The table's first row is a record, too.")
    ] = False
    encoding: Annotated[
        str | None,
        typer.Option(help="Of text files, such as cp1252; UTF-8 if not given.", show_default=False),
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option(help="Of tables; comma, semicolon and tab are found out.", show_default=False),
    ] = None
    on_error: Annotated[
        str,
        typer.Option(help=f"What to do with a bad record: {', '.join(ON_ERROR)} (an empty text)."),
    ] = "raise"

    def input_of(self, paths: list[str] | None, column: str | None) -> Input:
        """The input that the options describe; refuses missing files and folders now, before any work."""
        if self.on_error not in ON_ERROR:
            raise typer.BadParameter(
                f"--on-error must be one of {', '.join(ON_ERROR)}, not {self.on_error!r}"
            )
        for path in paths or []:
            if path != STDIN and not Path(path).exists():
                raise FileError(f"{path} does not exist")
            if Path(path).is_dir():
                raise FileError(f"{path} is a folder: give the files in it")
        delimiter = TABS.get(self.delimiter or "", self.delimiter)
        try:
            given = Input(
                tuple(paths or [STDIN]),
                self.form,
                column,
                not self.no_header,
                encoding=self.encoding,
                delimiter=delimiter,
            )
        except ParameterError as error:
            raise typer.BadParameter(str(error)) from error
        if column is not None:
            refuse_column_of_lines(given)
        return given


def refuse_column_of_lines(given: Input) -> None:
    """Refuse a column of plain lines, which have none: the format is probably another one."""
    for path in given.paths:
        if given.form_of(path) == "lines":
            name = record_file(path).address
            raise typer.BadParameter(
                f"{name} is read as plain lines, which have no column {given.column!r}: "
                "pass --from csv, tsv, jsonl or json, or leave out the column"
            )


def size_of(source: Input) -> int:
    """Bytes of all files; 0 where standard input is one of them."""
    return 0 if STDIN in source.paths else sum(Path(path).stat().st_size for path in source.paths)


def texts_of_inputs(paths: list[str] | None, column: str | None, reading: Reading) -> Iterator[str]:
    """The texts of the inputs, with a progress bar; bad records are reported at the end."""
    for batch in batches_of_inputs(paths, column, reading):
        yield from (text for text in batch.texts if text is not None)


def batches_of_inputs(
    paths: list[str] | None, column: str | None, reading: Reading, records: bool = False
) -> Iterator[Batch]:
    """The records of the inputs, with a progress bar; bad records are reported at the end.

    records: whether batches hold the whole records, too.
    """
    source = replace(reading.input_of(paths, column), records=records)
    on_error = reading.on_error
    outcome = Outcome()
    before = file_statuses(source.paths)
    with records_bar("read", size_of(source)) as progress:
        for batch in read(source):
            outcome.count(batch)
            if batch.bad and on_error == "raise":
                raise FileError(f"{batch.bad[0][1]}; mend it, or pass --on-error skip")
            progress(outcome.records, batch.position)
            yield batch
    refuse_changed(before)
    print_faults(outcome, on_error, listed_faults(outcome))


def listed_faults(outcome: Outcome) -> str:
    """The first faults, a line each."""
    lines = [visible(fault) for fault in outcome.listed]
    if outcome.bad > LISTED:
        lines.append(f"and {outcome.bad - LISTED} more")
    return "".join(f"\n  {line}" for line in lines)


def print_faults(counts: Any, on_error: str, listed: str) -> None:
    """Print to stderr how many records were bad, with what `listed` says of them, and how many texts have no known word.

    counts: an object with `records`, `rows`, `bad` and `zero`.
    """
    if counts.bad:
        done = "skipped" if on_error == "skip" else "taken as empty"
        print(
            f"noppa: {counts.bad} of {counts.records} records were bad and {done}:{listed}",
            file=sys.stderr,
        )
    zero = counts.zero - (counts.bad if on_error == "empty" else 0)
    if zero > 0:
        print(
            f"noppa: {zero} of {counts.rows} texts have no known word and became rows of zeros",
            file=sys.stderr,
        )


@contextmanager
def interruptible(note: str) -> Iterator[None]:
    """Print a note where Ctrl-C or SIGTERM ends the block, and exit without a traceback."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as end:
        print(f"noppa: interrupted{note}", file=sys.stderr)
        raise SystemExit(getattr(end, "code", 130)) from None

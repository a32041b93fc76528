"""`noppa encode` and `noppa fit`: any amount of text through the library."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import noppa
from noppa import METHODS, Encoder
from noppa.cli.encoder_options import method_of, words_of
from noppa.cli.options import Model, Threads
from noppa.cli.progress import records_bar
from noppa.cli.terminal import visible
from noppa.errors import FileError, ParameterError
from noppa.io.outputs import refuse_input_as_output
from noppa.records import READERS, WRITERS, Input, Job, Outcome, read
from noppa.records.fingerprint import facts_of, refuse_changed
from noppa.records.job import LISTED, ON_BAD

Inputs = Annotated[
    list[str] | None, typer.Argument(help="Files with text; - or none for standard input.")
]
Column = Annotated[
    str | None,
    typer.Option("--column", "-c", help="Column with the text: a name, or a number from 1 on."),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from", help=f"Input format: {', '.join(READERS)}. By the name where not given."
    ),
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="The table's first row is a record, too.")
]
OnBad = Annotated[
    str, typer.Option(help=f"What to do with a bad record: {', '.join(ON_BAD)} (a row of zeros).")
]


def encode(
    inputs: Inputs = None,
    model: Model = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help="File to write, or - for standard output.")
    ] = "-",
    to: Annotated[
        str | None, typer.Option("--to", help=f"Output format: {', '.join(WRITERS)}.")
    ] = None,
    source: From = None,
    column: Column = None,
    no_header: NoHeader = False,
    on_bad: OnBad = "error",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what is there, begun or finished.")
    ] = False,
    normalize: Annotated[
        bool, typer.Option("--normalize", help="Scale each vector to length one.")
    ] = False,
    dim: Annotated[int | None, typer.Option(help="Only the first dimensions.")] = None,
    threads: Threads = None,
) -> None:
    """Vectors of texts: one record in, one row out.

    Example: noppa encode reviews.csv --column body -m my-encoder -o reviews.npy
    """
    encoder = noppa.load(model)
    try:
        job = Job(
            model=encoder,
            source=_input(inputs, source, column, no_header),
            target=output,
            form=to,
            on_bad=on_bad,
            resume=resume,
            overwrite=overwrite,
            threads=threads,
            options={"normalize": normalize, "dim": dim},
            model_path=None if encoder.path is None else str(encoder.path),
        )
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from error
    try:
        with records_bar("encode", _size(job.source)) as progress:
            outcome = _with(job, progress).run()
    except (KeyboardInterrupt, SystemExit) as end:
        kept = ": what was done is kept for --resume" if resume else ": nothing was written"
        print(f"noppa: interrupted{'' if output == '-' else kept}", file=sys.stderr)
        raise SystemExit(getattr(end, "code", 1)) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    _tell(outcome, on_bad)


def fit(
    inputs: Inputs = None,
    vectors: Annotated[
        Path | None, typer.Option("--vectors", "-v", help="Word vectors: any file or saved folder.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the encoder.")
    ] = None,
    counts: Annotated[Path | None, typer.Option(help="Word counts, `word count` a line.")] = None,
    ranks: Annotated[
        bool,
        typer.Option("--ranks", help="Estimate word probabilities from the order of the words."),
    ] = False,
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = "noppa",
    parameters: Annotated[
        list[str] | None,
        typer.Option("--parameter", "-p", help="A parameter of the method, as name=value."),
    ] = None,
    source: From = None,
    column: Column = None,
    no_header: NoHeader = False,
    on_bad: OnBad = "error",
    threads: Threads = None,
) -> None:
    """An encoder from word vectors, word counts and your own text.

    Example: noppa fit corpus.txt -v glove.txt --counts counts.txt -p a=0.05 -p k=12 -o my-encoder
    """
    if vectors is None or output is None:
        raise typer.BadParameter("give --vectors and --output")
    refuse_input_as_output(output, [vectors, counts, *(inputs or [])])
    texts = texts_of_inputs(inputs, source, column, no_header, on_bad)
    try:
        made = method_of(method, parameters or [])
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from error
    Encoder(words_of(vectors, counts, ranks), made).fit(texts, threads).save(output)


def _input(paths: list[str] | None, form: str | None, column: str | None, no_header: bool) -> Input:
    for path in paths or []:
        if path != "-" and not Path(path).exists():
            raise FileError(f"{path} does not exist")
        if Path(path).is_dir():
            raise FileError(f"{path} is a folder: give the files in it")
    return Input(tuple(paths or ["-"]), form, column, not no_header)


def texts_of_inputs(
    paths: list[str] | None, form: str | None, column: str | None, no_header: bool, on_bad: str
) -> Iterator[str]:
    """The texts of the inputs of any command, with a progress bar; what was bad is told at the end."""
    if on_bad not in ON_BAD:
        raise typer.BadParameter(f"--on-bad must be one of {', '.join(ON_BAD)}, not {on_bad!r}")
    try:
        wanted = _input(paths, form, column, no_header)
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from error
    outcome = Outcome()
    before = facts_of(wanted.paths)
    with records_bar("read", _size(wanted)) as update:
        yield from _texts(wanted, on_bad, outcome, update)
    refuse_changed(before)
    _tell(outcome, on_bad)


def _size(source: Input) -> int:
    return 0 if "-" in source.paths else sum(Path(path).stat().st_size for path in source.paths)


def _with(job: Job, progress: Any) -> Job:
    return replace(job, progress=progress)


def _texts(source: Input, on_bad: str, outcome: Outcome, update: Any) -> Iterator[str]:
    for batch in read(source):
        outcome.records += len(batch.texts)
        outcome.bad += len(batch.bad)
        outcome.listed += [why for _, why in batch.bad[: LISTED - len(outcome.listed)]]
        if batch.bad and on_bad == "error":
            raise FileError(f"{batch.bad[0][1]}; mend it, or pass --on-bad skip")
        update(outcome.records, batch.position)
        yield from (text for text in batch.texts if text is not None)


def _tell(outcome: Outcome, on_bad: str) -> None:
    if outcome.bad:
        done = "skipped" if on_bad == "skip" else "taken as empty"
        print(
            f"noppa: {outcome.bad} of {outcome.records} records were bad and {done}:",
            file=sys.stderr,
        )
        for line in outcome.listed:
            print(f"  {visible(line)}", file=sys.stderr)
        if outcome.bad > LISTED:
            print(f"  and {outcome.bad - LISTED} more", file=sys.stderr)
    zero = outcome.zero - (outcome.bad if on_bad == "empty" else 0)
    if zero > 0:
        print(
            f"noppa: {zero} of {outcome.rows} texts have no known word and became rows of zeros",
            file=sys.stderr,
        )


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(encode)
    app.command()(fit)

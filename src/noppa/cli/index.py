"""`noppa index`: makes an index of texts on disk; `add`, `delete`, `compact` change it, `info` describes it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from noppa.cli.checked_output import output_of
from noppa.cli.options import Model, Threads, TokenizerName, expanded
from noppa.cli.record_options import Column, Inputs, Reading, batches_of_inputs
from noppa.encoder.models import SIMILARITY, load
from noppa.errors import FileError
from noppa.io import storage
from noppa.io.atomic import atomic_folder
from noppa.io.outputs import folders_of, refuse_input_as_output
from noppa.search.index import Index
from noppa.search.segment_log import KIND, SegmentLog
from noppa.search.stored_vectors import DTYPES
from noppa.text.tokenizer_settings import Tokenizer

#: Texts that are added at a time: more than any segment that is merged by itself.
BLOCK = 1 << 16

Id = Annotated[
    str | None,
    typer.Option("--id", help="Field with the id of each text; running numbers where not given."),
]
Folder = Annotated[Path, typer.Argument(help="Folder of an index.", show_default=False)]

Record = tuple[str, dict[str, Any]]


class _OrFiles(TyperGroup):
    """A group whose first argument may be a file: `noppa index reviews.csv -o idx` is `noppa index make …`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if ctx.resilient_parsing and not args:  # a shell completes the first argument
            return super().parse_args(ctx, args)
        first = next(iter(args), "")
        if first not in self.commands and first not in ("--help", "-h"):
            args = ["make", *args]
        return super().parse_args(ctx, args)


group = typer.Typer(cls=_OrFiles)


@group.callback()
def index() -> None:
    """An index of texts for `noppa search`: make one of files, add to it, delete from it.

    Example: noppa index reviews.csv --column body -o reviews-index
    """


@group.command()
@expanded
def make(
    reading: Reading,
    inputs: Inputs = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the index.")
    ] = None,
    model: Model = None,
    tokenizer: TokenizerName = None,
    column: Column = None,
    id_column: Id = None,
    dtype: Annotated[
        str, typer.Option(help=f"How vectors are stored: {', '.join(DTYPES)}.")
    ] = "float16",
    threads: Threads = None,
) -> None:
    """Texts, their vectors, words and other fields in one folder for `noppa search`; the word `make` can be left out.

    An index of that name is replaced, at once and only when the new one is complete.

    Example: noppa index reviews.csv --column body -o reviews-index
    """
    if output is None:
        raise typer.BadParameter("give --output FOLDER for the index")
    encoder = load(model or SIMILARITY, tokenizer)
    refuse_input_as_output(output, [*(inputs or []), *folders_of(encoder)])
    if output.exists() and storage.kind_of(output) != KIND:
        raise FileError(f"{output} exists and is no index: choose another name or remove it first")
    output_of(output, [])
    with ExitStack() as stack:
        if storage.kind_of(output) == KIND:
            stack.enter_context(SegmentLog(output).writing())
        new = stack.enter_context(atomic_folder(output))
        made = Index.open(new, encoder, dtype=dtype, first_id=1, threads=threads)
        added(made, inputs, column, id_column, reading)
        made.compact()
        count = len(made)
    typer.echo(f"{output}: {_texts(count)} of {made.dim} dimensions")


@group.command()
@expanded
def add(
    folder: Folder,
    reading: Reading,
    inputs: Inputs = None,
    model: Model = None,
    tokenizer: TokenizerName = None,
    column: Column = None,
    id_column: Id = None,
    threads: Threads = None,
) -> None:
    """Add the texts of files to an index.

    Example: noppa index add reviews-index new.csv --column body
    """
    opened = Index.open(folder, model, create=False, threads=threads)
    refuse_other(tokenizer, opened)
    count = added(opened, inputs, column, id_column, reading)
    typer.echo(f"{folder}: {_texts(count)} added, {len(opened)} in all")


@group.command()
def delete(
    folder: Folder,
    ids: Annotated[list[str], typer.Argument(help="Ids; - for standard input, one a line.")],
) -> None:
    """Delete texts by their ids; none where one of them is unknown.

    Example: noppa index delete reviews-index 17 42
    """
    named = [id for id in sys.stdin.read().split("\n") if id] if ids == ["-"] else ids
    opened = Index.open_stored(folder)
    opened.delete(named)
    typer.echo(f"{folder}: {_texts(len(opened))} left")


@group.command()
def info(
    folder: Folder,
    as_json: Annotated[bool, typer.Option("--json", help="As a JSON object.")] = False,
) -> None:
    """What an index holds, and which encoder it was made with.

    Example: noppa index info reviews-index
    """
    facts = Index.open_stored(folder).to_dict()
    if as_json:
        return print(json.dumps(facts))
    for name, value in facts.items():
        shown = ", ".join(value) if isinstance(value, list) else value
        typer.echo(f"{name:<17}{shown}")


@group.command()
def compact(folder: Folder, model: Model = None) -> None:
    """Write an index anew without the deleted texts and in one piece: smaller, and faster to search.

    Example: noppa index compact reviews-index
    """
    opened = Index.open(folder, model, create=False)  # its tokenizer writes the terms anew
    opened.compact()
    typer.echo(f"{folder}: {_texts(len(opened))}, {opened.to_dict()['bytes']} bytes")


def added(
    index: Index,
    inputs: list[str] | None,
    column: str | None,
    id_column: str | None,
    reading: Reading,
) -> int:
    """Add the texts of files with their other fields; gives how many."""
    count = 0
    records: list[Record] = []
    for batch in batches_of_inputs(inputs, column, reading, records=True):
        records += _records(batch)
        if len(records) >= BLOCK:
            count += _add(index, records, id_column)
            records = []
    return count + _add(index, records, id_column)


def refuse_other(tokenizer: str | None, opened: Index) -> None:
    """Refuse another tokenizer than an index was made with, by which its words are found."""
    own = opened.encoder.words.tokenizer
    if tokenizer is not None and Tokenizer.of(tokenizer) != own:
        raise typer.BadParameter(
            f"--tokenizer {tokenizer}: {opened.folder} was made with {own}, and keeps to it: leave the option out, or make the "
            "index again"
        )


def _records(batch: Any) -> Iterator[Record]:
    pairs = zip(batch.texts, batch.other_fields(), strict=True)
    return ((text, fields) for text, fields in pairs if text is not None)


def _add(index: Index, records: list[Record], id_column: str | None) -> int:
    ids = None
    if id_column is not None:
        missing = next((text for text, fields in records if fields.get(id_column) is None), None)
        if missing is not None:
            raise FileError(f"the record {missing[:60]!r} has no {id_column!r} for its id")
        ids = [fields.pop(id_column) for _, fields in records]
    index.add([text for text, _ in records], ids, [fields for _, fields in records])
    return len(records)


def _texts(count: int) -> str:
    return f"{count} text{'s' * (count != 1)}"


def register(app: typer.Typer) -> None:
    app.add_typer(group, name="index")

"""`noppa index`: make an index of texts on disk, add to it, delete from it, compact it, describe it."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import noppa
from noppa.cli.inputs import read_batches, with_records
from noppa.cli.options import AsJson, Column, Format, Inputs, Model, OnError, input_files
from noppa.cli.output import check_output, print_facts
from noppa.encoder.models import SIMILARITY
from noppa.errors import FileError
from noppa.files import Input
from noppa.io import storage
from noppa.io.atomic import atomic_folder
from noppa.io.paths import folders_of, refuse_input_as_output
from noppa.search.index import Index
from noppa.search.storage import KIND, IndexStorage

#: Texts that are added at a time: more than any segment that is merged by itself.
BLOCK = 1 << 16

Id = Annotated[
    str | None,
    typer.Option("--id", help="Field with the id of each text; running numbers if not given."),
]
Folder = Annotated[Path, typer.Argument(help="Folder of an index.")]


class _MakeByDefault(TyperGroup):
    """A group whose first argument may be a file: `noppa index reviews.csv -o idx` means `noppa index make …`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if ctx.resilient_parsing and not args:  # a shell completes the first argument
            return super().parse_args(ctx, args)
        first = next(iter(args), "")
        if first not in self.commands and first not in ("--help", "-h"):
            args = ["make", *args]
        return super().parse_args(ctx, args)


group = typer.Typer(cls=_MakeByDefault)


@group.callback()
def index() -> None:
    """Make an index of texts for `noppa search`, add to it or delete from it.

    Example: noppa index reviews.csv --column body -o reviews-index
    """


@group.command()
def make(
    inputs: Inputs = None,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the index.")],
    model: Model = None,
    column: Column = None,
    id_column: Id = None,
    form: Format = None,
    on_error: OnError = "raise",
) -> None:
    """Store texts, their vectors, words and other fields in a folder; the word `make` can be left out.

    An existing index of that name is replaced once the new one is complete.

    Example: noppa index reviews.csv --column body -o reviews-index
    """
    encoder = noppa.load(model or SIMILARITY)
    refuse_input_as_output(output, [*(inputs or []), *folders_of(encoder)])
    is_index = storage.kind_of(output) == KIND
    if output.exists() and not is_index:
        raise FileError(f"{output} exists and is not an index: choose another name or remove it")
    check_output(output, [])
    with ExitStack() as stack:
        if is_index:
            stack.enter_context(IndexStorage(output).lock())
        folder = stack.enter_context(atomic_folder(output))
        new = Index.open(folder, encoder, first_id=1)
        add_texts(new, input_files(inputs, column, form), id_column, on_error)
        new.compact()
        count = len(new)
    print(f"{output}: {_texts(count)} of {new.dim} dimensions")


@group.command()
def add(
    folder: Folder,
    inputs: Inputs = None,
    model: Model = None,
    column: Column = None,
    id_column: Id = None,
    form: Format = None,
    on_error: OnError = "raise",
) -> None:
    """Add the texts of files to an index.

    Example: noppa index add reviews-index new.csv --column body
    """
    opened = Index.open(folder, model, create=False)
    count = add_texts(opened, input_files(inputs, column, form), id_column, on_error)
    print(f"{folder}: {_texts(count)} added, {len(opened)} in all")


@group.command()
def delete(
    folder: Folder,
    ids: Annotated[list[str], typer.Argument(help="Ids, or - to read one per line.")],
) -> None:
    """Delete texts by their ids; if an id is unknown, nothing is deleted.

    Example: noppa index delete reviews-index 17 42
    """
    names = [id for id in sys.stdin.read().split("\n") if id] if ids == ["-"] else ids
    opened = Index.open_without_encoder(folder)
    opened.delete(names)
    print(f"{folder}: {_texts(len(opened))} left")


@group.command()
def info(folder: Folder, as_json: AsJson = False) -> None:
    """Show what an index holds and which encoder it uses.

    Example: noppa index info reviews-index
    """
    print_facts(Index.open_without_encoder(folder).to_dict(), as_json)


@group.command()
def compact(folder: Folder, model: Model = None) -> None:
    """Rewrite an index as one segment without deleted texts: smaller, and faster to search.

    Example: noppa index compact reviews-index
    """
    opened = Index.open(folder, model, create=False)
    opened.compact()
    print(f"{folder}: {_texts(len(opened))}, {opened.to_dict()['bytes']} bytes")


def add_texts(index: Index, source: Input, id_column: str | None, on_error: str) -> int:
    """Add the texts of files with their other fields, and return how many there are."""
    count = 0
    records: list[tuple[str, dict[str, Any]]] = []
    for batch in read_batches(with_records(source), on_error):
        pairs = zip(batch.texts, batch.other_fields(), strict=True)
        records += [(text, fields) for text, fields in pairs if text is not None]
        if len(records) >= BLOCK:
            count += _add(index, records, id_column)
            records = []
    return count + _add(index, records, id_column)


def _add(index: Index, records: list[tuple[str, dict[str, Any]]], id_column: str | None) -> int:
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

"""`noppa search` and `noppa index`: nearest texts by cosine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import noppa
from noppa import Encoder
from noppa.cli.options import Model, Threads
from noppa.cli.record_options import Column, From, NoHeader, OnBad, texts_of_inputs
from noppa.cli.terminal import printable
from noppa.io.outputs import folders_of, refuse_input_as_output
from noppa.search.index import Index
from noppa.search.index_model import encoder_of, model_fields

#: The preset for cosines.
COSINES = "similarity"


def search(
    corpus: Annotated[
        str,
        typer.Argument(help="A file of texts, - for standard input, or a folder of noppa index."),
    ],
    query: Annotated[str, typer.Argument(help="What to look for.")],
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many to show.")] = 10,
    model: Model = None,
    source: From = None,
    column: Column = None,
    no_header: NoHeader = False,
    on_bad: OnBad = "error",
    threads: Threads = None,
) -> None:
    """The texts nearest to a query: cosine, number of the record from 1 on, text.

    Example: noppa search reviews.txt "the food was cold" -n 5
    """
    if Path(corpus).is_dir():
        index = Index.load(corpus)
        encoder = encoder_of(index, corpus, model)
    else:
        encoder = noppa.load(model or COSINES)
        texts = texts_of_inputs([corpus], source, column, no_header, on_bad)
        index = _made(encoder, texts, threads)
    vector = encoder.encode([query], threads, normalize=True)
    numbers, cosines = index.search(vector, count)
    for number, cosine in zip(numbers[0].tolist(), cosines[0].tolist(), strict=True):
        line = printable(" ".join(index.texts[number].split()))
        print(f"{cosine:.4f}\t{number + 1}\t{line}")  # typer.echo would strip colours from the data


def index(
    inputs: Annotated[
        list[str] | None, typer.Argument(help="Files with text; - or none for standard input.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the index.")
    ] = None,
    model: Model = None,
    source: From = None,
    column: Column = None,
    no_header: NoHeader = False,
    on_bad: OnBad = "error",
    threads: Threads = None,
) -> None:
    """Texts, their vectors and a graph for fast search, in one folder for `noppa search`.

    Example: noppa index reviews.csv --column body -o reviews-index
    """
    if output is None:
        raise typer.BadParameter("give --output")
    encoder = noppa.load(model or COSINES)
    refuse_input_as_output(output, [*(inputs or []), *folders_of(encoder)])
    texts = texts_of_inputs(inputs, source, column, no_header, on_bad)
    made = _made(encoder, texts, threads)
    made.header = model_fields(encoder)
    made.save(output)
    kind = "compared one by one" if made.exact else "with a graph of neighbours"
    typer.echo(f"{output}: {len(made)} texts of {made.dim} dimensions, {kind}")


def _made(encoder: Encoder, texts: Iterable[str], threads: int | None) -> Index:
    indexed: list[str] = []

    def recorded() -> Iterator[str]:
        for text in texts:
            indexed.append(text)
            yield text

    parts = list(encoder.encode_iter(recorded(), 4096, threads, normalize=True))
    vectors = np.concatenate(parts) if parts else np.empty((0, encoder.dim), np.float32)
    return Index(indexed, vectors)


def register(app: typer.Typer) -> None:
    app.command()(search)
    app.command()(index)

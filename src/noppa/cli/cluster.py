"""`noppa cluster encode`, `predict` and `fit`: past one machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from noppa import Encoder
from noppa.cli.encoder_options import (
    Counts,
    FittedMethod,
    MethodParameters,
    Ranks,
    Vectors,
    encoder_to_fit,
)
from noppa.cli.options import Model, TokenizerName, expanded
from noppa.cli.progress import records_bar
from noppa.cli.record_options import (
    TABS,
    Column,
    Dim,
    Normalize,
    Reading,
    interruptible,
    print_faults,
)
from noppa.cli.run_job import KeepAll, columns_to_keep
from noppa.parameters import positive

ENGINES = "dask, spark, or single for this very process"
MEGABYTE = 1 << 20

Inputs = Annotated[
    list[str],
    typer.Argument(
        help="Files, folders or patterns, also of s3:// and other file systems of fsspec."
    ),
]
EngineName = Annotated[str, typer.Option("--engine", help=f"{ENGINES}.")]
Scheduler = Annotated[
    str | None,
    typer.Option(
        help="A cluster that is there: tcp://host:8786 of Dask; spark://host:7077, yarn, sc://host of Spark.",
        show_default=False,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        help="Processes of this machine, without --scheduler; one a processor if not given.",
        show_default=False,
    ),
]
Keep = Annotated[
    str | None,
    typer.Option(
        help="Columns of the input to keep, with commas between them; all if not given.",
        show_default=False,
    ),
]
ShardSize = Annotated[float, typer.Option(help="Megabytes of text of a task.")]

app = typer.Typer(no_args_is_help=True, help="Past one machine: Dask and Spark.")


@app.command()
@expanded
def encode(
    reading: Reading,
    inputs: Inputs,
    output: Annotated[str, typer.Option("--output", "-o", help="Folder for the parts of Parquet.")],
    model: Model = None,
    tokenizer: TokenizerName = None,
    column: Column = None,
    engine: EngineName = "dask",
    scheduler: Scheduler = None,
    workers: Workers = None,
    dtype: Annotated[str, typer.Option(help="float32 or float16.")] = "float32",
    normalize: Normalize = False,
    dim: Dim = None,
    keep: Keep = None,
    keep_all: KeepAll = False,
    into: Annotated[str, typer.Option(help="Name of the column of vectors.")] = "embedding",
    shard_size: ShardSize = 16,
) -> None:
    """Vectors of any amount of text as a folder of Parquet, in order; the same command again goes on where one stopped.

    Example: noppa cluster encode 's3://bucket/reviews/*.parquet' -o s3://bucket/vectors --column body --scheduler tcp://10.0.0.1:8786
    """
    from noppa import cluster

    with _progress("encode", inputs) as progress:
        report = cluster.encode(
            inputs,
            output,
            model,
            tokenizer=tokenizer,
            column=column,
            engine=engine,
            scheduler=scheduler,
            workers=workers,
            dtype=dtype,
            **_read_by(reading),
            normalize=normalize,
            dim=dim,
            keep=columns_to_keep(keep, keep_all, None),
            into=into,
            shard_size=_bytes(shard_size),
            progress=progress,
        )
    _print_report(output, report, reading.on_error)


@app.command()
@expanded
def predict(
    reading: Reading,
    model: Annotated[
        Path,
        typer.Argument(help="The folder of a classifier, see `noppa train`; or hf:owner/name."),
    ],
    inputs: Inputs,
    output: Annotated[str, typer.Option("--output", "-o", help="Folder for the parts of Parquet.")],
    column: Annotated[
        str | None, typer.Option("--text", help="Column with the text.", show_default="text")
    ] = None,
    engine: EngineName = "dask",
    scheduler: Scheduler = None,
    workers: Workers = None,
    keep: Keep = None,
    keep_all: KeepAll = False,
    into: Annotated[str, typer.Option(help="Column for the label.")] = "predicted",
    shard_size: ShardSize = 16,
) -> None:
    """Labels of any amount of text as a folder of Parquet, in order; the same command again goes on where one stopped.

    Example: noppa cluster predict model 's3://bucket/reviews/*.parquet' -o s3://bucket/labels --text body --engine spark
    """
    from noppa import cluster

    with _progress("predict", inputs) as progress:
        report = cluster.predict(
            inputs,
            output,
            model,
            column=column,
            engine=engine,
            scheduler=scheduler,
            workers=workers,
            **_read_by(reading),
            keep=columns_to_keep(keep, keep_all, None),
            into=into,
            shard_size=_bytes(shard_size),
            progress=progress,
        )
    _print_report(output, report, reading.on_error)


@app.command()
@expanded
def fit(
    reading: Reading,
    inputs: Inputs,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the encoder.")],
    model: Model = None,
    tokenizer: TokenizerName = None,
    vectors: Vectors = None,
    counts: Counts = None,
    ranks: Ranks = False,
    method: FittedMethod = None,
    parameters: MethodParameters = None,
    frequencies: Annotated[
        str | None,
        typer.Option(
            help="How rare words are: corpus counts them in the input, model takes what the words have.",
            show_default="corpus, without --counts and --ranks",
        ),
    ] = None,
    column: Column = None,
    engine: EngineName = "dask",
    scheduler: Scheduler = None,
    workers: Workers = None,
    shard_size: ShardSize = 16,
    work: Annotated[
        str | None,
        typer.Option(
            help="A folder that all workers see, for sums; beside the output if not given.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """An encoder with word frequencies, TF-IDF, noise removal, whitening, … from any amount of your own text.

    Example: noppa cluster fit 'corpus/*.jsonl' -o my-encoder -p k=12 --engine spark
    """
    from noppa import cluster

    has_frequencies = counts is not None or ranks
    frequencies = frequencies or ("model" if has_frequencies else "corpus")
    encoder = _encoder(
        model, vectors, counts, ranks, method, parameters or [], tokenizer, frequencies
    )
    with _progress("fit", inputs) as progress:
        report = cluster.fit(
            inputs,
            output,
            encoder,
            column=column,
            engine=engine,
            scheduler=scheduler,
            workers=workers,
            frequencies=frequencies,
            **_read_by(reading),
            shard_size=_bytes(shard_size),
            work=work,
            progress=progress,
        )
    print(
        f"{output}: fitted on {report.sentences:,} sentences of {report.records:,} records, "
        f"passes over {report.shards} shard{'s' * (report.shards != 1)}: {', '.join(report.passes)}"
    )


def _print_report(output: str, report: Any, on_error: str) -> None:
    print_faults(report, on_error, f" {report.bad_rows} lists them")
    earlier = f", {report.before} of them from before" if report.before else ""
    rows = f"{report.rows:,} row{'s' * (report.rows != 1)}"
    print(f"{output}: {rows} in {report.shards} part{'s' * (report.shards != 1)}{earlier}")


def _read_by(reading: Reading) -> dict[str, Any]:
    """What `cluster` takes of how files are read."""
    return {
        "on_error": reading.on_error,
        "form": reading.form,
        "header": not reading.no_header,
        "encoding": reading.encoding,
        "delimiter": TABS.get(reading.delimiter or "", reading.delimiter),
    }


def _bytes(megabytes: float) -> int:
    return int(positive(megabytes, "--shard-size") * MEGABYTE)


def _encoder(
    model: str | None,
    vectors: Path | None,
    counts: Path | None,
    ranks: bool,
    method: str | None,
    parameters: list[str],
    tokenizer: str | None,
    frequencies: str,
) -> Encoder:
    """The encoder to fit, with some probabilities until the words of the corpus are counted."""
    encoder = encoder_to_fit(model, vectors, counts, ranks, method, parameters, tokenizer)
    words = encoder.words
    if frequencies == "corpus" and words.probabilities is None:
        return Encoder(words.with_ranks(), encoder.method, encoder.refine)
    return encoder


@contextmanager
def _progress(command: str, inputs: list[str]) -> Iterator[Any]:
    """A progress bar over the bytes of the input; a user who interrupts is told how to go on."""
    from noppa.cluster.plan import files_of

    with interruptible(": what is done is kept, the same command goes on from there"):
        size = sum(place.size() for place in files_of(inputs)) if sys.stderr.isatty() else 0
        with records_bar(command, size) as progress:
            yield progress


def register(main: typer.Typer) -> None:
    main.add_typer(app, name="cluster")

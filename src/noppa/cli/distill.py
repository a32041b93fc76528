"""`noppa distill`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from noppa.cli.inputs import read_texts
from noppa.cli.options import Column, Format, TokenizerName, input_files
from noppa.cli.output import check_output
from noppa.distill import pipeline
from noppa.distill.pipeline import count_words, most_frequent
from noppa.distill.teacher import Teacher
from noppa.encoder.encoder import Encoder
from noppa.errors import ParameterError
from noppa.methods import Average
from noppa.progress_bar import counts_bar
from noppa.text.tokenizer import ENGLISH, Tokenizer
from noppa.words import frequencies
from noppa.words.formats.arrays import read_words


def distill(
    model: Annotated[
        str,
        typer.Argument(
            help="A sentence-transformers model, by folder or name, or a folder with onnx/model.onnx."
        ),
    ],
    inputs: Annotated[
        list[str] | None, typer.Argument(help="Files with unlabelled text in the model's language.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")] = Path(
        "distilled"
    ),
    beside: Annotated[
        list[str] | None, typer.Option(help="A further model, whose columns are appended.")
    ] = None,
    vocabulary: Annotated[
        Path | None, typer.Option(help="The words, one per line, most frequent first.")
    ] = None,
    size: Annotated[int, typer.Option(min=1, help="Words to take from the texts.")] = 50_000,
    dim: Annotated[int, typer.Option(min=1, help="Columns of each model.")] = 256,
    sentences: Annotated[
        int, typer.Option(min=1, help="Maximum number of texts that the model encodes.")
    ] = 250_000,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the model's vectors; next to the output and deleted at the end if not given."
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes that run the model.")] = None,
    tokenizer: TokenizerName = None,
    column: Column = None,
    form: Format = None,
) -> None:
    """Make an encoder of word vectors that imitates a sentence transformer, in any language.

    The model encodes each word and each text once; word vectors are then fitted so that their sums approximate its
    text vectors. With a vocabulary only, each word gets the model's vector of it. An interrupted run resumes.

    Example: noppa distill all-MiniLM-L6-v2 sentences.txt -o my-encoder
    """
    split = Tokenizer.parse(tokenizer or ENGLISH)
    models = [model, *(beside or [])]
    local = [name for name in models if Path(name).exists()]
    check_output(output, [*local, vocabulary, cache, *(inputs or [])])
    texts = list(read_texts(input_files(inputs, column, form), "raise")) if inputs else []
    if vocabulary is not None:
        lines = [word.decode("utf-8", "replace") for word in read_words(vocabulary)]
        words = list(dict.fromkeys(word for word in lines if word))
    elif texts:
        words = most_frequent(count_words(texts, split), size, split)
    else:
        raise ParameterError("nothing to distill: give files with text, or --vocabulary, or both")
    if not words:
        raise ParameterError("nothing to distill: the inputs hold no words")
    ranks = dict(zip(words, frequencies.from_ranks(len(words)).values.tolist(), strict=True))
    answers = cache or output.with_name(f".{output.name}.answers")
    with counts_bar() as progress:
        distilled = pipeline.distill_all(
            [Teacher(name, answers, jobs, progress) for name in models],
            words,
            texts[:sentences],
            dim,
            frequencies=None if texts else ranks,
            tokenizer=split,
            progress=lambda epoch, cosine: print(f"pass {epoch}: held-out cosine {cosine:.3f}"),
        )
    encoder = Encoder(distilled.word_vectors("int8"), Average())
    encoder.save(output)
    if cache is None:
        shutil.rmtree(answers)
    print(f"{output}: {encoder.words!r}")


def register(app: typer.Typer) -> None:
    app.command()(distill)

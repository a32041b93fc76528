"""`noppa distill`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from noppa.cli.checked_output import output_of
from noppa.cli.options import TokenizerName, expanded
from noppa.cli.record_options import Column, Reading, texts_of_inputs
from noppa.distill import pipeline
from noppa.distill.teacher import Teacher
from noppa.distill.vocabulary import chosen, counted
from noppa.encoder.encoder import Encoder
from noppa.errors import ParameterError
from noppa.methods import Average
from noppa.parameters import one_of, whole
from noppa.progress_bar import counts_bar
from noppa.text.tokenizer_settings import ENGLISH, Tokenizer
from noppa.words import frequencies
from noppa.words.formats.arrays import read_words
from noppa.words.formats.load_options import DTYPES


@expanded
def distill(
    reading: Reading,
    model: Annotated[
        str,
        typer.Argument(
            help="A sentence-transformers model: folder or name; or a folder with onnx/model.onnx."
        ),
    ],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="Files with unlabelled text in the language of the model."),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")] = Path(
        "distilled"
    ),
    beside: Annotated[
        list[str] | None,
        typer.Option(
            help="Another model, whose columns stand beside those of the first; may be given again.",
            show_default=False,
        ),
    ] = None,
    vocabulary: Annotated[
        Path | None,
        typer.Option(help="The words, one a line, most frequent first.", show_default=False),
    ] = None,
    size: Annotated[int, typer.Option(help="How many words to take from the texts.")] = 50_000,
    dim: Annotated[int, typer.Option(help="Columns of each model.")] = 256,
    dtype: Annotated[str, typer.Option(help="float32, float16 or int8.")] = "int8",
    sentences: Annotated[
        int, typer.Option(help="How many texts the model encodes, at most.")
    ] = 250_000,
    kept: Annotated[
        Path | None,
        typer.Option(
            help="Cache folder of the model's vectors; if not given, beside the output and deleted at the end.",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Processes that run the model.", show_default=False)
    ] = None,
    tokenizer: TokenizerName = None,
    column: Column = None,
) -> None:
    """An encoder of word vectors that imitates a sentence transformer, in any language.

    The model encodes each word and each text once; word vectors are then fitted so that their sums approximate its text
    vectors. With a vocabulary alone, each word has the model's vector of it. An interrupted run resumes where it stopped.

    Example: noppa distill all-MiniLM-L6-v2 sentences.txt -o my-encoder
    Example: noppa distill paraphrase-multilingual-MiniLM-L12-v2 phrases.txt --tokenizer fr -o mon-encodeur
    """
    one_of(dtype, "dtype", DTYPES)
    for name, number in {"--size": size, "--dim": dim, "--sentences": sentences}.items():
        whole(number, name, 1)
    how = Tokenizer.of(tokenizer or ENGLISH)
    models = [model, *(beside or [])]
    local = [name for name in models if Path(name).exists()]
    output_of(output, [*local, vocabulary, kept, *(inputs or [])])
    texts = list(texts_of_inputs(inputs, column, reading)) if inputs else []
    if vocabulary is not None:
        words = [word.decode("utf-8", "replace") for word in read_words(vocabulary)]
        words = list(dict.fromkeys(word for word in words if word))
    elif texts:
        words = chosen(counted(texts, how), size, how)
    else:
        raise ParameterError("nothing to distill: give files with text, or --vocabulary, or both")
    if not words:
        raise ParameterError("nothing to distill: there is not one word in what was given")
    ranks = dict(zip(words, frequencies.from_ranks(len(words)).values.tolist(), strict=True))
    cache = output.with_name(f".{output.name}.answers") if kept is None else kept
    with counts_bar() as progress:
        distilled = pipeline.side_by_side(
            [Teacher(name, cache, jobs, progress) for name in models],
            words,
            texts[:sentences],
            dim,
            frequencies=None if texts else ranks,
            tokenizer=how,
            progress=lambda epoch, cosine: print(f"pass {epoch}: held-out cosine {cosine:.3f}"),
        )
    encoder = Encoder(distilled.word_vectors(dtype), Average())
    encoder.save(output)
    if kept is None:
        shutil.rmtree(cache)
    print(f"{output}: {encoder.words!r}")


def register(app: typer.Typer) -> None:
    app.command()(distill)

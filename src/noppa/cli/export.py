"""`noppa export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import noppa
from noppa.classify.storage import KIND
from noppa.cli.output import check_output
from noppa.export import FORMATS
from noppa.export import export as write
from noppa.io.hub import locate
from noppa.io.paths import folders_of
from noppa.io.storage import kind_of


def export(
    model: Annotated[
        str,
        typer.Argument(help="A preset, the folder of an encoder or classifier, or hf:owner/name."),
    ],
    to: Annotated[str, typer.Option(help=f"The format: {', '.join(FORMATS)}.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="A folder for model2vec, else a file name in .bin, .vec, .safetensors or .onnx.",
        ),
    ],
    words_only: Annotated[
        bool,
        typer.Option(
            "--words-only", help="Export the plain average of the words, not the model's method."
        ),
    ] = False,
) -> None:
    """Write a model in the format of another program, or say why that format cannot hold it.

    model2vec, word2vec and safetensors hold one vector per word, whose mean is the vector of a text. They fit every
    weighted average, such as the preset similarity or SIF, with its refinement. onnx also holds classifiers.

    Example: noppa export similarity --to model2vec -o similarity-model2vec
    """
    if to not in FORMATS:
        raise typer.BadParameter(f"--to must be one of {', '.join(FORMATS)}, not {to!r}")
    model = str(locate(model))
    if kind_of(Path(model)) == KIND:
        classifier = noppa.load_classifier(model)
        check_output(output, [model])
        write(classifier, to, output)
        print(f"{output}: {to}, {len(classifier.classes_)} classes")
        return
    encoder = noppa.load(model)
    check_output(output, folders_of(encoder))
    write(encoder, to, output, words_only=words_only)
    dim = encoder.words.dim if words_only else encoder.dim
    print(f"{output}: {to}, {encoder.words.lexicon.whole_words} words, {dim} dimensions")


def register(app: typer.Typer) -> None:
    app.command()(export)

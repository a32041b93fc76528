"""`noppa export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import noppa
from noppa.classify.classifier_folder import KIND
from noppa.cli.checked_output import output_of
from noppa.export import FORMATS, export_classifier
from noppa.export import export as write
from noppa.io.hub import locate
from noppa.io.outputs import folders_of
from noppa.io.storage import kind_of


def export(
    model: Annotated[
        str,
        typer.Argument(
            help="A preset of the embedded model (default, similarity), the folder of a saved encoder or classifier, or hf:owner/name."
        ),
    ],
    to: Annotated[str, typer.Option(help=f"The format: {', '.join(FORMATS)}.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="What to write: a folder for model2vec, else a name in .bin, .vec, .safetensors or .onnx.",
        ),
    ],
    words_only: Annotated[
        bool,
        typer.Option(
            "--words-only",
            help="The average of the word vectors as they are, in place of the model's own method.",
        ),
    ] = False,
) -> None:
    """A model in the format of another program; what that cannot hold is refused with the reason.

    model2vec, word2vec and safetensors hold one vector a word, whose mean is the vector of a text: that is any average of
    weighted words, such as the preset similarity or SIF, with its refinement. onnx holds the method itself, NoPPA too; it
    takes ids, and the words lie beside it, one a line. A classifier goes to onnx.

    Example: noppa export similarity --to model2vec -o similarity-model2vec
    """
    if to not in FORMATS:
        raise typer.BadParameter(f"--to must be one of {', '.join(FORMATS)}, not {to!r}")
    model = str(locate(model))
    if kind_of(Path(model)) == KIND:
        classifier = noppa.load_classifier(model)
        output_of(output, [model])
        export_classifier(classifier, to, output)
        print(f"{output}: {to}, {len(classifier.classes_)} classes")
        return
    encoder = noppa.load(model)
    output_of(output, folders_of(encoder))
    write(encoder, to, output, words_only=words_only)
    dim = encoder.words.dim if words_only else encoder.dim
    print(f"{output}: {to}, {encoder.words.lexicon.whole_words} words, {dim} dimensions")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(export)

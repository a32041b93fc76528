"""Encoders in the formats of other programs: what `noppa export` writes.

    encoder -> means    one vector a word, where a text's vector is their mean -> word2vec, safetensors, model2vec
            -> graph    the method itself in ONNX operators

What a format cannot hold is refused with the reason; files are written whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path

from noppa import Encoder
from noppa.classify.classifier import Classifier
from noppa.errors import ParameterError
from noppa.export.means import mean_words
from noppa.export.model2vec_folder import write_model2vec
from noppa.io.outputs import folders_of, refuse_input_as_output
from noppa.methods import Average
from noppa.parameters import one_of, path_of
from noppa.words import formats as files


def write_word2vec(encoder: Encoder, path: Path) -> None:
    """One vector a word, in word2vec's text (`.vec`) or binary format (`.bin`), optionally compressed (`.gz`, `.bz2`, `.xz`)."""
    _need_ending(path, "word2vec", (".bin", ".vec"))
    files.write(mean_words(encoder, "word2vec"), path)


def write_safetensors(encoder: Encoder, path: Path) -> None:
    """One vector a word, as the tensor `embeddings`, with the words beside it in `.vocab.txt`."""
    _need_ending(path, "safetensors", (".safetensors",))
    files.write(mean_words(encoder, "safetensors"), path)


def write_onnx(encoder: Encoder, path: Path) -> None:
    """The method as a graph, with the words beside it in `.vocab.txt`."""
    from noppa.export.onnx_file import write

    _need_ending(path, "onnx", (".onnx",))
    write(encoder, path)


#: How each format is written.
FORMATS: dict[str, Callable[[Encoder, Path], None]] = {
    "model2vec": write_model2vec,
    "word2vec": write_word2vec,
    "safetensors": write_safetensors,
    "onnx": write_onnx,
}


def export(
    encoder: Encoder | Classifier,
    to: str,
    path: str | PathLike[str],
    *,
    words_only: bool = False,
) -> None:
    """Write an encoder in another program's format: model2vec, word2vec, safetensors or onnx; or a classifier as onnx.

    to: one of these names. path: the file or folder to write, with the ending that the format needs.
    words_only: the average of the word vectors as they are, in place of the encoder's own method.
    """
    one_of(to, "to", tuple(FORMATS))
    if isinstance(encoder, Classifier):
        export_classifier(encoder, to, path_of(path))
        return
    if not isinstance(encoder, Encoder):
        raise ParameterError(
            f"only noppa's own encoders can be exported, and this is a {type(encoder).__name__}"
        )
    refuse_input_as_output(path, folders_of(encoder))
    if words_only:
        encoder = Encoder(encoder.words, Average(), tokenizer=encoder.tokenizer)
    FORMATS[to](encoder, path_of(path))


def export_classifier(classifier: Classifier, to: str, path: Path) -> None:
    """Write a classifier as ONNX, the one format that can hold it."""
    from noppa.export.onnx_classifier import write_classifier

    if to != "onnx":
        raise ParameterError(f"{to} holds vectors of words, not a classifier: export it to onnx")
    _need_ending(path, "onnx", (".onnx",))
    write_classifier(classifier, path)


def _need_ending(path: Path, to: str, endings: tuple[str, ...]) -> None:
    plain = path.with_suffix("") if path.suffix in (".gz", ".bz2", ".xz") else path
    if plain.suffix not in endings:
        raise ParameterError(
            f"{path} must end in {' or '.join(endings)} to become {to}: name it {plain.stem}{endings[0]}"
        )

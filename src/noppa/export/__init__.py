"""Export to the formats of other programs, for `noppa export`: word2vec, safetensors, model2vec and ONNX.

All formats hold one vector per word, and the vector of a text is their mean. That works for methods that are weighted means
(`Method.is_mean`): the linear steps of `noppa.refine` can be applied to each word, and only scaling to length one remains.
"""

from __future__ import annotations

from os import PathLike

from noppa import Encoder
from noppa.classify.classifier import Classifier
from noppa.errors import ParameterError
from noppa.export.means import ends_in_unit, mean_words
from noppa.io.paths import folders_of, refuse_input_as_output
from noppa.methods import Average
from noppa.parameters import one_of, path_of, short_repr
from noppa.words import formats as files

#: The suffixes of each format; a model2vec model is a folder.
FORMATS = {
    "model2vec": (),
    "word2vec": (".bin", ".vec"),
    "safetensors": (".safetensors",),
    "onnx": (".onnx",),
}


def export(
    model: Encoder | Classifier, to: str, path: str | PathLike[str], *, words_only: bool = False
) -> None:
    """Write an encoder in another program's format, or a classifier as ONNX.

    Args:
        model: An encoder whose method is a weighted mean of word vectors, or a classifier.
        to: "model2vec", "word2vec", "safetensors" or "onnx".
        path: The file or folder to write, with the suffix of the format; `.gz`, `.bz2` and `.xz` compress word2vec files.
        words_only: Export the average of the word vectors instead of the encoder's method.
    """
    target = path_of(path)
    suffixes = FORMATS[one_of(to, "to", tuple(FORMATS))]
    plain = target.with_suffix("") if target.suffix in (".gz", ".bz2", ".xz") else target
    if suffixes and plain.suffix not in suffixes:
        raise ParameterError(
            f"{target} must end in {' or '.join(suffixes)} to become {to}",
            f"name it {plain.stem}{suffixes[0]}",
        )
    if isinstance(model, Classifier):
        from noppa.export.onnx import write_classifier

        if to != "onnx":
            raise ParameterError(f"{to} holds word vectors, not a classifier", "export it to onnx")
        write_classifier(model, target)
        return
    if not isinstance(model, Encoder):
        raise ParameterError(f"{short_repr(model)} is not an encoder or classifier of noppa")
    refuse_input_as_output(path, folders_of(model))
    if words_only:
        model = Encoder(model.words, Average(), tokenizer=model.tokenizer)
    if to == "onnx":
        from noppa.export.onnx import write_encoder

        write_encoder(model, target)
    elif to == "model2vec":
        from noppa.export.model2vec import write_model2vec

        if model.tokenizer is not None:
            raise ParameterError("a tokenizer that is a function cannot be written to model2vec")
        write_model2vec(mean_words(model), ends_in_unit(model), target)
    else:
        files.write(mean_words(model), target)

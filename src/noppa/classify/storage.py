"""The saved folder of a classifier: no pickle, checksums, a version. A preset is stored by name, another encoder inside."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa.classify.features import CASE, Features, Ngrams
from noppa.classify.labels import KINDS, Labels
from noppa.classify.logistic import LinearModel
from noppa.display import dataclass_repr
from noppa.encoder import storage as encoder_storage
from noppa.encoder.encoder import Encoder
from noppa.encoder.models import load
from noppa.errors import FileError, ParameterError
from noppa.io import schema, storage
from noppa.io.storage import HEADER, Folder
from noppa.text.tokenizer import Split, Tokenizer
from noppa.words.lexicon import Lexicon

KIND = "classifier"
ENCODER = "encoder"
#: The most words in an n-gram.
LONGEST = 8
_LABEL = (str, int, float, bool)
FIELDS = {
    "classes": lambda value: type(value) is list and all(type(label) in _LABEL for label in value),
    "labels": schema.one_of(KINDS),
    "encoder": schema.maybe(schema.is_object),
    "paired": schema.is_bool,
    "unit": schema.is_bool,
    "ngrams": schema.maybe(schema.wholes(1, LONGEST, 2)),
    "rows": schema.whole(0, 2**62),
    "facts": schema.is_object,
    "?text columns": schema.is_texts,
}


class Contents(NamedTuple):
    """Everything that a fitted classifier consists of.

    Attributes:
        text_columns: The columns of the table that it was trained on, if there was one.
    """

    features: Features
    labels: Labels
    model: LinearModel
    rows: int
    facts: dict[str, Any]
    text_columns: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return dataclass_repr(self)


def write(path: str | PathLike[str], contents: Contents) -> None:
    """Write a folder; an existing classifier is replaced only by a complete new one."""
    features, model = contents.features, contents.model
    ngrams, encoder = features.ngrams, features.encoder
    if encoder is not None and not isinstance(encoder, Encoder):
        raise ParameterError(
            f"a classifier on {encoder!r} cannot be saved: its encoder is not one of noppa's"
        )
    preset = None
    if encoder is not None and encoder.identity.is_preset:
        preset = {"preset": encoder.identity.name, "checksum": encoder.identity.checksum}

    def write_encoder(folder: Path) -> Mapping[str, Any]:
        if encoder is None or preset is not None:
            return {}
        encoder.save(folder / ENCODER)
        return {"encoder": {"checksum": encoder_storage.checksum(folder / ENCODER)}}

    header = {
        "classes": contents.labels.classes.tolist(),
        "labels": contents.labels.kind,
        "encoder": preset,
        "paired": features.paired,
        "unit": features.unit,
        "ngrams": None if ngrams is None else [ngrams.shortest, ngrams.longest],
        "rows": contents.rows,
        "facts": contents.facts,
    }
    if contents.text_columns:
        header["text columns"] = contents.text_columns
    arrays: dict[str, NDArray[Any]] = {"dense": model.dense, "biases": model.biases}
    if ngrams is not None:
        arrays |= {"weights": model.ngrams, "idf": ngrams.idf}
        arrays |= {"words": np.asarray(ngrams.lexicon.text), "bounds": ngrams.lexicon.bounds}
        arrays |= {f"runs{length}": keys for length, keys in enumerate(ngrams.keys, 2)}
    storage.write_folder(path, KIND, header, arrays, write_encoder)


def read(
    path: str | PathLike[str], tokenizer: Split | Tokenizer | str | None, verified: int
) -> Contents:
    """Read a folder; checksums of files up to `verified` bytes are compared."""
    return storage.read_snapshot(path, lambda place: _read(place, tokenizer, verified))


def _read(path: Path, tokenizer: Split | Tokenizer | str | None, verified: int) -> Contents:
    folder = storage.read_folder(path, KIND, FIELDS, verified)
    header = folder.header
    encoder = _read_encoder(folder, tokenizer, verified)
    labels = Labels(np.array(header["classes"]), header["labels"])
    dim = 0 if encoder is None else encoder.dim * (1 + header["paired"])
    sizes = {"columns": labels.columns, "dim": dim}
    arrays = folder.read({"dense": "f4 dim* columns", "biases": "f8 columns"}, sizes)
    ngrams, weights = _read_ngrams(folder, sizes)
    return Contents(
        Features(encoder, ngrams, header["paired"], header["unit"]),
        labels,
        LinearModel(arrays["dense"], weights, arrays["biases"]),
        header["rows"],
        header["facts"],
        tuple(header.get("text columns", ())),
    )


def _read_encoder(
    folder: Folder, tokenizer: Split | Tokenizer | str | None, verified: int
) -> Encoder | None:
    entry = folder.header["encoder"]
    if entry is None:
        return None
    if "preset" in entry:
        encoder = load(str(entry["preset"]), tokenizer)
        problem = f"{folder.path} was trained on another version of noppa's embedded words"
        hint = "train it again with this version"
    else:
        encoder = Encoder.open_folder(folder.path / ENCODER, tokenizer, verified)
        problem = f"{folder.path / ENCODER} is not the encoder that it was trained on"
        hint = "copy it again"
    if encoder.identity.checksum != entry.get("checksum"):
        raise FileError(problem, hint)
    return encoder


def _read_ngrams(
    folder: Folder, sizes: dict[str, int]
) -> tuple[Ngrams | None, NDArray[np.float32]]:
    lengths = folder.header["ngrams"]
    if lengths is None:
        return None, np.zeros((0, sizes["columns"]), np.float32)
    shortest, longest = lengths
    if shortest > longest:
        raise FileError(
            f"{folder.path / HEADER} is damaged: n-grams of {shortest} to {longest} words"
        )
    arrays = folder.read({"words": "u1 text*", "bounds": "i8 words+1"}, sizes)
    schema.check_bounds(arrays["bounds"], sizes["text"], folder.file("bounds"))
    lexicon = Lexicon(arrays["words"], arrays["bounds"], None, 0, "skip", CASE)
    keys: list[NDArray[np.int64]] = []
    before = sizes["words"]
    for length in range(2, longest + 1):
        name = f"runs{length}"
        runs = folder.read({name: f"i8 {name}*"}, sizes)[name]
        schema.check_range(runs, 0, max(before * sizes["words"], 1) - 1, folder.file(name))
        if (np.diff(runs) <= 0).any():
            raise FileError(
                f"{folder.file(name)} is damaged: its numbers must rise", "copy it again"
            )
        keys.append(runs)
        before = len(runs)
    sizes["ngrams"] = sum([len(lexicon), *map(len, keys)][shortest - 1 :])
    sizes["pairs"] = sizes["ngrams"] * (1 + folder.header["paired"])
    more = folder.read({"idf": "f4 ngrams positive", "weights": "f4 pairs columns"}, sizes)
    return Ngrams(lexicon, keys, shortest, more["idf"]), more["weights"]

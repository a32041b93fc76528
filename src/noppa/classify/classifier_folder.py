"""The saved folder of a classifier: no pickle, checksums, a version; the embedded words are named, others lie inside."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa.classify.features import Features
from noppa.classify.labels import KINDS, Labels
from noppa.classify.linear_model import LinearModel
from noppa.classify.ngrams import CASE, Ngrams
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
#: How many words an n-gram may have.
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
    """All that makes a fitted classifier.

    texts: the sides of the training texts, and `members` their targets, where they are kept. text_columns: of the table that
    it was trained from, where there was one.
    """

    features: Features
    labels: Labels
    model: LinearModel
    rows: int
    facts: dict[str, Any]
    texts: tuple[list[str], ...] | None = None
    members: NDArray[np.float32] | None = None
    text_columns: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return dataclass_repr(self)


def write(path: str | PathLike[str], contents: Contents) -> None:
    """Write a folder; an existing classifier is replaced only by a complete new one."""
    encoder = contents.features.encoder
    if encoder is not None and not isinstance(encoder, Encoder):
        raise ParameterError(
            f"a classifier on a {type(encoder).__name__} cannot be saved: its encoder is not one of noppa's"
        )
    place = None
    if encoder is not None and encoder.identity.is_preset:
        place = {"preset": encoder.identity.name, "checksum": encoder.identity.checksum}

    def inside(new: Path) -> Mapping[str, Any]:
        if encoder is not None and place is None:
            encoder.save(new / ENCODER)
            return {"encoder": {"checksum": encoder_storage.checksum(new / ENCODER)}}
        return {}

    storage.write_folder(path, KIND, _header(contents, place), _arrays(contents), inside)


def _header(contents: Contents, place: dict[str, str] | None) -> dict[str, Any]:
    """All but the arrays; `place` names a preset, and an encoder inside is named when it has been written."""
    features, ngrams = contents.features, contents.features.ngrams
    return {
        "classes": contents.labels.classes.tolist(),
        "labels": contents.labels.kind,
        "encoder": place,
        "paired": features.paired,
        "unit": features.unit,
        "ngrams": None if ngrams is None else [ngrams.shortest, ngrams.longest],
        "rows": contents.rows,
        "facts": contents.facts,
        **({"text columns": contents.text_columns} if contents.text_columns else {}),
    }


def _arrays(contents: Contents) -> dict[str, NDArray[Any]]:
    model, ngrams = contents.model, contents.features.ngrams
    arrays: dict[str, NDArray[Any]] = {"dense": model.dense, "biases": model.biases}
    if ngrams is not None:
        arrays |= {"weights": model.ngrams, "idf": ngrams.idf}
        arrays |= {"words": np.asarray(ngrams.lexicon.text), "bounds": ngrams.lexicon.bounds}
        arrays |= {f"runs{at}": keys for at, keys in enumerate(ngrams.keys, 2)}
    if contents.texts is not None and contents.members is not None:
        arrays["members"] = contents.members.astype(np.uint8)
        for at, side in enumerate(contents.texts):
            pieces = [text.encode("utf-8", "surrogatepass") for text in side]
            arrays[f"texts{at}"] = np.frombuffer(b"".join(pieces), np.uint8)
            arrays[f"ends{at}"] = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    return arrays


def read(
    path: str | PathLike[str], tokenizer: Split | Tokenizer | str | None, verified: int
) -> Contents:
    """What a folder holds."""
    return storage.read_snapshot(path, lambda place: _read(place, tokenizer, verified))


def _read(path: Path, tokenizer: Split | Tokenizer | str | None, verified: int) -> Contents:
    folder = storage.read_folder(path, KIND, FIELDS, verified)
    header = folder.header
    encoder = _encoder(folder, tokenizer, verified)
    labels = Labels(np.array(header["classes"]), header["labels"])
    paired = header["paired"]
    columns = labels.columns(np.zeros((0, len(labels.classes)), np.float32)).shape[1]
    sizes = {"columns": columns, "dim": (1 + paired) * (0 if encoder is None else encoder.dim)}
    arrays = folder.read({"dense": "f4 dim* columns", "biases": "f8 columns"}, sizes)
    ngrams, weights = _ngrams(folder, sizes, paired)
    texts, members = _texts(folder, sizes, paired)
    folder.check_nothing_else()
    features = Features(encoder, ngrams, paired, header["unit"])
    model = LinearModel(arrays["dense"], weights, arrays["biases"])
    named = tuple(header.get("text columns", ()))
    return Contents(features, labels, model, header["rows"], header["facts"], texts, members, named)


def _encoder(
    folder: Folder, tokenizer: Split | Tokenizer | str | None, verified: int
) -> Encoder | None:
    place = folder.header["encoder"]
    if place is None:
        return None
    if "preset" not in place:
        encoder = Encoder.open_folder(folder.path / ENCODER, tokenizer, verified)
        if encoder.identity.checksum != place.get("checksum"):
            raise FileError(
                f"{folder.path / ENCODER} is not the encoder it was trained on: copy it again"
            )
        return encoder
    encoder = load(str(place["preset"]), tokenizer)
    if encoder.identity.checksum != place.get("checksum"):
        raise FileError(
            f"{folder.path} was trained on another version of noppa's embedded words: train it again with this one"
        )
    return encoder


def _ngrams(
    folder: Folder, sizes: dict[str, int], paired: bool
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
    keys = [_keys(folder, sizes, at) for at in range(2, longest + 1)]
    lexicon = Lexicon(arrays["words"], arrays["bounds"], None, 0, "skip", CASE)
    counts = [len(lexicon), *map(len, keys)]
    sizes["ngrams"] = sum(counts[shortest - 1 :])
    sizes["pairs"] = sizes["ngrams"] * (1 + paired)
    more = folder.read({"idf": "f4 ngrams positive", "weights": "f4 pairs columns"}, sizes)
    return Ngrams(lexicon, keys, shortest, more["idf"]), more["weights"]


def _keys(folder: Folder, sizes: dict[str, int], length: int) -> NDArray[np.int64]:
    """Runs of some words: they rise, and are made of known runs and words."""
    name, before = f"runs{length}", sizes["words" if length == 2 else f"runs{length - 1}"]
    keys = folder.read({name: f"i8 {name}*"}, sizes)[name]
    schema.check_range(keys, 0, max(before * sizes["words"], 1) - 1, folder.file(name))
    if (np.diff(keys) <= 0).any():
        raise FileError(f"{folder.file(name)} is damaged: its numbers must rise; copy it again")
    return keys


def _texts(
    folder: Folder, sizes: dict[str, int], paired: bool
) -> tuple[tuple[list[str], ...] | None, NDArray[np.float32] | None]:
    sizes = {"columns": len(folder.header["classes"]), "rows": folder.header["rows"]}
    members = folder.read({"?members": "u1 rows columns"}, sizes)
    if not members:
        return None, None
    sides = []
    for at in range(1 + paired):
        arrays = folder.read({f"texts{at}": f"u1 text{at}*", f"ends{at}": "i8 rows+1"}, sizes)
        ends, content = arrays[f"ends{at}"], arrays[f"texts{at}"].tobytes()
        schema.check_bounds(ends, len(content), folder.file(f"ends{at}"))
        sides.append([content[a:b].decode("utf-8", "replace") for a, b in pairwise(ends.tolist())])
    return tuple(sides), members["members"].astype(np.float32)

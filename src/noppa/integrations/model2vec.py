"""model2vec: its static models as our word vectors and encoders, and ours as its `StaticModel`.

>>> from noppa.integrations.model2vec import static_model
>>> static_model("similarity").encode(["a cake"]).shape
(1, 320)
"""

from __future__ import annotations

import json
import tempfile
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import Encoder, Normalize, WordVectors
from noppa.encoder.embedded import DEFAULT
from noppa.encoder.models import Model, resolve_model
from noppa.errors import FileError
from noppa.export import export
from noppa.extras import needs
from noppa.methods import Average

with needs("model2vec", "noppa.integrations.model2vec"):
    from model2vec import StaticModel

SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[MASK]", "<pad>", "<s>", "</s>", "<mask>")


def static_model(model: Model | None = None, *, words_only: bool = False) -> StaticModel:
    """Return an encoder whose vectors are means of word vectors as a `StaticModel`; see `noppa.export.export`."""
    with tempfile.TemporaryDirectory(prefix="noppa-") as folder:
        encoder: Any = resolve_model(model, DEFAULT)
        export(encoder, "model2vec", Path(folder) / "model", words_only=words_only)
        return StaticModel.from_pretrained(Path(folder) / "model")


def word_vectors(model: StaticModel | str | PathLike[str]) -> WordVectors:
    """Return the tokens of a `StaticModel`, or of its folder, as words for noppa's tokenizer.

    Weights are included in the vectors, special tokens are left out, and word pieces (`##ing`) become pieces.
    """
    static = _open(model)
    tokens, unknown = static.tokens, static.unk_token_id
    special = {*SPECIAL, "" if unknown is None else tokens[unknown]}
    rows = [row for row, token in enumerate(tokens) if token not in special]
    pieces = 0
    if json.loads(static.tokenizer.to_str())["model"]["type"] == "WordPiece":
        rows.sort(key=lambda row: tokens[row].startswith("##"))  # stable: words, then pieces
        pieces = sum(tokens[row].startswith("##") for row in rows)
    return WordVectors(
        [tokens[row] for row in rows],
        _rows(static)[rows],
        pieces=pieces,
        unknown="pieces" if pieces else "skip",
    )


def encoder(model: StaticModel | str | PathLike[str]) -> Encoder:
    """Return a `StaticModel`, or its folder, as an encoder with its own tokenizer; long texts are not truncated."""
    static = _open(model)
    words = WordVectors(list(static.tokens), _rows(static), case="exact")
    refine = Normalize() if static.normalize else None
    return Encoder(words, Average(), refine, Tokens(static))


class Tokens:
    """Splits a text as a `StaticModel` does, without unknown tokens."""

    def __init__(self, model: StaticModel) -> None:
        self.tokenizer, self.tokens = model.tokenizer, model.tokens
        self.unknown = model.unk_token_id
        self.tokenizer.no_truncation()

    def __call__(self, text: str) -> list[str]:
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids
        return [self.tokens[number] for number in ids if number != self.unknown]


def _open(model: Any) -> StaticModel:
    if isinstance(model, StaticModel):
        return model
    if not isinstance(model, str | PathLike) or not Path(model).is_dir():
        raise FileError(f"{model!r} is neither a StaticModel nor the folder of one")
    try:
        return StaticModel.from_pretrained(model, max_length=None)
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise FileError(f"model2vec cannot open {model} ({reason})", "save it again") from error


def _rows(model: StaticModel) -> NDArray[np.float32]:
    rows = np.asarray(model.embedding, np.float32)
    if getattr(model, "token_mapping", None) is not None:
        rows = rows[model.token_mapping]
    if getattr(model, "weights", None) is not None:
        rows = rows * np.asarray(model.weights, np.float32)[:, None]
    return rows

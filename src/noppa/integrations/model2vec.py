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
from noppa.encoder.models import resolve_model
from noppa.errors import FileError, InputError
from noppa.export import export
from noppa.extras import needs
from noppa.methods import Average

with needs("model2vec", "noppa.integrations.model2vec"):
    from model2vec import StaticModel

SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[MASK]", "<pad>", "<s>", "</s>", "<mask>")


def static_model(model: Any = None, *, words_only: bool = False) -> StaticModel:
    """An encoder as a `StaticModel`, where its vectors are means of word vectors; `save_pretrained` writes it.

    words_only: as of `noppa.export.export`.
    """
    with tempfile.TemporaryDirectory(prefix="noppa-") as folder:
        export(
            resolve_model(model, DEFAULT),  # type: ignore[arg-type]
            "model2vec",
            Path(folder) / "model",
            words_only=words_only,
        )
        return StaticModel.from_pretrained(Path(folder) / "model")


def word_vectors(model: Any) -> WordVectors:
    """The tokens of a `StaticModel`, or of its folder, as our words, for our own tokenizer.

    Weights are in the vectors, special tokens are left out, and word pieces (`##ing`) become pieces.
    """
    opened = _opened(model)
    rows, kind = _rows(opened), json.loads(opened.tokenizer.to_str())["model"]["type"]
    left_out = {
        *SPECIAL,
        opened.tokens[opened.unk_token_id] if opened.unk_token_id is not None else "",
    }
    rows_used = [row for row, token in enumerate(opened.tokens) if token not in left_out]
    pieces = 0
    if kind == "WordPiece":
        continued = [row for row in rows_used if opened.tokens[row].startswith("##")]
        pieces = len(continued)
        rows_used = [
            row for row in rows_used if not opened.tokens[row].startswith("##")
        ] + continued
    return WordVectors(
        [opened.tokens[row] for row in rows_used],
        rows[rows_used],
        pieces=pieces,
        unknown="pieces" if pieces else "skip",
    )


def encoder(model: Any) -> Encoder:
    """A `StaticModel`, or its folder, as an encoder with its own tokenizer: the same vectors, but long texts are not truncated."""
    opened = _opened(model)
    words = WordVectors(list(opened.tokens), _rows(opened), case="exact")
    refine = Normalize() if opened.normalize else None
    made = Encoder(words, Average(), refine, Tokens(opened))
    return made.fit([]) if refine else made


class Tokens:
    """The tokens of a text as a `StaticModel` splits it, unknown ones left out."""

    def __init__(self, model: StaticModel) -> None:
        self.tokenizer, self.tokens, self.unknown = (
            model.tokenizer,
            model.tokens,
            model.unk_token_id,
        )
        self.tokenizer.no_truncation()

    def __call__(self, text: str) -> list[str]:
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids
        return [self.tokens[number] for number in ids if number != self.unknown]


def _opened(model: Any) -> StaticModel:
    if isinstance(model, StaticModel):
        return model
    if not isinstance(model, str | PathLike):
        raise InputError(
            f"a {type(model).__name__} is neither a StaticModel nor the folder of one: give one of these"
        )
    if not Path(model).is_dir():
        raise FileError(
            f"{model} is no folder: give that of a saved StaticModel, or the model itself"
        )
    try:
        return StaticModel.from_pretrained(model, max_length=None)
    except Exception as error:
        why = str(error).partition("\n")[0]
        raise FileError(f"{model} cannot be opened by model2vec ({why}): save it again") from error


def _rows(model: StaticModel) -> NDArray[np.float32]:
    rows = np.asarray(model.embedding, np.float32)
    if getattr(model, "token_mapping", None) is not None:
        rows = rows[model.token_mapping]
    if getattr(model, "weights", None) is not None:
        rows = rows * np.asarray(model.weights, np.float32)[:, None]
    return rows

"""sentence-transformers: an encoder as the first module of a `SentenceTransformer`.

>>> from noppa.integrations.sbert import sentence_transformer
>>> model = sentence_transformer("similarity")
>>> model.encode(["a cake", "a lake"]).shape
(2, 320)
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import noppa
from noppa import Encoder
from noppa.encoder.embedded import DEFAULT
from noppa.encoder.models import Model, resolve_model
from noppa.errors import FileError, ParameterError
from noppa.extras import needs
from noppa.words.texts import texts_of

with needs("sbert", "noppa.integrations.sbert"):
    import torch
    from sentence_transformers import SentenceTransformer

    try:
        from sentence_transformers.base.modules import Module
    except ImportError:  # where it was before release 6
        from sentence_transformers.models import Module

FOLDER = "noppa"


class NoppaModule(Module):
    """Computes `sentence_embedding` from texts, without a gradient: only the modules after it can be trained."""

    def __init__(self, model: Model | None = None) -> None:
        super().__init__()
        encoder = resolve_model(model, DEFAULT)
        if not isinstance(encoder, Encoder):
            raise ParameterError(f"model must be a noppa.Encoder, not a {type(encoder).__name__}")
        self.encoder = encoder

    def preprocess(self, inputs: Any, prompt: str | None = None, **_: Any) -> dict[str, Any]:
        """Return flat ids (tokens,) and offsets (n + 1,) of texts; a prompt is put before each text."""
        texts = texts_of(inputs)
        if prompt:
            texts = [prompt + text for text in texts]
        encoder = self.encoder.for_texts(texts)
        ids, offsets = encoder.look_up(texts)
        features = {"input_ids": torch.from_numpy(ids), "offsets": torch.from_numpy(offsets)}
        # the ids of a fastText model refer to rows that were composed for these texts
        return features if encoder is self.encoder else {**features, "encoder": encoder}

    tokenize = preprocess

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Add `sentence_embedding`, (n, dim); a text without a known word gets zeros."""
        ids, offsets = features["input_ids"], features["offsets"]
        rows, _known = features.get("encoder", self.encoder).encode_ids(
            ids.cpu().numpy(), offsets.cpu().numpy()
        )
        features["sentence_embedding"] = torch.from_numpy(rows).to(ids.device)
        return features

    def get_embedding_dimension(self) -> int:
        return self.encoder.dim

    get_sentence_embedding_dimension = get_embedding_dimension

    @property
    def max_seq_length(self) -> float:
        """Texts are never truncated."""
        return math.inf

    @property
    def tokenizer(self) -> Any:
        """None: trainers read this attribute, but the tokenizer is inside the encoder."""
        return None

    def get_config_dict(self) -> dict[str, Any]:
        return {"method": repr(self.encoder.method), "dim": self.encoder.dim}

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        """Write the encoder with its words."""
        if self.encoder.tokenizer is not None:
            raise FileError("an encoder with a tokenizer function cannot be saved")
        self.encoder.save(Path(output_path) / FOLDER)

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **options: Any) -> NoppaModule:
        """Load the module from a folder or a hub."""
        names = ("token", "cache_folder", "revision", "local_files_only")
        known = {name: options[name] for name in names if name in options}
        folder = cls.load_dir_path(
            model_name_or_path, subfolder=str(Path(subfolder, FOLDER)), **known
        )
        return cls(noppa.load(Path(folder or model_name_or_path)))


def sentence_transformer(model: Model | None = None, *modules: Any) -> SentenceTransformer:
    """Return a `SentenceTransformer` that starts with an encoder, followed by other modules."""
    return SentenceTransformer(modules=[NoppaModule(model), *modules])

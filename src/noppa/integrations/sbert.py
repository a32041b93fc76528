"""sentence-transformers: an encoder as the first module of a `SentenceTransformer`, to be used, saved and trained on top of.

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
from noppa.encoder.models import resolve_model
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
    """The first module of a `SentenceTransformer`: texts to ids, and ids to `sentence_embedding`, which has no gradient.

    model: an encoder, the folder of a saved one or a preset's name. What is trained are the modules after it.
    """

    def __init__(self, model: Any = None) -> None:
        super().__init__()
        encoder = resolve_model(model, DEFAULT)
        if not isinstance(encoder, Encoder):
            raise ParameterError(
                f"model must be one of noppa's encoders, not a {type(encoder).__name__}: see noppa.Encoder"
            )
        self.encoder = encoder

    def preprocess(self, inputs: Any, prompt: str | None = None, **_: Any) -> dict[str, Any]:
        """Texts as flat ids (tokens,) and offsets (n + 1,), as everywhere in noppa; a prompt comes before each."""
        texts = texts_of(inputs)
        if prompt:
            texts = [prompt + text for text in texts]
        encoder = self.encoder.for_texts(texts)
        ids, offsets = encoder.look_up(texts)
        features = {"input_ids": torch.from_numpy(ids), "offsets": torch.from_numpy(offsets)}
        # a fastText model composes rows for the words of these texts, which the ids name
        return features if encoder is self.encoder else {**features, "encoder": encoder}

    tokenize = preprocess

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Adds `sentence_embedding`, (n, dim); a text without a known word is a row of zeros."""
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
        """Nothing is cut."""
        return math.inf

    @property
    def tokenizer(self) -> Any:
        """Trainers read this attribute; ours is inside the encoder."""
        return None

    def get_config_dict(self) -> dict[str, Any]:
        return {"method": repr(self.encoder.method), "dim": self.encoder.dim}

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        """The whole encoder, words and all, in a folder of its own."""
        if self.encoder.tokenizer is not None:
            raise FileError(
                f"cannot write {output_path}: the encoder has a tokenizer of its own, which cannot be saved; use one without"
            )
        self.encoder.save(Path(output_path) / FOLDER)

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **options: Any) -> NoppaModule:
        """What `save` wrote, from a folder or a hub."""
        names = ("token", "cache_folder", "revision", "local_files_only")
        known = {name: options[name] for name in names if name in options}
        folder = cls.load_dir_path(
            model_name_or_path, subfolder=str(Path(subfolder, FOLDER)), **known
        )
        return cls(noppa.load(Path(folder or model_name_or_path)))


def sentence_transformer(model: Any = None, *modules: Any) -> SentenceTransformer:
    """An encoder as a `SentenceTransformer`, with more modules after it where they are given."""
    return SentenceTransformer(modules=[NoppaModule(model), *modules])

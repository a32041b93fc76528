"""A model of sentence-transformers: its vectors of texts and of its own word pieces, on one thread."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from noppa.encoder.models import sentence_transformer

BATCH = 64


class TorchModel:
    """The model of a folder, or of a name on a hub."""

    def __init__(self, path: str) -> None:
        if Path(path).is_dir():
            os.environ["HF_HUB_OFFLINE"] = "1"
        self.encode = sentence_transformer(path)
        self.model = cast(Any, self.encode).func.__self__
        import torch

        torch.set_num_threads(1)

    def sentences(self, texts: Sequence[str]) -> NDArray[np.float16]:
        """Vectors of texts, (texts, dim)."""
        rows = self.encode(list(texts), batch_size=BATCH, normalize_embeddings=True)
        return np.asarray(rows, np.float16)

    def pieces(self, pieces: Sequence[str]) -> NDArray[np.float16]:
        """Vectors of single tokens, given as ids because the tokenizer would split `##ing` as text."""
        import torch

        tokenizer = self.model.tokenizer
        begin, end = tokenizer.cls_token_id, tokenizer.sep_token_id
        ids = torch.tensor(
            [[begin, token, end] for token in tokenizer.convert_tokens_to_ids(pieces)]
        )
        rows = []
        with torch.inference_mode():
            for part in ids.split(BATCH):
                features = {"input_ids": part, "attention_mask": torch.ones_like(part)}
                rows.append(self.model(features)["sentence_embedding"])
        unit_rows = torch.nn.functional.normalize(torch.cat(rows), dim=1)
        return np.asarray(unit_rows.numpy(), np.float16)

    def vocabulary(self) -> dict[str, int]:
        """The tokens by id, without those that mark begin, end and the like."""
        special = set(self.model.tokenizer.all_special_tokens)
        names = self.model.tokenizer.get_vocab().items()
        return {name: at for name, at in names if name not in special}

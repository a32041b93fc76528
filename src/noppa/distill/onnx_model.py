"""A sentence transformer as an ONNX graph: mean pooling and unit length, without torch.

A folder holds `onnx/model.onnx` and `tokenizer.json`, as models for browsers do. Its layout has no word on how to pool:
the mean over the tokens is what the models that are common in this form use.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from noppa.extras import needs

GRAPH = Path("onnx") / "model.onnx"
TOKENIZER = "tokenizer.json"
BATCH = 64
MOST_TOKENS = 128


class OnnxModel:
    """The model of a folder on one thread; texts are batched by length, so padding costs little."""

    def __init__(self, folder: Path) -> None:
        with needs("onnx", f"the model {folder}"):
            import onnxruntime
            from tokenizers import Tokenizer
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(folder / GRAPH), options)
        self.inputs = {each.name for each in self.session.get_inputs()}
        self.tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MOST_TOKENS)

    def sentences(self, texts: Sequence[str]) -> NDArray[np.float16]:
        """Vectors of texts, (texts, dim)."""
        return self._rows([each.ids for each in self.tokenizer.encode_batch(list(texts))])

    def pieces(self, pieces: Sequence[str]) -> NDArray[np.float16]:
        """Vectors of word pieces between the marks of begin and end; of a piece that is unknown here, that of its text."""
        begin, *_, end = self.tokenizer.encode("a").ids
        known = [self.tokenizer.token_to_id(piece) for piece in pieces]
        texts = self.tokenizer.encode_batch([piece.removeprefix("##") for piece in pieces])
        return self._rows(
            [
                text.ids if piece is None else [begin, piece, end]
                for piece, text in zip(known, texts, strict=True)
            ]
        )

    def vocabulary(self) -> dict[str, int]:
        """The tokens by id, without those that mark begin and end."""
        names: dict[str, int] = self.tokenizer.get_vocab()
        special = self.tokenizer.encode("").ids
        return {name: at for name, at in names.items() if at not in special}

    def _rows(self, token_ids: list[list[int]]) -> NDArray[np.float16]:
        order = np.argsort([len(ids) for ids in token_ids], kind="stable")
        parts = [
            self._batch([token_ids[at] for at in order[start : start + BATCH]])
            for start in range(0, len(order), BATCH)
        ]
        rows = np.concatenate(parts)
        result = np.empty_like(rows)
        result[order] = rows
        return result

    def _batch(self, token_ids: list[list[int]]) -> NDArray[np.float16]:
        shape = len(token_ids), max(map(len, token_ids))
        ids, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, some in enumerate(token_ids):
            ids[row, : len(some)] = some
            mask[row, : len(some)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = self.session.run(None, {name: given[name] for name in self.inputs})[0]
        sums = (states * mask[..., None]).sum(axis=1) / mask.sum(axis=1)[:, None]
        return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True), np.float16)


def is_onnx(model: str) -> bool:
    return (Path(model) / GRAPH).is_file()

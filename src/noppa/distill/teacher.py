"""The sentence transformer to distill: it encodes each text once, and its vectors are cached on disk.

Texts are encoded in shards of fixed size by processes with one thread each, so neither the number of processes nor an
interruption changes a bit of the vectors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from noppa.encoder.models import sentence_transformer
from noppa.errors import FileError
from noppa.extras import needs
from noppa.io import storage
from noppa.io.atomic import atomic_file
from noppa.processes import processes
from noppa.text.rules import PIECE_MARK
from noppa.threads import thread_count

SHARD, BATCH, MOST_TOKENS = 4096, 64, 128
GRAPH, TOKENIZER = Path("onnx") / "model.onnx", "tokenizer.json"

Progress = Callable[[str, int, int], None]
Rows = NDArray[np.float16]


class Teacher:
    """A sentence transformer with a cache of its vectors.

    Args:
        model: A sentence-transformers model by folder or name, or a folder with an ONNX graph.
        progress: Called with the kind of text, how many are done, and how many there are.
    """

    def __init__(
        self, model: str, cache: Path, jobs: int | None = None, progress: Progress | None = None
    ) -> None:
        self.model = model
        self.cache = cache
        self.jobs = thread_count(jobs)
        self.progress = progress or (lambda kind, done, total: None)
        self._identity = identity(model)
        cache.mkdir(parents=True, exist_ok=True)

    def sentences(self, texts: Sequence[str]) -> Rows:
        """Return the model's vectors of texts, of length one, (texts, dim)."""
        return self._encode("texts", texts)

    def pieces(self, pieces: Sequence[str]) -> Rows:
        """Return the model's vectors of its own word pieces, each between [CLS] and [SEP], (pieces, dim)."""
        return self._encode("pieces", pieces)

    def known_pieces(self) -> list[str]:
        """Return the word pieces of the model by id; none if its tokenizer is not WordPiece."""
        with processes(1) as run:
            (pieces,) = run(_pieces, [self.model])
        return list(pieces)

    def _encode(self, kind: str, texts: Sequence[str]) -> Rows:
        shards = [texts[start : start + SHARD] for start in range(0, len(texts), SHARD)]
        files = [self._file(kind, shard) for shard in shards]
        missing = [number for number, file in enumerate(files) if not file.exists()]
        done = len(texts) - sum(len(shards[number]) for number in missing)
        if missing:
            self.progress(kind, done, len(texts))
            with processes(min(self.jobs, len(missing))) as run:
                tasks = ((self.model, kind, shards[number]) for number in missing)
                for number, rows in zip(missing, run(_encode_shard, tasks), strict=True):
                    with atomic_file(files[number]) as new, new.open("wb") as file:
                        np.save(file, rows)
                    done += len(rows)
                    self.progress(kind, done, len(texts))
        return np.concatenate([_read(file) for file in files])

    def _file(self, kind: str, texts: Sequence[str]) -> Path:
        digest = sha256(f"{self._identity} {kind}".encode())
        for text in texts:
            digest.update(b"\0" + text.encode("utf-8", "replace"))
        return self.cache / f"{digest.hexdigest()[:32]}.npy"


def _read(path: Path) -> Rows:
    try:
        return cast(Rows, np.load(path))
    except (OSError, ValueError, EOFError) as error:
        raise FileError(
            f"{path} is damaged ({error})", "delete it, and the model encodes its texts again"
        ) from error


def identity(model: str) -> str:
    """Return a checksum over the files of a model folder, or the name of a model on a hub."""
    folder = Path(model)
    if not folder.is_dir():
        if folder.is_absolute() or model.startswith("."):
            raise FileError(
                f"{model} is not a folder", "give the folder or the name of a sentence transformer"
            )
        return model
    digest = sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{file.relative_to(folder)}\0{storage.sha256(file)}\0".encode())
    return digest.hexdigest()


# In the processes


def _encode_shard(task: tuple[str, str, Sequence[str]]) -> Rows:
    name, kind, texts = task
    model = _model(name)
    return model.pieces(texts) if kind == "pieces" else model.sentences(texts)


def _pieces(path: str) -> list[str]:
    order = sorted(_model(path).vocabulary().items(), key=lambda item: item[1])
    names = [name for name, _ in order if not re.fullmatch(r"\[.+\]", name)]
    has_pieces = any(name.startswith(PIECE_MARK) and name != PIECE_MARK for name in names)
    return names if has_pieces else []


@cache
def _model(path: str) -> OnnxModel | TorchModel:
    """Load the model, once in each process."""
    return OnnxModel(Path(path)) if (Path(path) / GRAPH).is_file() else TorchModel(path)


class TorchModel:
    """A sentence-transformers model on one thread."""

    def __init__(self, path: str) -> None:
        if Path(path).is_dir():
            os.environ["HF_HUB_OFFLINE"] = "1"
        self.encode = sentence_transformer(path)
        self.model = cast(Any, self.encode).func.__self__
        import torch

        torch.set_num_threads(1)

    def sentences(self, texts: Sequence[str]) -> Rows:
        """Return vectors of texts, (texts, dim)."""
        rows = self.encode(list(texts), batch_size=BATCH, normalize_embeddings=True)
        return np.asarray(rows, np.float16)

    def pieces(self, pieces: Sequence[str]) -> Rows:
        """Return vectors of single tokens, given as ids because the tokenizer would split `##ing` as text."""
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
        units = torch.nn.functional.normalize(torch.cat(rows), dim=1)
        return np.asarray(units.numpy(), np.float16)

    def vocabulary(self) -> dict[str, int]:
        """Return the ids of all tokens but the special ones."""
        special = set(self.model.tokenizer.all_special_tokens)
        names = self.model.tokenizer.get_vocab().items()
        return {name: number for name, number in names if name not in special}


class OnnxModel:
    """A sentence transformer as an ONNX graph, on one thread and without torch.

    A folder holds `onnx/model.onnx` and `tokenizer.json`, as models for browsers do. This layout does not record how to
    pool: the mean over the tokens is what the common models in this form use. Texts are batched by length.
    """

    def __init__(self, folder: Path) -> None:
        with needs("onnx", f"the model {folder}"):
            import onnxruntime
            from tokenizers import Tokenizer
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(folder / GRAPH), options)
        self.inputs = {tensor.name for tensor in self.session.get_inputs()}
        self.tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MOST_TOKENS)

    def sentences(self, texts: Sequence[str]) -> Rows:
        """Return vectors of texts, (texts, dim)."""
        return self._rows([text.ids for text in self.tokenizer.encode_batch(list(texts))])

    def pieces(self, pieces: Sequence[str]) -> Rows:
        """Return vectors of word pieces between the marks of begin and end; an unknown piece is encoded as text."""
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
        """Return the ids of all tokens but those that mark begin and end."""
        names: dict[str, int] = self.tokenizer.get_vocab()
        special = self.tokenizer.encode("").ids
        return {name: number for name, number in names.items() if number not in special}

    def _rows(self, token_ids: list[list[int]]) -> Rows:
        order = np.argsort([len(ids) for ids in token_ids], kind="stable")
        parts = [
            self._batch([token_ids[text] for text in order[start : start + BATCH]])
            for start in range(0, len(order), BATCH)
        ]
        rows = np.concatenate(parts)
        result = np.empty_like(rows)
        result[order] = rows
        return result

    def _batch(self, token_ids: list[list[int]]) -> Rows:
        shape = len(token_ids), max(map(len, token_ids))
        ids, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, text in enumerate(token_ids):
            ids[row, : len(text)] = text
            mask[row, : len(text)] = 1
        tensors = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = self.session.run(None, {name: tensors[name] for name in self.inputs})[0]
        sums = (states * mask[..., None]).sum(axis=1) / mask.sum(axis=1)[:, None]
        return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True), np.float16)

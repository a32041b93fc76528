"""The sentence transformer to distill: it encodes each text once, and its vectors are cached on disk.

Texts are encoded in shards of fixed size by processes with one thread each, so neither the number of processes nor an
interruption changes a bit of the vectors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from noppa.distill.onnx_model import OnnxModel, is_onnx
from noppa.distill.torch_model import TorchModel
from noppa.errors import FileError
from noppa.io import storage
from noppa.io.atomic import atomic_file
from noppa.processes import processes
from noppa.text.rules import PIECE_MARK
from noppa.threads import thread_count

SHARD = 4096

Progress = Callable[[str, int, int], None]
Shard = tuple[str, str, Sequence[str]]


class Teacher:
    """A sentence-transformers model by folder or name, or a folder with an ONNX graph; `cache` is the folder of its vectors.

    progress: called with the kind of text, how many are done, and how many there are.
    """

    def __init__(
        self, model: str, cache: Path, jobs: int | None = None, progress: Progress | None = None
    ) -> None:
        self.model = model
        self.cache = cache
        self.jobs = thread_count(jobs)
        self.progress = progress or (lambda what, done, total: None)
        self._identity = identity(model)
        cache.mkdir(parents=True, exist_ok=True)

    def sentences(self, texts: Sequence[str]) -> NDArray[np.float16]:
        """The model's vectors of texts, of length one, (texts, dim)."""
        return self._encoded("texts", texts)

    def pieces(self, pieces: Sequence[str]) -> NDArray[np.float16]:
        """The model's vectors of its own word pieces, each between [CLS] and [SEP], (pieces, dim)."""
        return self._encoded("pieces", pieces)

    def known_pieces(self) -> list[str]:
        """The word pieces of the model by id; none if its tokenizer is not WordPiece."""
        with processes(1) as run:
            (pieces,) = run(_pieces, [self.model])
        return list(pieces)

    def _encoded(self, kind: str, texts: Sequence[str]) -> NDArray[np.float16]:
        shards = [texts[start : start + SHARD] for start in range(0, len(texts), SHARD)]
        files = [self._file(kind, shard) for shard in shards]
        missing = [at for at, file in enumerate(files) if not file.exists()]
        done = len(texts) - sum(len(shards[at]) for at in missing)
        if missing:
            self.progress(kind, done, len(texts))
            with processes(min(self.jobs, len(missing))) as run:
                results = run(_encode_shard, ((self.model, kind, shards[at]) for at in missing))
                for at, rows in zip(missing, results, strict=True):
                    with atomic_file(files[at]) as new, new.open("wb") as file:
                        np.save(file, rows)
                    done += len(rows)
                    self.progress(kind, done, len(texts))
        return np.concatenate([_read(file) for file in files])

    def _file(self, kind: str, texts: Sequence[str]) -> Path:
        digest = sha256(f"{self._identity} {kind}".encode())
        for text in texts:
            digest.update(b"\0" + text.encode("utf-8", "replace"))
        return self.cache / f"{digest.hexdigest()[:32]}.npy"


def _read(path: Path) -> NDArray[np.float16]:
    try:
        rows: NDArray[np.float16] = np.load(path)
    except (OSError, ValueError, EOFError) as error:
        raise FileError(
            f"{path} is damaged ({error}): delete it, and the model encodes its texts again"
        ) from error
    return rows


def identity(model: str) -> str:
    """A checksum over the files of a model folder; the name of a model on a hub."""
    folder = Path(model)
    if not folder.is_dir():
        if folder.is_absolute() or model.startswith("."):
            raise FileError(f"{model} is not a folder: give that of a model, or a model's name")
        return model
    digest = sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{file.relative_to(folder)}\0{storage.sha256(file)}\0".encode())
    return digest.hexdigest()


def _encode_shard(shard: Shard) -> NDArray[np.float16]:
    model, kind, texts = shard
    encodes = _model(model)
    return encodes.pieces(texts) if kind == "pieces" else encodes.sentences(texts)


def _pieces(path: str) -> list[str]:
    order = sorted(_model(path).vocabulary().items(), key=lambda item: item[1])
    names = [name for name, _ in order if not re.fullmatch(r"\[.+\]", name)]
    return (
        names if any(name.startswith(PIECE_MARK) and name != PIECE_MARK for name in names) else []
    )


@cache
def _model(path: str) -> OnnxModel | TorchModel:
    """The model, loaded once in each process."""
    return OnnxModel(Path(path)) if is_onnx(path) else TorchModel(path)

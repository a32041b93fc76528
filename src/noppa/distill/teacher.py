"""The sentence transformer that is distilled: asked once for each text, its answers kept on disk.

Texts go to processes with one thread each, in shards of fixed size: neither the number of processes nor an
interruption changes a bit of what comes back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import storage
from noppa.external import sentence_transformer
from noppa.processes import processes
from noppa.threads import thread_count

SHARD = 8192
BATCH = 64

Progress = Callable[[int, int], None]


class Teacher:
    """A sentence-transformers model by folder or name; what it answered is kept in the folder `kept`."""

    def __init__(self, model: str, kept: Path, jobs: int | None = None) -> None:
        self.model = model
        self.kept = kept
        self.jobs = thread_count(jobs)
        self._identity = identity(model)
        kept.mkdir(parents=True, exist_ok=True)

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float16]:
        """Vectors of length one, (texts, dim)."""
        shards = [texts[start : start + SHARD] for start in range(0, len(texts), SHARD)]
        files = [self._file(shard) for shard in shards]
        asked = [at for at, file in enumerate(files) if not file.exists()]
        done = len(texts) - sum(len(shards[at]) for at in asked)
        if asked:
            with processes(min(self.jobs, len(asked))) as run:
                answers = run(_answer, ((self.model, shards[at]) for at in asked))
                for at, rows in zip(asked, answers, strict=True):
                    with storage.whole_file(files[at]) as new, new.open("wb") as file:
                        np.save(file, rows)
                    done += len(rows)
                    if progress is not None:
                        progress(done, len(texts))
        return np.concatenate([np.load(file) for file in files])

    def _file(self, texts: Sequence[str]) -> Path:
        digest = sha256(self._identity.encode())
        for text in texts:
            digest.update(b"\0" + text.encode("utf-8", "replace"))
        return self.kept / f"{digest.hexdigest()[:32]}.npy"


def identity(model: str) -> str:
    """A checksum over the files of a model folder; of a model on a hub, its name."""
    if not Path(model).is_dir():
        return model
    digest = sha256()
    for file in _files(Path(model)):
        digest.update(f"{file.relative_to(model)}\0{storage.sha256(file)}\0".encode())
    return digest.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted(path for path in folder.rglob("*") if path.is_file())


def _answer(question: tuple[str, Sequence[str]]) -> NDArray[np.float16]:
    model, texts = question
    rows = _model(model)(list(texts), batch_size=BATCH, normalize_embeddings=True)
    return np.asarray(rows, np.float16)


@cache
def _model(path: str) -> Any:
    """The `encode` of the model, loaded once a process."""
    import torch

    torch.set_num_threads(1)
    if Path(path).is_dir():
        os.environ["HF_HUB_OFFLINE"] = "1"
    return sentence_transformer(path)

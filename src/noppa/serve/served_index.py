"""The served index: one folder, opened once in each process; searches see every commit, of other processes too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from noppa import Encoder, Index
from noppa.errors import FileError
from noppa.io import storage
from noppa.search.hits import Hits
from noppa.search.storage import KIND
from noppa.serve import logs
from noppa.serve.problems import busy
from noppa.serve.served_models import Counts, Models, Watch


class ServedIndex:
    """An index, its name, and its encoder."""

    def __init__(self, name: str, index: Index) -> None:
        self.name, self.index = name, index
        self.encoder: Encoder = index.encoder

    def test(self) -> None:
        """Raises where the folder is gone; without waiting for a writer, as the event loop calls this."""
        folder = self.index.folder
        if folder is not None and storage.kind_of(folder) != KIND:
            raise FileError(f"{folder} is no index any more")

    def to_dict(self) -> dict[str, Any]:
        facts = self.index.to_dict()
        named = {name: facts[name] for name in ("texts", "dim", "dtype", "fields")}
        return {"name": self.name, **named}

    def search(
        self,
        models: Models,
        query: str,
        count: int,
        where: dict[str, Any] | None,
        mode: str,
        watch: Watch,
        threads: int,
    ) -> tuple[Hits, Counts]:
        """The hits of a query, which may have as many tokens as any text."""
        _, counts = models.encode(self.encoder, [query], watch, threads, "query")
        with self._there(), watch.over():
            return self.index.search(query, count, where, mode), counts

    def add(
        self,
        models: Models,
        texts: list[str],
        ids: list[Any] | None,
        metadata: list[Any] | None,
        watch: Watch,
        threads: int,
    ) -> tuple[list[str], Counts]:
        """The ids of the texts, which are on disk when this returns."""
        rows, counts = models.encode(self.encoder, texts, watch, threads, "texts")
        with self._there():
            return self.index.add(texts, ids, metadata, vectors=rows), counts

    def delete(self, ids: list[Any]) -> None:
        with self._there():
            self.index.delete(ids)

    @contextmanager
    def _there(self) -> Iterator[None]:
        """503 where the folder cannot be read or written now: another process writes for long, or the disk is full."""
        try:
            yield
        except FileError as error:
            logs.write("index not available", error=type(error).__name__, places=logs.places_of(error))  # fmt: skip
            raise busy(
                "the index cannot be read or written now: try again later, or ask whoever runs this server",
                code="index_unavailable",
            ) from error

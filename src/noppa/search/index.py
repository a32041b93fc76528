"""Nearest neighbours by cosine: exact up to `EXACT` rows, with an HNSW graph (usearch) beyond.

The graph only proposes candidates; their cosines are computed from the vectors, so that both kinds give the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import ParameterError
from noppa.extras import needs
from noppa.io import schema, storage
from noppa.parameters import whole
from noppa.search.index_graph import check_graph

KIND = "index"
EXACT = 100_000
BLOCK = 1 << 14
#: Extra candidates that the graph is asked for, since its order is approximate.
MORE = 32

#: Header fields for the encoder that made the vectors (see `index_model`).
MODEL, CHECKSUM = "model", "seal of model"
FIELDS = {
    f"?{MODEL}": schema.maybe(schema.TEXT),
    f"?{CHECKSUM}": schema.maybe(schema.CHECKSUM),
}
ARRAYS = {"vectors": "f4 texts* dim", "text": "u1 bytes*", "bounds": "i4|i8 texts+1"}

Vectors = NDArray[np.float32]


class Index:
    """Texts with their vectors (texts, dim), scaled to length one; a text without a known word stays a row of zeros.

    exact: whether every row is compared; where None, up to `EXACT` rows are.

    >>> import numpy as np
    >>> Index(["a", "b"], np.eye(2, dtype=np.float32)).search(np.array([[1, 0.1]]), 1)[0]
    array([[0]])
    """

    def __init__(
        self,
        texts: Sequence[str],
        vectors: Vectors,
        exact: bool | None = None,
        graph: NDArray[np.uint8] | None = None,
        header: dict[str, Any] | None = None,
    ) -> None:
        if vectors.ndim != 2 or len(texts) != len(vectors):
            raise ParameterError(
                f"{len(texts)} texts need as many vectors, not an array {vectors.shape}"
            )
        self.texts = texts
        self.vectors = vectors if graph is not None else unit(vectors)
        self.header = header or {}
        self.exact = len(texts) <= EXACT if exact is None else exact
        self._graph_file = graph  # usearch reads from this memory without keeping it alive
        self._graph = None if self.exact else self._make_graph(graph)

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def dim(self) -> int:
        return int(self.vectors.shape[1])

    def search(
        self, queries: NDArray[np.floating], count: int = 10
    ) -> tuple[NDArray[np.int64], Vectors]:
        """The rows nearest to queries (queries, dim): their numbers and cosines, (queries, up to `count`), nearest first."""
        count = min(whole(count, "count", 1), len(self))
        unit_queries = unit(np.asarray(queries, np.float32))
        if unit_queries.ndim != 2 or unit_queries.shape[1] != self.dim:
            raise ParameterError(
                f"queries must be (queries, {self.dim}) as the index is, not {unit_queries.shape}"
            )
        if count == 0 or not len(unit_queries):
            shape = (len(unit_queries), 0)
            return np.empty(shape, np.int64), np.empty(shape, np.float32)
        if self._graph is None:
            return self._search_all(unit_queries, count)
        return self._search_graph(unit_queries, count)

    def _search_all(self, queries: Vectors, count: int) -> tuple[NDArray[np.int64], Vectors]:
        """Exact, in blocks of rows that are merged with the best so far."""
        numbers = np.empty((len(queries), 0), np.int64)
        cosines = np.empty((len(queries), 0), np.float32)
        for start in range(0, len(self), BLOCK):
            block = queries @ self.vectors[start : start + BLOCK].T
            every = np.broadcast_to(np.arange(start, start + block.shape[1]), block.shape)
            numbers, cosines = best(np.hstack([numbers, every]), np.hstack([cosines, block]), count)
        return numbers, cosines

    def _search_graph(self, queries: Vectors, count: int) -> tuple[NDArray[np.int64], Vectors]:
        assert self._graph is not None
        size = min(count + MORE, len(self))
        lists = [np.asarray(self._graph.search(row, size).keys, np.int64) for row in queries]
        fewest = min(map(len, lists))
        candidates = np.stack([row[:fewest] for row in lists])
        cosines = np.einsum("qcd,qd->qc", self.vectors[candidates], queries)
        return best(candidates, cosines, count)

    def _make_graph(self, saved: NDArray[np.uint8] | None) -> Any:
        """A view of the saved graph, or a new one."""
        with needs("search", f"an index of more than {EXACT} texts"):
            from usearch.index import Index as Graph
        if saved is not None:
            return Graph.restore(memoryview(saved), view=True)  # type: ignore[arg-type]
        graph = Graph(ndim=self.dim, metric="ip", dtype="f32")
        graph.add(np.arange(len(self)), np.ascontiguousarray(self.vectors))
        return graph

    # Files

    def save(self, path: str | PathLike[str]) -> None:
        """Write a folder: vectors, texts and, where there is one, the graph beside them."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in self.texts]
        bounds = np.cumsum([0, *map(len, encoded)])
        arrays: dict[str, NDArray[Any]] = {
            "vectors": np.asarray(self.vectors, np.float32),
            "text": np.frombuffer(b"".join(encoded), np.uint8),
            "bounds": bounds,
        }
        if self._graph is not None:
            arrays["graph"] = np.frombuffer(self._graph.save(), np.uint8)
        storage.write_folder(path, KIND, self.header, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Index:
        """A saved index, its vectors and its graph mapped into memory."""
        return storage.consistently(path, cls._read)

    @classmethod
    def _read(cls, path: Path) -> Index:
        folder = storage.read_folder(path, KIND, FIELDS)
        sizes: dict[str, int] = {}
        arrays = folder.read(ARRAYS, sizes)
        schema.check_bounds(arrays["bounds"], len(arrays["text"]), folder.file("bounds"))
        # Always verified, whatever its size: usearch follows the links of a graph without checking them.
        graph = folder.read({"?graph": "u1 graph"}, sizes, verified=storage.EVERY_BYTE)
        folder.check_nothing_else()
        if graph:
            check_graph(graph["graph"], sizes["texts"], sizes["dim"], folder.file("graph"))
        own = {name: folder.header[name] for name in folder.header if name not in storage.COMMON}
        texts = _Texts(arrays["text"], arrays["bounds"])
        return cls(texts, arrays["vectors"], not graph, graph.get("graph"), own)


class _Texts(Sequence[str]):
    """A sequence of texts that decodes each one on access from a mapped file."""

    def __init__(self, text: NDArray[np.uint8], bounds: NDArray[np.int64]) -> None:
        self.text, self.bounds = text, bounds

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        start, stop = self.bounds[at % len(self)], self.bounds[at % len(self) + 1]
        encoded = self.text[start:stop].tobytes()
        try:
            return encoded.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:  # not written by `save`
            return encoded.decode("utf-8", "replace")


def unit(rows: NDArray[np.float32]) -> Vectors:
    """Rows scaled to length one; zero rows stay zero, and an array of unit rows is returned as it is."""
    lengths = np.sqrt(np.einsum("...d,...d->...", rows, rows, dtype=np.float64))
    if np.all((lengths == 0) | (np.abs(lengths - 1) < 1e-6)):
        return np.asarray(rows, np.float32)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1)[..., None], np.float32)


def best(
    numbers: NDArray[np.int64], cosines: Vectors, count: int
) -> tuple[NDArray[np.int64], Vectors]:
    """The `count` largest of each row (rows, many), largest first; of equal ones the smaller number."""
    if cosines.shape[1] > 4 * count:
        # Keep all ties with the smallest result, so that the smaller numbers among them are there.
        edge = -np.partition(-cosines, count - 1, axis=1)[:, count - 1 : count]
        most = int(np.count_nonzero(cosines >= edge, axis=1).max())
        places = np.argpartition(-cosines, most - 1, axis=1)[:, :most]
        numbers = np.take_along_axis(numbers, places, 1)
        cosines = np.take_along_axis(cosines, places, 1)
    order = np.lexsort((numbers, -cosines), axis=1)[:, :count]
    return np.take_along_axis(numbers, order, 1), np.take_along_axis(cosines, order, 1)

"""`Index`: texts that are found by meaning and by words, in memory or in a folder, growing and shrinking."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.display import Displayed, Table, View
from noppa.encoder.models import resolve_model, unit_vectors
from noppa.errors import FileError, InputError, ParameterError
from noppa.io import storage
from noppa.parameters import boolean, one_of, path_of, short_repr, whole
from noppa.search import index_model
from noppa.search.hits import Hits, hits_of
from noppa.search.index_state import Part, State, merged, small_tail
from noppa.search.metadata import checked_ids, checked_metadata
from noppa.search.query import HYBRID, MEANING, MODES, WORDS, Collection, find
from noppa.search.row_table import Row
from noppa.search.segment import Segment
from noppa.search.segment_log import SegmentLog
from noppa.search.stored_vectors import DTYPES, Vectors, stored, unit
from noppa.search.where import Condition, Where, conditions_of
from noppa.threads import thread_count
from noppa.words.texts import texts_of


class Index(Displayed):
    """Texts with ids and metadata, found by meaning, by words, or by both.

    model: an `Encoder`, anything else with `encode`, or the name or folder of a saved one; None for the embedded preset
        "similarity". dtype: how vectors are stored: "float32", "float16" or "int8".
    first_id: the first of the ids that `add` gives by itself. threads: for encoding and searching.

    This one is in memory; `Index.open(folder)` is one on disk.

    >>> import noppa
    >>> index = noppa.Index()
    >>> index.add(["the food was cold", "a train to Paris"], metadata=[{"year": 2021}, {"year": 2019}])
    ['0', '1']
    >>> index.search("a chilly meal", n=1)[0].text
    'the food was cold'
    >>> index.search("a chilly meal", where={"year": {"<": 2020}}).ids
    ['1']
    """

    def __init__(
        self,
        model: Any = None,
        *,
        dtype: str = "float16",
        first_id: int = 0,
        threads: int | None = None,
    ) -> None:
        self._encoder = resolve_model(model)
        self.dtype: str = one_of(dtype, "dtype", tuple(DTYPES))
        self.dim = int(self._encoder.dim)
        self.threads = threads
        self._log: SegmentLog | None = None
        self._state = State(next_id=whole(first_id, "first_id"))
        self._lock = threading.RLock()

    @classmethod
    def open(
        cls,
        folder: str | PathLike[str],
        model: Any = None,
        *,
        dtype: str | None = None,
        create: bool = True,
        first_id: int = 0,
        threads: int | None = None,
    ) -> Index:
        """The index in a folder, which is made where there is none.

        What `add`, `delete`, `update` and `compact` did is on disk when they return, all of it or, after a crash, nothing.
        Any number of processes may read; while one writes, another waits some seconds and is refused then.
        model: needed where the index's own cannot be found by its name; another one is refused.
        create: False to refuse a folder that is not there.
        """
        path = path_of(folder)
        if not _is_there(path, create):
            return cls._made(path, resolve_model(model), dtype or "float16", first_id, threads)
        log = SegmentLog(path)
        state = log.read()
        found = index_model.encoder_of(log.header, path, model)
        if dtype not in (None, log.header["dtype"]):
            raise ParameterError(f"{path} holds {log.header['dtype']} vectors, not {dtype}")
        return cls._opened(log, state, found, threads)

    @classmethod
    def open_stored(cls, folder: str | PathLike[str]) -> Index:
        """The index in a folder without its encoder, for what needs none: `delete`, `get`, `described`."""
        path = path_of(folder)
        _is_there(path, create=False)
        log = SegmentLog(path)
        return cls._opened(log, log.read(), None, None)

    @classmethod
    def _made(
        cls, path: Path, encoder: Any, dtype: str, first_id: int, threads: int | None
    ) -> Index:
        fixed = {
            **index_model.fields_of(encoder),
            "dim": int(encoder.dim),
            "dtype": one_of(dtype, "dtype", tuple(DTYPES)),
        }
        log = SegmentLog(path, fixed)
        state = log.create(State(next_id=whole(first_id, "first_id")))
        return cls._opened(log, state, encoder, threads)

    @classmethod
    def _opened(cls, log: SegmentLog, state: State, encoder: Any, threads: int | None) -> Index:
        index = cls.__new__(cls)
        index._encoder, index.threads, index._lock = encoder, threads, threading.RLock()
        index._log, index._state = log, state
        index.dim, index.dtype = log.header["dim"], log.header["dtype"]
        return index

    @property
    def encoder(self) -> Any:
        """What makes vectors of texts and queries."""
        if self._encoder is None:
            raise ParameterError(
                f"{self.folder} was opened without its encoder: open it with noppa.Index.open"
            )
        return self._encoder

    @property
    def folder(self) -> Path | None:
        """Where the index lies, None in memory."""
        return None if self._log is None else self._log.folder

    def __len__(self) -> int:
        return len(self._now())

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and bool(self._now().located([id]))

    def __repr__(self) -> str:
        where = "in memory" if self._log is None else f"in {self._log.folder}"
        return f"Index({len(self)} texts of {self.dim} dimensions, {self.dtype}, {where})"

    def _view(self) -> View:
        facts = [("texts", f"{len(self):,}"), ("dimensions", self.dim), ("stored as", self.dtype)]
        where = "memory" if self._log is None else str(self._log.folder)
        return View(
            "Index", [Table(["", ""], [*facts, ("in", where), ("encoder", repr(self._encoder))])]
        )

    # Changing

    def add(
        self,
        texts: Any,
        ids: Any = None,
        metadata: Sequence[Mapping[str, Any] | None] | None = None,
        *,
        vectors: NDArray[Any] | None = None,
    ) -> list[str]:
        """Add texts, all of them or, after an error, none; gives their ids.

        ids: one each, a str or a whole number, not in the index yet; running numbers where None.
        metadata: a dict each, of texts, numbers, booleans and dates. vectors: (texts, dim), where they are known already.
        """
        items = _texts(texts)
        named = None if ids is None else checked_ids(ids, len(items))
        facts = checked_metadata(metadata, len(items))
        rows = self._vectors(items, vectors)
        if not items:
            return []
        with self._writing() as state:
            next_id = state.next_id + len(items)
            if named is None:
                named, next_id = state.new_ids(len(items))
            elif there := state.located(named):
                raise ParameterError(
                    f"the id {min(there)!r} is in the index already: use update, or another id"
                )
            made = Segment.made(
                list(map(Row, named, items, facts)),
                stored(rows, self.dtype),
                index_model.split_of(self.encoder),
            )
            self._commit(State((*state.parts, Part(made)), next_id))
            self._merge_small()
        return named

    def delete(self, ids: Any) -> None:
        """Delete texts by their ids; where one of them is unknown, none is."""
        named = checked_ids(ids)
        with self._writing() as state:
            self._commit(state.without(named))

    def update(
        self,
        ids: Any,
        texts: Any = None,
        metadata: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> None:
        """Replace the texts of some ids, their metadata, or both; what is None stays. Other searches see all or nothing."""
        named = checked_ids(ids)
        items = None if texts is None else _texts(texts)
        if items is not None and len(items) != len(named):
            raise InputError(f"{len(named)} ids need as many texts, not {len(items)}")
        facts = None if metadata is None else checked_metadata(metadata, len(named))
        with self._writing() as state:
            old = state.rows(named)
            items = [row.text for row in old] if items is None else items
            facts = [row.metadata for row in old] if facts is None else facts
            vectors = stored(self._vectors(items, None), self.dtype)
            made = Segment.made(
                list(map(Row, named, items, facts)), vectors, index_model.split_of(self.encoder)
            )
            self._commit(State((*state.without(named).parts, Part(made)), state.next_id))
            self._merge_small()

    def compact(self) -> None:
        """Write one segment in place of all, without the deleted rows: the fastest to search."""
        with self._writing() as state:
            if len(state.parts) > 1 or any(part.alive is not None for part in state.parts):
                self._commit(
                    State(merged(state.parts, index_model.split_of(self.encoder)), state.next_id)
                )

    def _merge_small(self) -> None:
        """Keep the number of segments small."""
        parts = self._state.parts
        start = small_tail([len(part.segment) for part in parts])
        if start < len(parts):
            self._commit(
                State(
                    (*parts[:start], *merged(parts[start:], index_model.split_of(self.encoder))),
                    self._state.next_id,
                )
            )

    def _vectors(self, texts: list[str], given: NDArray[Any] | None) -> Vectors:
        if given is None:
            if not texts:
                return np.empty((0, self.dim), np.float32)
            rows = unit_vectors(self.encoder, texts, self.threads)
        else:
            rows = np.asarray(given)
        if rows.shape != (len(texts), self.dim) or rows.dtype.kind != "f":
            raise ParameterError(
                f"{len(texts)} texts need vectors ({len(texts)}, {self.dim}), not {rows.dtype} {rows.shape}"
            )
        if not np.isfinite(rows).all():
            raise ParameterError("vectors must be finite")
        return rows if given is None else unit(rows)

    @contextmanager
    def _writing(self) -> Iterator[State]:
        """The newest state, which nobody else can change meanwhile."""
        with self._lock:
            if self._log is None:
                yield self._state
            else:
                with self._log.writing():
                    yield self._now()

    def _commit(self, state: State) -> None:
        self._state = state if self._log is None else self._log.commit(state)

    def _now(self) -> State:
        """The newest commit, of this process or of another."""
        if self._log is not None:
            with self._lock:
                self._state = self._log.refreshed(self._state)
        return self._state

    # Finding

    def search(
        self,
        query: Any,
        n: int = 10,
        where: Where | None = None,
        mode: str = HYBRID,
        *,
        exact: bool = False,
    ) -> Any:
        """The `n` best texts for a query, best first, of equal ones the one that was added first: `Hits`; of several, a list.

        where: what the metadata must be, as `{"lang": "en", "year": {">": 2020}}`; operators: = != < <= > >= in contains
            missing. mode: "meaning" compares vectors, "words" counts the query's words (BM25), "hybrid" adds words
            where the meaning is not sure, and compares the first hits word by word.
        exact: compare every text also by meaning in an index of several hundred thousand, where otherwise a few are missed;
            "hybrid" and a search with `where` always do.
        """
        queries = _texts(query)
        count = whole(n, "n", 1)
        one_of(mode, "mode", MODES)
        conditions = conditions_of(where)
        every = boolean(exact, "exact") or bool(conditions)
        state = self._now()
        collection = Collection(state, conditions, index_model.split_of(self.encoder))
        threads = thread_count(self.threads)
        vectors, known = self._query_vectors(queries, mode)
        words = index_model.words_of(self.encoder)
        results = []
        for at, text in enumerate(queries):
            vector = vectors[at] if known[at] else None
            answer = find(collection, text, vector, mode, count, every, threads, words)
            hits = hits_of(answer, text, self.encoder, collection.norm)
            note = ""
            if not hits and collection.texts and not collection.count:
                note = _why_none_passes(conditions, state.fields)
            elif not hits:
                note = _why_nothing(collection, text, mode, bool(known[at]))
            results.append(Hits(text, mode, hits, note))
        return results[0] if isinstance(query, str) else results

    def _query_vectors(self, queries: list[str], mode: str) -> tuple[Vectors, NDArray[np.bool_]]:
        if mode == WORDS or not queries:
            return np.empty((0, self.dim), np.float32), np.zeros(len(queries), np.bool_)
        vectors = unit_vectors(self.encoder, queries, self.threads)
        mean = [index_model.has_meaning(self.encoder, query) for query in queries]
        return vectors, vectors.any(axis=1) & np.array(mean)

    def get(self, ids: Any) -> Any:
        """The `Row` of an id, with its text and metadata, or a list of those of several; an unknown id is an error."""
        named = checked_ids(ids)
        rows = self._now().rows(named)
        return rows[0] if isinstance(ids, (str, int, np.integer)) else rows

    def to_dict(self) -> dict[str, Any]:
        """What the index holds, as JSON."""
        state = self._now()
        parts = state.parts
        facts = {
            "texts": len(state),
            "deleted": sum(len(part.segment) - part.count for part in parts),
            "segments": len(parts),
            "dim": self.dim,
            "dtype": self.dtype,
            "fields": state.fields,
        }
        if self._log is None:
            return facts
        size = sum(file.stat().st_size for file in self._log.folder.rglob("*") if file.is_file())
        header = self._log.header
        encoder = {name: header[name] for name in index_model.NAMES if name in header}
        return {**facts, **encoder, "bytes": size}


def _is_there(path: Path, create: bool) -> bool:
    """Whether a folder holds an index; raises where it holds something else, or nothing and none is to be made."""
    if not (path / storage.HEADER).exists():
        if not create:
            found = "is no index: make one" if path.exists() else "does not exist: make it"
            raise FileError(f"{path} {found} with noppa index")
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise FileError(f"{path} exists and is no index: choose another name")
        return False
    return True


def _texts(texts: Any) -> list[str]:
    return [texts] if isinstance(texts, str) else texts_of(texts)


def _why_nothing(collection: Collection, query: str, mode: str, known: bool) -> str:
    if not query.strip():
        return "the query is empty"
    if not collection.texts:
        return "the index is empty"
    if mode == MEANING or (mode == HYBRID and not known):
        return f"no word of {short_repr(query)} is known"
    return f"no text holds a word of {short_repr(query)}"


def _why_none_passes(conditions: Sequence[Condition], fields: list[str]) -> str:
    unknown = next((one.field for one in conditions if one.field not in fields), None)
    if unknown is None:
        return "no text satisfies where"
    there = ", ".join(map(short_repr, fields)) or "none"
    return f"where asks for {short_repr(unknown)}, which no text has: the fields are {there}"

"""`Index`: texts that are found by meaning and by words, in memory or in a folder; texts can be added and deleted."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from os import PathLike
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.encoder.encoder import Encoder
from noppa.encoder.models import Model, resolve_model, unit_rows, unit_vectors
from noppa.errors import FileError, InputError, ParameterError
from noppa.io import storage
from noppa.parameters import boolean, one_of, path_of, short_repr, whole
from noppa.search.hits import HYBRID, MEANING, MODES, WORDS, Collection, Hits, find_hits
from noppa.search.rows import Row, checked_ids, checked_metadata
from noppa.search.segment import Part, Segment, State, merge
from noppa.search.storage import ENCODER_NAMES, IndexStorage, encoder_fields, open_encoder
from noppa.search.vectors import DTYPES, Vectors, to_stored
from noppa.search.where import Where, parse_where
from noppa.text.tokenizer import Split
from noppa.threads import thread_count
from noppa.words.texts import texts_of
from noppa.words.word_vectors import WordVectors

#: Letters per piece of a word, on average, above which the pieces have a meaning: 1 % of random strings have more, and 70 % of
#: the words in English text that are not known as a whole.
LETTERS_PER_PIECE = 2.5

#: One id or several.
Ids = str | int | Iterable[str | int]


class Index:
    """Texts with ids and metadata that can be searched by meaning, by words, or by both.

    `Index()` is in memory; `Index.open(folder)` is on disk.

    Args:
        model: A preset's name, a path, an `Encoder` or any object with `encode`; None for the preset "similarity".
        dtype: How vectors are stored: "float32", "float16" or "int8".
        first_id: The first of the ids that `add` generates.
        threads: For encoding and searching.

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
        model: Model | None = None,
        *,
        dtype: str = "float16",
        first_id: int = 0,
        threads: int | None = None,
    ) -> None:
        encoder = resolve_model(model)
        one_of(dtype, "dtype", tuple(DTYPES))
        state = State(next_id=whole(first_id, "first_id"))
        self._set(encoder, state, {"dim": int(encoder.dim), "dtype": dtype}, threads)

    def _set(
        self,
        encoder: Any,
        state: State,
        header: Mapping[str, Any],
        threads: int | None,
        stored: IndexStorage | None = None,
    ) -> Index:
        self._encoder, self._state, self._storage = encoder, state, stored
        self.dim: int = header["dim"]
        self.dtype: str = header["dtype"]
        self.threads = threads
        self._words: WordVectors | None = encoder.words if isinstance(encoder, Encoder) else None
        self._lock = threading.RLock()
        return self

    @classmethod
    def open(
        cls,
        folder: str | PathLike[str],
        model: Model | None = None,
        *,
        dtype: str | None = None,
        create: bool = True,
        first_id: int = 0,
        threads: int | None = None,
    ) -> Index:
        """Open the index in a folder, or create it.

        When `add`, `delete`, `update` or `compact` returns, its changes are on disk; after a crash, either all or none of them
        are. Any number of processes may read. While one writes, another writer waits some seconds, and then fails.

        Args:
            folder: The folder of the index.
            model: For a new index, as in `Index`. An existing index loads its own model by name; give the model only if
                that fails. A different model is an error.
            dtype: How vectors are stored; None for "float16", or for that of the existing index.
            create: False to fail if there is no index.
            first_id: The first of the ids that `add` generates in a new index.
            threads: For encoding and searching.
        """
        path = path_of(folder)
        if not _is_index(path, create):
            encoder = resolve_model(model)
            dtype = one_of(dtype or "float16", "dtype", tuple(DTYPES))
            header = {**encoder_fields(encoder), "dim": int(encoder.dim), "dtype": dtype}
            stored = IndexStorage(path, header)
            state = stored.create(State(next_id=whole(first_id, "first_id")))
        else:
            stored = IndexStorage(path)
            state = stored.read()
            encoder = open_encoder(stored.header, path, model)
            if dtype not in (None, stored.header["dtype"]):
                raise ParameterError(f"{path} holds {stored.header['dtype']} vectors, not {dtype}")
        return cls.__new__(cls)._set(encoder, state, stored.header, threads, stored)

    @classmethod
    def open_without_encoder(cls, folder: str | PathLike[str]) -> Index:
        """Open an index for operations that need no encoder: `delete`, `get` and `to_dict`."""
        path = path_of(folder)
        _is_index(path, create=False)
        stored = IndexStorage(path)
        return cls.__new__(cls)._set(None, stored.read(), stored.header, None, stored)

    @property
    def encoder(self) -> Any:
        """The encoder of texts and queries."""
        if self._encoder is None:
            raise ParameterError(
                f"{self.folder} was opened without its encoder", "open it with noppa.Index.open"
            )
        return self._encoder

    @property
    def _split(self) -> Split:
        """The tokenizer that finds the terms of texts and queries."""
        has_words = isinstance(self.encoder, Encoder)
        return self.encoder.words.lexicon.tokens if has_words else kernels.tokenize

    @property
    def folder(self) -> Path | None:
        """The folder of the index, None in memory."""
        return None if self._storage is None else self._storage.folder

    def __len__(self) -> int:
        return self._current().count

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and bool(self._current().locate([id]))

    def __repr__(self) -> str:
        location = "in memory" if self.folder is None else f"in {self.folder}"
        return f"Index({len(self)} texts of {self.dim} dimensions, {self.dtype}, {location})"

    # Changing

    def add(
        self,
        texts: str | Iterable[str],
        ids: Ids | None = None,
        metadata: Sequence[Mapping[str, Any] | None] | None = None,
        *,
        vectors: NDArray[Any] | None = None,
    ) -> list[str]:
        """Add texts and return their ids; after an error, none was added.

        Args:
            texts: The texts.
            ids: One string or integer per text that is not in the index yet; None for consecutive numbers.
            metadata: One dict per text, of strings, numbers, booleans and dates.
            vectors: The vectors (texts, dim), if they are known already.
        """
        items = _as_list(texts)
        names = None if ids is None else checked_ids(ids, len(items))
        facts = checked_metadata(metadata, len(items))
        rows = self._vectors(items, vectors)
        if not items:
            return []
        with self._writing() as state:
            next_id = state.next_id + len(items)
            if names is None:
                names, next_id = state.new_ids(len(items))
            elif taken := state.locate(names):
                raise ParameterError(
                    f"the id {min(taken)!r} is already in the index", "use update, or another id"
                )
            self._append(state.parts, next_id, names, items, facts, rows)
        return names

    def delete(self, ids: Ids) -> None:
        """Delete texts by their ids; if one of them is unknown, none is deleted."""
        names = checked_ids(ids)
        with self._writing() as state:
            self._commit(state.without(names))

    def update(
        self,
        ids: Ids,
        texts: str | Iterable[str] | None = None,
        metadata: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> None:
        """Replace the texts of ids, their metadata, or both; None keeps them. Searches see all of the change or nothing."""
        names = checked_ids(ids)
        items = None if texts is None else _as_list(texts)
        if items is not None and len(items) != len(names):
            raise InputError(f"there are {len(names)} ids and {len(items)} texts")
        facts = None if metadata is None else checked_metadata(metadata, len(names))
        with self._writing() as state:
            old = state.rows(names)
            items = [row.text for row in old] if items is None else items
            facts = [row.metadata for row in old] if facts is None else facts
            rows = self._vectors(items, None)
            self._append(state.without(names).parts, state.next_id, names, items, facts, rows)

    def compact(self) -> None:
        """Merge all segments into one without the deleted rows, which is the fastest to search."""
        split = self._split
        with self._writing() as state:
            if len(state.parts) > 1 or any(part.alive is not None for part in state.parts):
                self._commit(State(merge(state.parts, split), state.next_id))

    def _append(
        self,
        parts: tuple[Part, ...],
        next_id: int,
        ids: list[str],
        texts: list[str],
        metadata: list[dict[str, Any]],
        vectors: Vectors,
    ) -> None:
        """Commit a new segment after some parts, and merge small segments so that there are never many."""
        rows = list(map(Row, ids, texts, metadata))
        segment = Segment.from_rows(rows, to_stored(vectors, self.dtype), self._split)
        self._commit(State((*parts, Part(segment)), next_id))
        merged = self._state.with_small_merged(self._split)
        if merged is not None:
            self._commit(merged)

    def _vectors(self, texts: list[str], given: NDArray[Any] | None) -> Vectors:
        if given is None and not texts:
            return np.empty((0, self.dim), np.float32)
        encoded = given is None
        rows = unit_vectors(self.encoder, texts, self.threads) if encoded else np.asarray(given)
        if rows.shape != (len(texts), self.dim) or rows.dtype.kind != "f":
            raise ParameterError(
                f"{len(texts)} texts need vectors ({len(texts)}, {self.dim}), not {rows.dtype} {rows.shape}"
            )
        if not np.isfinite(rows).all():
            raise ParameterError("vectors must be finite")
        return rows if encoded else unit_rows(np.asarray(rows, np.float32))

    @contextmanager
    def _writing(self) -> Iterator[State]:
        """Hold the writer lock and yield the newest state."""
        with self._lock, nullcontext() if self._storage is None else self._storage.lock():
            yield self._current()

    def _commit(self, state: State) -> None:
        self._state = state if self._storage is None else self._storage.commit(state)

    def _current(self) -> State:
        """Return the newest commit, of this process or of another."""
        if self._storage is not None:
            with self._lock:
                self._state = self._storage.refresh(self._state)
        return self._state

    # Searching

    @overload
    def search(  # type: ignore[overload-overlap]  # a str is an Iterable[str], too
        self,
        query: str,
        n: int = 10,
        where: Where | None = None,
        mode: str = HYBRID,
        *,
        exact: bool = False,
    ) -> Hits: ...
    @overload
    def search(
        self,
        query: Iterable[str],
        n: int = 10,
        where: Where | None = None,
        mode: str = HYBRID,
        *,
        exact: bool = False,
    ) -> list[Hits]: ...
    def search(
        self,
        query: str | Iterable[str],
        n: int = 10,
        where: Where | None = None,
        mode: str = HYBRID,
        *,
        exact: bool = False,
    ) -> Hits | list[Hits]:
        """Return the n best texts for a query, best first; for several queries, a list of results.

        Texts with equal scores are in the order in which they were added.

        Args:
            query: A query, or several.
            n: How many hits to return.
            where: What the metadata must be, such as `{"lang": "en", "year": {">": 2020}}`. The operators are = != < <= > >=
                in contains missing.
            mode: "meaning" compares vectors, "words" counts the words of the query (BM25), and "hybrid" adds words if the
                meaning is uncertain, and compares the first hits word by word.
            exact: Compare every text by meaning too. Otherwise a search by meaning in several hundred thousand texts
                misses a few; "hybrid" and a search with `where` never do.
        """
        queries = _as_list(query)
        count = whole(n, "n", 1)
        one_of(mode, "mode", MODES)
        conditions = parse_where(where)
        every = boolean(exact, "exact") or bool(conditions)
        encoder, split = self.encoder, self._split
        collection = Collection(self._current(), conditions, split)
        threads = thread_count(self.threads)
        vectors = None
        if mode != WORDS and queries:
            vectors = unit_vectors(encoder, queries, self.threads)
        results = []
        for number, text in enumerate(queries):
            tokens, vector = list(split(text)), None
            if vectors is not None and vectors[number].any() and self._has_meaning(tokens):
                vector = vectors[number]
            hits = find_hits(
                collection, text, tokens, vector, mode, count, every, threads, self._words, encoder
            )
            note = "" if hits else self._why_nothing(collection, where, text, mode, vector)
            results.append(Hits(text, mode, hits, note))
        return results[0] if isinstance(query, str) else results

    def _has_meaning(self, tokens: list[str]) -> bool:
        """Return whether a token is known as a whole, or by long pieces: single letters can mean anything."""
        words = self._words
        if words is None or not words.pieces:
            return True
        if (words.lexicon.known.look_up_tokens([tokens])[0] >= 0).any():
            return True
        _, bounds = words.lexicon.vocabulary.look_up_tokens([[token] for token in tokens])
        pieces = np.diff(bounds)
        letters = np.array([len(token) for token in tokens])
        return bool((letters > LETTERS_PER_PIECE * pieces)[pieces > 0].any())

    def _why_nothing(
        self,
        collection: Collection,
        where: Where | None,
        query: str,
        mode: str,
        vector: Vectors | None,
    ) -> str:
        """Return the reason why a search has no hits."""
        if collection.state.count and not collection.count:
            fields = collection.state.fields
            unknown = next((field for field in where or () if field not in fields), None)
            if unknown is None:
                return "no text satisfies where"
            known = ", ".join(map(short_repr, fields)) or "none"
            return f"no text has the field {short_repr(unknown)} of where: the fields are {known}"
        if not query.strip():
            return "the query is empty"
        if not collection.state.count:
            return "the index is empty"
        if mode == MEANING or (mode == HYBRID and vector is None):
            return f"no word of {short_repr(query)} is known"
        return f"no text contains a word of {short_repr(query)}"

    @overload
    def get(self, ids: str | int) -> Row: ...  # type: ignore[overload-overlap]
    @overload
    def get(self, ids: Iterable[str | int]) -> list[Row]: ...
    def get(self, ids: Ids) -> Row | list[Row]:
        """Return the `Row` of an id, with its text and metadata, or a list of rows; an unknown id is an error."""
        rows = self._current().rows(checked_ids(ids))
        return rows[0] if isinstance(ids, (str, int, np.integer)) else rows

    def to_dict(self) -> dict[str, Any]:
        """Return a summary of the index as plain data."""
        state = self._current()
        facts = {
            "texts": state.count,
            "deleted": int(state.starts[-1]) - state.count,
            "segments": len(state.parts),
            "dim": self.dim,
            "dtype": self.dtype,
            "fields": state.fields,
        }
        if self._storage is not None:
            header, files = self._storage.header, self._storage.folder.rglob("*")
            facts |= {name: header[name] for name in ENCODER_NAMES if name in header}
            facts["bytes"] = sum(file.stat().st_size for file in files if file.is_file())
        return facts


def _is_index(path: Path, create: bool) -> bool:
    """Return whether a folder holds an index; raise if it holds something else, or if no index may be created."""
    if (path / storage.HEADER).exists():
        return True
    if not create:
        raise FileError(f"{path} {'is not an index' if path.exists() else 'does not exist'}")
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FileError(f"{path} exists and is not an index", "choose another name")
    return False


def _as_list(texts: str | Iterable[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else texts_of(texts)

"""Sessions of the page: a browser's lines, kept under a signed cookie, bounded in number, size and age."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request

from noppa import Encoder
from noppa.serve.line_store import LineStore, Name, mark_of
from noppa.serve.metrics import Metrics
from noppa.serve.problems import Problem, busy
from noppa.serve.served_models import Models, Watch
from noppa.serve.settings import Settings

COOKIE = "noppa_lines"
#: Bytes of lines and cached vectors of all sessions; beyond it the least recently used go, vectors before lines.
MOST_BYTES = 512 << 20
#: Jobs at a time that hold the vectors of all lines of a session.
LARGE_JOBS = 2
#: With fewer lines than this, methods are fitted on the example sentences.
FITTED = 50
MOST_CACHED = 3
#: Lines that are encoded between two reports of progress.
ENCODED_LINES = 1024


class Session:
    """One browser's lines, and their vectors by encoder."""

    def __init__(self, token: str, lines: Sequence[str] = ()) -> None:
        self.token, self.lines = token, list(lines)
        self.id = secrets.token_hex(8)
        self.used = time.monotonic()
        self._text_bytes = sum(map(sys.getsizeof, self.lines))
        self._vectors: OrderedDict[Any, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def own(self) -> bool:
        """Whether methods are fitted on these lines."""
        return len(self.lines) >= FITTED

    @property
    def corpus(self) -> tuple[Sequence[str] | None, str]:
        return (self.lines, self.id) if self.own else (None, "")

    @property
    def size(self) -> int:
        return self._text_bytes + sum(rows.nbytes for rows in [*self._vectors.values()])

    def forget_vectors(self) -> int:
        """Drop the cached vectors, which can be computed again; the bytes that this frees."""
        before = self.size
        with self._lock:
            self._vectors.clear()
        return before - self.size

    def needed(self) -> Session:
        """This session, or 404 where it has no lines."""
        if not self.lines:
            raise Problem(
                404,
                "there are no lines here: send them as lines, or to POST /lines first",
                param="lines",
                code="lines_not_found",
            )
        return self

    def vectors(
        self,
        models: Models,
        encoder: Encoder,
        key: Any,
        watch: Watch,
        threads: int,
        done: Callable[[int], None] = lambda lines: None,
    ) -> NDArray[np.float32]:
        """Vectors of the lines, of length one, (lines, dim); done: is told, now and then, how many there are."""
        with self._lock:
            if key in self._vectors:
                self._vectors.move_to_end(key)
                done(len(self.lines))
                return self._vectors[key]
        rows = np.empty((len(self.lines), encoder.dim), np.float32)
        for start in range(0, len(self.lines), ENCODED_LINES):
            block = self.lines[start : start + ENCODED_LINES]
            rows[start : start + len(block)], _ = models.encode(
                encoder, block, watch, threads, "lines", truncate=True
            )
            done(start + len(block))
        with self._lock:
            self._vectors[key] = rows
            while len(self._vectors) > MOST_CACHED:
                self._vectors.popitem(last=False)
        return rows


class Sessions:
    """The sessions by cookie: in memory, and behind them, where there are several processes, in the store they share."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self.settings, self.metrics = settings, metrics
        self.store = None if settings.lines_folder is None else LineStore(
            Path(settings.lines_folder), settings.max_sessions, MOST_BYTES, settings.line_seconds
        )  # fmt: skip
        self._key = settings.session_key.encode()
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._large = threading.Semaphore(LARGE_JOBS)
        # One at a time: lines take several times their bytes while they are read or written.
        self._disk = ThreadPoolExecutor(1, "lines")

    def close(self) -> None:
        self._disk.shutdown(wait=True)

    async def of(self, request: Request) -> Session:
        """The session of a request; an empty one where there is none."""
        self.forget()
        token = request.cookies.get(COOKIE, "")
        if self.store is not None:
            await self._fetch(self.store, token)
        session = self._sessions.get(token)
        if session is None:
            return Session("")
        session.used = time.monotonic()
        self._sessions.move_to_end(token)
        return session

    async def _fetch(self, store: LineStore, token: str) -> None:
        """Make what is in memory what is in the store, where another worker may have put or dropped it."""
        name = self._name(token)
        if name is None or not store.has(name):
            self._sessions.pop(token, None)
        elif token not in self._sessions:
            lines = await asyncio.get_running_loop().run_in_executor(self._disk, store.read, name)
            self._add(Session(token, lines))

    async def keep(self, request: Request, lines: list[str]) -> Session:
        """Store a browser's lines in place of its earlier ones.

        The cookie is the browser's secret and a hash of its lines, signed. The hash is there for other workers: one
        that still has the earlier lines does not serve them under the new cookie.
        """
        if self.store is None and self.settings.processes > 1:
            raise busy(
                "lines cannot be kept: this server has several processes and no temporary folder that they share",
                code="no_room",
            )
        known = self._name(request.cookies.get(COOKIE, ""))
        secret = secrets.token_urlsafe(32) if known is None else known.secret
        loop = asyncio.get_running_loop()
        name = Name(secret, await loop.run_in_executor(self._disk, mark_of, lines))
        if self.store is not None:
            await loop.run_in_executor(self._disk, self.store.write, name, lines)
        self._drop(secret)
        session = Session(self._signed(name), lines)
        self._add(session)
        return session

    def _add(self, session: Session) -> None:
        self._sessions[session.token] = session
        self.forget()
        asyncio.get_running_loop().call_later(self.settings.line_seconds + 1, self.forget)

    @contextmanager
    def large(self, watch: Watch) -> Iterator[None]:
        """Wait, in the thread of a job, for one of the `LARGE_JOBS` places."""
        while not self._large.acquire(timeout=0.05):
            watch.check()
        try:
            yield
        finally:
            self._large.release()

    def drop(self, request: Request) -> None:
        name = self._name(request.cookies.get(COOKIE, ""))
        if name is None:
            return
        if self.store is not None:
            self.store.drop(name.secret)
        self._drop(name.secret)
        self.forget()

    def _drop(self, secret: str) -> None:
        for token in [token for token in self._sessions if token.startswith(f"{secret}.")]:
            del self._sessions[token]

    def _signed(self, name: Name) -> str:
        token = ".".join(name)
        return f"{token}.{hmac.new(self._key, token.encode(), 'sha256').hexdigest()[:32]}"

    def _name(self, token: str) -> Name | None:
        """What a cookie that this server signed names; None for others, whose secret an attacker may have chosen."""
        secret, _, rest = token.partition(".")
        name = Name(secret, rest.partition(".")[0])
        return name if hmac.compare_digest(token.encode(), self._signed(name).encode()) else None

    def forget(self) -> None:
        """Evict sessions that are too old, too many or too large."""
        oldest = time.monotonic() - self.settings.line_seconds
        sessions = [*self._sessions.values()]
        total = sum(session.size for session in sessions)
        for session in sessions:
            if total <= MOST_BYTES:
                break
            total -= session.forget_vectors()
        for at, session in enumerate(sessions):
            left = len(sessions) - at
            many = left > self.settings.max_sessions or (total > MOST_BYTES and left > 1)
            if session.used >= oldest and not many:
                break
            total -= session.size
            del self._sessions[session.token]
        self.metrics.gauge("sessions", len(self._sessions))

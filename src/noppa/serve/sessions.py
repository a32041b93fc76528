"""Lines that browsers leave with the page: in memory alone, by a signed cookie, bounded and forgotten in time."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import secrets
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request

from noppa import Encoder
from noppa.serve.metrics import Metrics
from noppa.serve.problems import Problem
from noppa.serve.served_models import Models, Watch
from noppa.serve.settings import Settings

COOKIE = "noppa_lines"
#: All lines and vectors of all browsers; the longest unused go first, and vectors before lines.
MOST_BYTES = 512 << 20
#: Jobs over all lines of a browser that hold all their vectors at a time.
LARGE_JOBS = 2
#: Fewer lines than this say too little to fit a method on.
FITTED = 50
KEPT_VECTORS = 3


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
        """Bytes given back; a line's vector can be made again."""
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
        self, models: Models, encoder: Encoder, key: Any, watch: Watch, threads: int
    ) -> NDArray[np.float32]:
        """Vectors of the lines, of length one, (lines, dim)."""
        with self._lock:
            if key in self._vectors:
                self._vectors.move_to_end(key)
                return self._vectors[key]
        rows, _ = models.encode(encoder, self.lines, watch, threads, "lines", truncate=True)
        with self._lock:
            self._vectors[key] = rows
            while len(self._vectors) > KEPT_VECTORS:
                self._vectors.popitem(last=False)
        return rows


class Sessions:
    """Every browser's lines by its cookie."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self.settings, self.metrics = settings, metrics
        self._key = settings.session_key.encode()
        self._kept: OrderedDict[str, Session] = OrderedDict()
        self._large = threading.Semaphore(LARGE_JOBS)

    def of(self, request: Request) -> Session:
        """The session of a request; an empty one where there is none."""
        self.forget()
        token = request.cookies.get(COOKIE, "")
        session = self._kept.get(token)
        if session is None:
            return Session("")
        session.used = time.monotonic()
        self._kept.move_to_end(token)
        return session

    def keep(self, request: Request, lines: list[str]) -> Session:
        """A browser's lines in place of those it left before.

        The token is the browser's secret and a mark of its lines, signed: another process of this server, which may
        still have those that it left before, does not take them for these.
        """
        self.drop(request)
        secret = self._secret(request) or secrets.token_urlsafe(32)
        mark = hashlib.sha256(json.dumps(lines).encode()).hexdigest()[:16]
        session = Session(self._signed(secret, mark), lines)
        self._kept[session.token] = session
        self.forget()
        asyncio.get_running_loop().call_later(self.settings.line_seconds + 1, self.forget)
        return session

    @contextmanager
    def large(self, watch: Watch) -> Iterator[None]:
        """Wait, in the thread of a job, until few others hold so many vectors."""
        while not self._large.acquire(timeout=0.05):
            watch.check()
        try:
            yield
        finally:
            self._large.release()

    def drop(self, request: Request) -> None:
        secret = self._secret(request)
        for token in [token for token in self._kept if token.startswith(f"{secret}.")]:
            del self._kept[token]
        self.forget()

    def _signed(self, secret: str, mark: str) -> str:
        token = f"{secret}.{mark}"
        return f"{token}.{hmac.new(self._key, token.encode(), 'sha256').hexdigest()[:32]}"

    def _secret(self, request: Request) -> str | None:
        """The secret in a cookie that this server signed; any other may be one that somebody else chose and knows."""
        token = request.cookies.get(COOKIE, "")
        secret, _, rest = token.partition(".")
        signed = self._signed(secret, rest.partition(".")[0])
        return secret if hmac.compare_digest(token.encode(), signed.encode()) else None

    def forget(self) -> None:
        """Let go of what is too old or too much."""
        oldest = time.monotonic() - self.settings.line_seconds
        sessions = [*self._kept.values()]
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
            del self._kept[session.token]
        self.metrics.gauge("sessions", len(self._kept))

"""State that all requests of a worker share: a bounded queue in front of the threads, and a limit on memory."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from noppa.methods.k_means import interrupt
from noppa.serve import monitoring
from noppa.serve.errors import ClientDisconnected, busy, too_large
from noppa.serve.models import Counts
from noppa.serve.routing import encode_json
from noppa.serve.settings import Settings

T = TypeVar("T")

#: Up to this many texts and characters, encoding takes less time than handing it to a thread (bench/server.py).
SMALL_TEXTS, SMALL_CHARACTERS = 32, 600


class MemoryBudget:
    """The bytes that all requests of a worker hold, and their limit."""

    def __init__(self, limit: int) -> None:
        self.limit, self.held = limit, 0
        self._lock = threading.Lock()

    def reserve(self, size: int, param: str | None = None) -> None:
        with self._lock:
            if size > self.limit:
                raise too_large(
                    f"this request needs {size} bytes of memory and this server allows {self.limit}: send fewer texts "
                    "at a time, or request fewer dimensions",
                    param,
                )
            if self.held + size > self.limit:
                raise busy(
                    f"requests hold {self.held} of the {self.limit} bytes that this server allows: try again later",
                    code="out_of_memory",
                )
            self.held += size
        monitoring.held_bytes.set(self.held)

    def release(self, size: int) -> None:
        with self._lock:
            self.held -= size
        monitoring.held_bytes.set(self.held)


@dataclass
class RequestContext:
    """Facts about one request that its handler records for the middleware."""

    id: str
    memory: MemoryBudget
    route: str = "other"
    warnings: list[str] = field(default_factory=list)
    counts: Counts | None = None
    held: int = 0

    def reserve(self, size: int, param: str | None = None) -> None:
        """Hold at least `size` bytes until the answer is sent."""
        if size > self.held:
            self.memory.reserve(size - self.held, param)
            self.held = size

    def release(self) -> None:
        if self.held:
            self.memory.release(self.held)
            self.held = 0


@dataclass(frozen=True)
class Task:
    """The work on a request: how many threads it may use, its memory, and the check that stops it."""

    context: RequestContext
    threads: int
    deadline: float
    disconnected: Callable[[], bool]

    def check(self) -> None:
        """Raise if the client has disconnected or the time is up."""
        if self.disconnected():
            raise ClientDisconnected
        if time.monotonic() > self.deadline:
            raise busy(
                "the request took longer than this server allows: send fewer or shorter texts",
                code="request_timeout",
            )

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Make long loops inside a method's fit or an index's search call `check` too."""
        token = interrupt.set(self.check)
        try:
            yield
        finally:
            interrupt.reset(token)


class Service:
    """The threads, the queue and the memory budget of a worker."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.memory = MemoryBudget(settings.max_memory)
        self.threads = settings.threads
        self._slots = asyncio.Semaphore(self.threads)
        self._pool = ThreadPoolExecutor(self.threads, "encode")
        self._waiting = self._running = 0

    def close(self) -> None:
        self._pool.shutdown(wait=True)

    async def run(
        self, request: Request, job: Callable[[Task], T], texts: list[str] | None = None
    ) -> T:
        """Run a job in a thread as soon as one is free.

        Args:
            texts: All texts that the job encodes. A few short ones are encoded right here, without a thread.
        """
        deadline = time.monotonic() + self.settings.request_seconds
        context: RequestContext = request.scope["noppa"]
        is_small = texts is not None and len(texts) <= SMALL_TEXTS
        is_small = is_small and sum(map(len, texts or ())) <= SMALL_CHARACTERS
        if is_small and self._running < self.threads:
            with monitoring.encode_seconds.time():
                return job(Task(context, 1, deadline, lambda: False))
        if self._waiting >= self.settings.max_queue:
            raise busy(
                f"{self._waiting} requests are waiting, and this server allows no more: try again later",
                429,
                "queue_full",
            )
        disconnect = asyncio.ensure_future(_wait_for_disconnect(request))
        try:
            async with self._slot():
                task = Task(
                    context, max(1, self.threads // self._running), deadline, disconnect.done
                )
                task.check()
                with monitoring.encode_seconds.time():
                    loop = asyncio.get_running_loop()
                    return await loop.run_in_executor(self._pool, job, task)
        finally:
            disconnect.cancel()

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        """Wait for a free thread, first come, first served."""
        self._count(waiting=1)
        try:
            with monitoring.queue_seconds.time():
                await self._slots.acquire()
        finally:
            self._count(waiting=-1)
        self._count(running=1)
        try:
            yield
        finally:
            self._count(running=-1)
            self._slots.release()

    def _count(self, waiting: int = 0, running: int = 0) -> None:
        self._waiting += waiting
        self._running += running
        monitoring.queue_depth.set(self._waiting)
        monitoring.running.set(self._running)

    async def answer(
        self,
        request: Request,
        job: Callable[[Task], tuple[Any, Counts]],
        texts: list[str] | None = None,
    ) -> Response:
        """Run a job that returns an answer, bytes or a value to write as JSON, and counts of what it encoded."""

        def write(task: Task) -> tuple[bytes, Counts]:
            answer, counts = job(task)
            return answer if isinstance(answer, bytes) else encode_json(answer), counts

        content, counts = await self.run(request, write, texts)
        context: RequestContext = request.scope["noppa"]
        context.counts = counts
        context.warnings += counts.warnings()
        monitoring.inputs.inc(counts.texts)
        monitoring.tokens.inc(counts.tokens)
        monitoring.oov_tokens.inc(counts.unknown)
        monitoring.empty_inputs.inc(len(counts.empty))
        monitoring.batch_size.observe(counts.texts)
        return Response(content, media_type="application/json")


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass

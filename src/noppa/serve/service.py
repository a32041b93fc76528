"""What the routes of a process share: models, queue, memory budget, metrics, thread pools."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from noppa.serve import receive
from noppa.serve.budget import Budget
from noppa.serve.metrics import Metrics
from noppa.serve.served import Served
from noppa.serve.served_models import Counts, Watch
from noppa.serve.sessions import Sessions
from noppa.serve.settings import Settings
from noppa.serve.turns import Turns
from noppa.serve.variants import Variants
from noppa.serve.warning_header import warn

T = TypeVar("T")

#: Up to this many characters in all, texts are encoded on the event loop: a thread would take longer (bench/server.py).
SMALL = 600
FEW = 32


class Service:
    """The state of a server process."""

    def __init__(self, settings: Settings, served: Served, metrics: Metrics) -> None:
        self.settings, self.metrics = settings, metrics
        self.models, self.classifier, self.index = served.models, served.classifier, served.index
        self.turns = Turns(settings.running, settings.queue, metrics)
        self.threads = settings.encoding_threads
        self.variants = Variants(served.models)
        self.sessions = Sessions(settings, metrics)
        self.draining = False
        self.budget = Budget(settings.max_held, metrics)
        self._pool = ThreadPoolExecutor(settings.running, "encode")
        self._parser = ThreadPoolExecutor(1, "parse")

    def close(self) -> None:
        self.sessions.close()
        for pool in (self._pool, self._parser):
            pool.shutdown(wait=True)

    async def fields(self, request: Request, names: Collection[str]) -> receive.Parsed:
        """The fields of these names of a request's body, unchecked, and the names of the others."""
        lease = request.scope["noppa.lease"]
        data = await receive.read(request, self.settings, lease)
        if len(data) <= receive.LARGE:
            return receive.parsed(data, names)
        # One at a time: parsing takes several times the memory of the body.
        loop = asyncio.get_running_loop()
        body = await loop.run_in_executor(self._parser, receive.parsed, data, names)
        lease.resize(sum(map(receive.size_of, body.fields.values())))
        return body

    async def work(
        self, request: Request, job: Callable[[Watch, int], T], texts: list[str] | None = None
    ) -> T:
        """Run `job(watch, threads)` in the thread pool when its turn comes, and return its result.

        texts: all that it encodes; a few short ones are encoded at once, on the event loop, if nobody waits.
        """
        deadline = time.monotonic() + self.settings.request_seconds
        turns = self.turns
        if texts is not None and _small(texts) and turns.running < turns.at_once:
            with self.metrics.timed("encode_duration_seconds"):
                return job(Watch(lambda: False, deadline), 1)
        loop = asyncio.get_running_loop()
        left = asyncio.ensure_future(_gone(request))
        arrived = time.perf_counter()
        try:
            async with turns.turn(left, loop.time() + self.settings.request_seconds):
                self.metrics.observe("queue_duration_seconds", time.perf_counter() - arrived)
                threads = max(1, self.threads // turns.running)
                watch = Watch(left.done, deadline)
                with self.metrics.timed("encode_duration_seconds"):
                    return await loop.run_in_executor(self._pool, job, watch, threads)
        finally:
            left.cancel()

    async def answer(
        self,
        request: Request,
        job: Callable[[Watch, int], tuple[bytes | memoryview, Counts]],
        texts: list[str] | None = None,
    ) -> Response:
        """The JSON that a job writes, with what it encoded counted."""
        content, counts = await self.work(request, job, texts)
        self.count(request, counts)
        return Response(content, media_type="application/json")

    def count(self, request: Request, counts: Counts) -> None:
        """Record what a request encoded, for /metrics, the log, and a warning to the client."""
        self.metrics.encoded(counts.inputs, counts.tokens, counts.unknown, len(counts.empty))
        if counts.empty:
            warn(request, "items without a known word", counts.empty)
        if counts.warning:
            warn(request, counts.warning)
        request.scope["noppa.counts"] = counts


def _small(texts: list[str]) -> bool:
    return len(texts) <= FEW and sum(map(len, texts)) <= SMALL


async def _gone(request: Request) -> None:
    """Returns when the client has closed its connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass

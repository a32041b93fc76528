"""The bounded queue in front of the encoder: a number of requests run, a number wait, the rest get 429."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from noppa.serve.metrics import Metrics
from noppa.serve.problems import busy


class Left(Exception):
    """The client closed its connection before its answer was ready."""


class Turns:
    """A semaphore with a first-in, first-out queue of limited length."""

    def __init__(self, at_once: int, queue: int, metrics: Metrics) -> None:
        self.at_once, self.queue, self.metrics = at_once, queue, metrics
        self.running = 0
        self.waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def turn(self, left: asyncio.Future[None], deadline: float) -> AsyncIterator[None]:
        """Wait for a turn, until `deadline` on the loop's clock or until the client has left."""
        if self.running < self.at_once and not self.waiting:
            self.running += 1
        else:
            await self._wait(left, deadline)
        self._report()
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, left: asyncio.Future[None], deadline: float) -> None:
        if len(self.waiting) >= self.queue:
            raise busy(
                f"{self.running} requests are being encoded and {len(self.waiting)} wait, which is all that this "
                "server takes: try again later",
                429,
                "queue_full",
            )
        loop = asyncio.get_running_loop()
        turn_future: asyncio.Future[None] = loop.create_future()
        self.waiting.append(turn_future)
        self._report()
        try:
            await asyncio.wait(
                {turn_future, left},
                timeout=deadline - loop.time(),
                return_when=asyncio.FIRST_COMPLETED,
            )
        except BaseException:
            self._give_up(turn_future)
            raise
        if left.done():
            self._give_up(turn_future)
            raise Left
        if not turn_future.done():
            self._give_up(turn_future)
            raise busy(
                "the request waited for its turn as long as this server allows: try again later",
                code="queue_timeout",
            )

    def _give_up(self, turn_future: asyncio.Future[None]) -> None:
        if turn_future.done():
            self._pass_on()
        else:
            self.waiting.remove(turn_future)
            self._report()

    def _pass_on(self) -> None:
        """Hand the turn to the oldest waiting request; `running` stays the same meanwhile."""
        if self.waiting:
            self.waiting.popleft().set_result(None)
        else:
            self.running -= 1
        self._report()

    def _report(self) -> None:
        self.metrics.gauge("queue_depth", len(self.waiting))
        self.metrics.gauge("running", self.running)

"""The bounded queue in front of the encoder: so many at a time, so many waiting, the rest told to come back."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from noppa.serve.metrics import Metrics
from noppa.serve.problems import busy


class Left(Exception):
    """The client closed its connection: nobody waits for the answer."""


class Turns:
    """First come, first served."""

    def __init__(self, at_once: int, queue: int, metrics: Metrics) -> None:
        self.at_once, self.queue, self.metrics = at_once, queue, metrics
        self.running = 0
        self.waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def turn(self, left: asyncio.Future[None], deadline: float) -> AsyncIterator[None]:
        """Wait for a turn: until `deadline` of the loop's clock, and only while the client is there."""
        if self.running < self.at_once and not self.waiting:
            self.running += 1
        else:
            await self._wait(left, deadline)
        self._tell()
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
        mine: asyncio.Future[None] = loop.create_future()
        self.waiting.append(mine)
        self._tell()
        try:
            await asyncio.wait(
                {mine, left},
                timeout=deadline - loop.time(),
                return_when=asyncio.FIRST_COMPLETED,
            )
        except BaseException:
            self._give_up(mine)
            raise
        if left.done():
            self._give_up(mine)
            raise Left
        if not mine.done():
            self._give_up(mine)
            raise busy(
                "the request waited for its turn as long as this server allows: try again later",
                code="queue_timeout",
            )

    def _give_up(self, mine: asyncio.Future[None]) -> None:
        if mine.done():
            self._pass_on()
        else:
            self.waiting.remove(mine)
            self._tell()

    def _pass_on(self) -> None:
        """The turn goes to whoever waits longest; it counts as running all the while."""
        if self.waiting:
            self.waiting.popleft().set_result(None)
        else:
            self.running -= 1
        self._tell()

    def _tell(self) -> None:
        self.metrics.gauge("queue_depth", len(self.waiting))
        self.metrics.gauge("running", self.running)

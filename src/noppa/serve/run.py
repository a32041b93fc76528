"""Processes: one that serves, or several behind one port that share the mapped model; stopping without losing a request."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
import warnings
from dataclasses import replace
from types import FrameType

import uvicorn

from noppa.errors import NoppaError, NoppaWarning, ParameterError
from noppa.serve import logs
from noppa.serve.app import Application
from noppa.serve.http_protocol import bounded
from noppa.serve.settings import VARIABLE, Settings
from noppa.serve.workers import shared_folder, supervise
from noppa.threads import available


def serve(settings: Settings, host: str, port: int, workers: int = 1) -> None:
    """Serve until a signal says stop."""
    if workers > 1 and os.name != "posix":
        raise ParameterError("--workers above 1 needs a Unix system: use 1 here")
    if workers > 1 and settings.threads is None:
        settings = replace(settings, threads=max(1, available() // workers))
    application = Application(
        settings
    )  # also with workers: whatever is wrong with the model is said here
    listener = listen(host, port)
    models = application.service.models.encoders
    place = f"[{host}]" if ":" in host else host
    url = f"http://{place}:{listener.getsockname()[1]}{settings.prefix}"
    print(f"noppa: {', '.join(models)} at {url}", flush=True)
    logs.write("listening", url=url, models=[*models], processes=workers, keys=len(settings.keys))
    if workers == 1:
        Server(application, settings).run(sockets=[listener])
    else:
        application.service.close()
        with shared_folder() as folder:
            supervise(settings, listener, workers, folder)
    logs.write("stopped")


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, or one sentence."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
        listener.set_inheritable(True)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise NoppaError(
            f"cannot listen at {host} port {port}: {why}; choose another --host or --port"
        ) from error
    return listener


class Server(uvicorn.Server):
    """uvicorn, which on SIGTERM first refuses in words, finishes what it has, and only then closes its port."""

    def __init__(self, application: Application, settings: Settings, parent: int | None = None):
        config = uvicorn.Config(
            application,
            http=bounded(settings),
            ws="none",
            loop="auto",
            lifespan="off",
            log_config=logs.configuration(),
            access_log=False,
            server_header=False,
            proxy_headers=False,
            # The connection has a timer of its own, which blank lines do not stop; this one comes after it.
            timeout_keep_alive=int(settings.keep_alive_seconds) + 1,
            timeout_graceful_shutdown=int(settings.request_seconds) + 1,
        )
        super().__init__(config)
        self.service, self.parent = application.service, parent
        self.drain_seconds = settings.drain_seconds
        self.closes: float | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        # Rows without a known word are counted in /metrics, and not told one by one.
        warnings.filterwarnings("ignore", category=NoppaWarning)
        super().run(sockets)
        self.service.close()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.closes is not None:  # a second signal: at once
            self.should_exit = self.force_exit = True
        self.service.draining = True
        self.closes = time.monotonic() + self.drain_seconds

    async def on_tick(self, counter: int) -> bool:
        if self.parent is not None and os.getppid() != self.parent and self.closes is None:
            self.handle_exit(signal.SIGTERM, None)
        if self.closes is not None and time.monotonic() >= self.closes:
            self.should_exit = True
        self.service.metrics.gauge("connections", len(self.server_state.connections))
        return await super().on_tick(counter)


def main() -> None:
    """One of several workers: `python -m noppa.serve.run SOCKET PARENT`, its settings in the environment."""
    settings = Settings.from_json(os.environ.pop(VARIABLE))
    listener = socket.socket(fileno=int(sys.argv[1]))
    try:
        Server(Application(settings), settings, int(sys.argv[2])).run(sockets=[listener])
    except Exception as error:
        logs.write("worker failed", error=type(error).__name__, places=logs.places_of(error))
        sys.exit(1)


if __name__ == "__main__":
    main()

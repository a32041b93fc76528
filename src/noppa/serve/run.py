"""`serve`: one process, or several workers behind one port that share the mapped model; a graceful stop."""

from __future__ import annotations

import math
import os
import shutil
import signal
import socket
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from types import FrameType

import uvicorn

from noppa.errors import NoppaWarning, ParameterError
from noppa.methods.registry import import_extensions
from noppa.serve import logs
from noppa.serve.app import Application
from noppa.serve.connections import bounded
from noppa.serve.port import keep_out, kept_out, listen, somebody_waits
from noppa.serve.service import Service
from noppa.serve.settings import VARIABLE, Settings
from noppa.serve.workers import LAG_SECONDS, shared_folder, supervise
from noppa.threads import available

TICK_SECONDS = 0.1
#: A stopping server that cannot accept those who have connected within this time closes all the same.
QUEUE_SECONDS = 5.0


def serve(settings: Settings, host: str, port: int, workers: int = 1) -> None:
    """Serve until SIGTERM or SIGINT."""
    if workers > 1 and os.name != "posix":
        raise ParameterError("--workers above 1 needs a Unix system: use 1 here")
    if workers > 1 and settings.threads is None:
        settings = replace(settings, threads=max(1, available() // workers))
    # Also with workers: whatever is wrong with the model is said here.
    application = Application(settings)
    listener = listen(host, port)
    service = application.service
    models = [*service.models.encoders]
    if service.classifier is not None:
        models.insert(0, service.classifier.name)
    place = f"[{host}]" if ":" in host else host
    url = f"http://{place}:{listener.getsockname()[1]}{settings.prefix}"

    def announce() -> None:
        print(f"noppa: {', '.join(models)} at {url}", flush=True)
        logs.write("listening", url=url, models=models, processes=workers, keys=len(settings.keys))

    if workers == 1:
        run(application, settings, listener, announce)
    else:
        service.close()
        with shared_folder() as folder:
            supervise(settings, listener, workers, folder, announce)
    logs.write("stopped")


def run(
    application: Application,
    settings: Settings,
    listener: socket.socket,
    ready: Callable[[], None] = lambda: None,
    parent: int | None = None,
) -> None:
    """Serve until a signal, or until the process `parent` is gone; then answer 503 for a while, close the port, finish.

    ready: called once a signal is a graceful stop.
    uvicorn leaves signals alone in a thread that is not the main one. Here they must not close the port at once, as a
    client would then see a refused connection in place of a 503.
    """
    # Rows without a known word are counted in /metrics, and not reported one by one.
    warnings.filterwarnings("ignore", category=NoppaWarning)
    service, server = application.service, uvicorn.Server(_config(application, settings))
    stop, orphaned = Stop(service, server, listener, alone=parent is None), False
    handlers = {sig: signal.signal(sig, stop.begin) for sig in (signal.SIGTERM, signal.SIGINT)}
    ready()
    with ThreadPoolExecutor(1, "uvicorn") as thread:
        served = thread.submit(server.run, [listener])
        while not wait([served], TICK_SECONDS).done:
            if parent is not None and os.getppid() != parent and not orphaned:
                orphaned = stop.alone = True
                stop.begin()
            stop.go_on()
        served.result()
    for sig, handler in handlers.items():
        signal.signal(sig, handler)
    service.close()
    # Nobody else is left to remove what browsers sent.
    if orphaned and settings.lines_folder is not None:
        shutil.rmtree(Path(settings.lines_folder).parent, ignore_errors=True)


class Stop:
    """The end of a server, which begins with a signal and goes on step by step.

    alone: nobody else keeps newcomers out. For a worker its parent does, before the worker closes the port.
    """

    def __init__(
        self, service: Service, server: uvicorn.Server, listener: socket.socket, alone: bool
    ) -> None:
        self.service, self.server, self.listener, self.alone = service, server, listener, alone
        self.began = math.inf
        self.logged = self.refusing = False

    def begin(self, sig: int = signal.SIGTERM, frame: FrameType | None = None) -> None:
        if self.service.draining:  # a second signal: at once
            self.server.should_exit = self.server.force_exit = True
        self.service.draining = True
        self.began = min(self.began, time.monotonic())

    def go_on(self) -> None:
        """Say so, answer 503 for a while, refuse newcomers, and close the port when nobody waits there."""
        if not self.service.draining or self.server.should_exit:
            return
        drain_seconds = self.service.settings.drain_seconds
        # Not in `begin`, a signal handler, which may interrupt whoever holds the log's lock.
        if self.alone and not self.logged:
            self.logged = logs.write("stopping", drain_seconds=drain_seconds)
        late = time.monotonic() - self.began - drain_seconds
        if late < 0:
            return
        if self.alone and not self.refusing:
            keep_out(self.listener)
            self.refusing = True
        if not self.alone and not kept_out(self.listener) and late < LAG_SECONDS:
            return
        self.server.should_exit = late > QUEUE_SECONDS or not somebody_waits(self.listener)


def _config(application: Application, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        http=bounded(settings, application.service.metrics),
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


def main() -> None:
    """One of several workers: `python -m noppa.serve.run SOCKET PARENT`, with its settings in the environment."""
    settings = Settings.from_json(os.environ.pop(VARIABLE))
    listener = socket.socket(fileno=int(sys.argv[1]))
    try:
        import_extensions()
        run(Application(settings), settings, listener, parent=int(sys.argv[2]))
    except Exception as error:
        logs.write("worker failed", error=type(error).__name__, places=logs.places_of(error))
        sys.exit(1)


if __name__ == "__main__":
    main()

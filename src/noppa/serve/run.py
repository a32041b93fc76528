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
from noppa.serve.port import keep_out, listen, somebody_waits
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
    print(f"noppa: {', '.join(models)} at {url}", flush=True)
    logs.write("listening", url=url, models=models, processes=workers, keys=len(settings.keys))
    if workers == 1:
        run(application, settings, listener)
    else:
        service.close()
        with shared_folder() as folder:
            supervise(settings, listener, workers, folder)
    logs.write("stopped")


def run(
    application: Application, settings: Settings, listener: socket.socket, parent: int | None = None
) -> None:
    """Serve until a signal, or until the process `parent` is gone; then answer 503 for a while, close the port, finish.

    uvicorn leaves signals alone in a thread that is not the main one. Here they must not close the port at once, as a
    client would then see a refused connection in place of a 503.
    """
    # Rows without a known word are counted in /metrics, and not reported one by one.
    warnings.filterwarnings("ignore", category=NoppaWarning)
    service, server = application.service, uvicorn.Server(_config(application, settings))
    # A worker's port is closed by its parent, half a second before the worker itself closes it.
    drain_seconds = settings.drain_seconds + (0 if parent is None else LAG_SECONDS)
    stopped_at = math.inf

    def stop(sig: int, frame: FrameType | None) -> None:
        nonlocal stopped_at
        if service.draining:  # a second signal: at once
            server.should_exit = server.force_exit = True
        service.draining = True
        stopped_at = min(stopped_at, time.monotonic())

    handlers = {sig: signal.signal(sig, stop) for sig in (signal.SIGTERM, signal.SIGINT)}
    logged = shut = orphaned = False
    with ThreadPoolExecutor(1, "uvicorn") as thread:
        served = thread.submit(server.run, [listener])
        while not wait([served], TICK_SECONDS).done:
            orphaned = parent is not None and os.getppid() != parent
            if orphaned and not service.draining:
                stop(signal.SIGTERM, None)
            # Not in the signal handler, which may interrupt whoever holds the log's lock.
            if service.draining and not logged and (orphaned or parent is None):
                logged = logs.write("stopping", drain_seconds=settings.drain_seconds)
            late = time.monotonic() - stopped_at - drain_seconds
            if late < 0 or server.should_exit:
                continue
            if parent is None and not shut:
                keep_out(listener)
                shut = True
            server.should_exit = late > QUEUE_SECONDS or not somebody_waits(listener)
        served.result()
    for sig, handler in handlers.items():
        signal.signal(sig, handler)
    service.close()
    if (
        orphaned and settings.lines_folder is not None
    ):  # nobody else is left to remove what browsers sent
        shutil.rmtree(Path(settings.lines_folder).parent, ignore_errors=True)


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
        run(Application(settings), settings, listener, int(sys.argv[2]))
    except Exception as error:
        logs.write("worker failed", error=type(error).__name__, places=logs.places_of(error))
        sys.exit(1)


if __name__ == "__main__":
    main()

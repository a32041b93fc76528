"""`serve`: granian with our limits, in front of the application."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import tempfile
import threading
from dataclasses import replace
from functools import partial
from typing import Any

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server import Server

from noppa.errors import NoppaError
from noppa.methods.registry import import_extensions
from noppa.serve.settings import Settings

LOOPBACK = ("127.0.0.1", "::1", "[::1]", "localhost")
#: Time for a client to send its headers, and for the next request on an idle connection.
HEADER_SECONDS = 15
HEADER_BYTES = 32 << 10
#: Connections per worker; the limit on open files is raised to the hard limit.
MAX_CONNECTIONS = 16_384


def serve(settings: Settings, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT; requests that are running then are finished."""
    port = _check_port(host, port)
    if host in LOOPBACK or settings.allowed_hosts:
        settings = replace(settings, allowed_hosts=(*LOOPBACK, *settings.allowed_hosts))
    with tempfile.TemporaryDirectory(prefix="noppa-", ignore_cleanup_errors=True) as folder:
        if settings.workers > 1:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        # Imported here: prometheus_client reads the variable when it is imported.
        from noppa.serve.app import Application
        from noppa.serve.monitoring import LOGGING, log

        application = Application.load(settings)  # raises here if something is wrong with the model
        models = [*application.models.encoders]
        if application.classifier is not None:
            models.insert(0, application.classifier.name)
        address = f"[{host}]" if ":" in host else host
        url = f"http://{address}:{port}"
        if os.name == "posix":
            import resource

            # As many open files, and so connections, as the system permits.
            _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        server = Server(
            "noppa",
            address=host,
            port=port,
            interface=Interfaces.ASGINL,
            workers=settings.workers,
            http=HTTPModes.http1,
            websockets=False,
            backpressure=MAX_CONNECTIONS,
            http1_settings=HTTP1Settings(
                header_read_timeout=HEADER_SECONDS * 1000, max_buffer_size=HEADER_BYTES
            ),
            respawn_failed_workers=True,
            log_level=LogLevels.warning,
            log_dictconfig=LOGGING,
        )

        @server.on_startup
        def announce() -> None:
            print(f"noppa: {', '.join(models)} at {url}", flush=True)
            log("listening", url=url, models=models, workers=settings.workers, keys=len(settings.keys))  # fmt: skip

        del application
        server.serve(target_loader=partial(_load, settings), wrap_loader=False)
        # Python resets its handlers when it exits: a second signal would turn a graceful stop into a failure.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        log("stopped")


def _load(settings: Settings) -> Any:
    """Return the application of a worker."""
    from noppa.serve.app import Application
    from noppa.serve.monitoring import start_metrics

    main = multiprocessing.parent_process()
    if main is not None:
        threading.Thread(target=_stop_after, args=(main,), daemon=True).start()
    import_extensions()
    start_metrics()
    return Application.load(settings)


def _stop_after(main: Any) -> None:
    """Stop this worker when the main process was killed, so that it does not keep the port."""
    main.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _check_port(host: str, port: int) -> int:
    """Return the port, a free one for 0, and raise if it is taken: granian would share it with its owner."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            return int(probe.getsockname()[1])
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise NoppaError(
            f"cannot listen on {host} port {port}: {reason}", "choose another host or port"
        ) from error

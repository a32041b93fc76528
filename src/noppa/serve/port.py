"""The listening socket: opened once, shared by all workers, closed without a reset for anybody who has connected.

Closing a listening socket resets the connections that the kernel has completed and nobody has accepted. So a stopping
server first refuses newcomers, then accepts all who are in the queue, and only then closes.
"""

from __future__ import annotations

import selectors
import socket
import sys

from noppa.errors import NoppaError
from noppa.serve import logs

#: Connections that the kernel completes before they are accepted.
BACKLOG = 2048
SO_BINDTOIFINDEX, NO_INTERFACE = 62, (1 << 31) - 1


def listen(host: str, port: int) -> socket.socket:
    """A listening socket that workers inherit."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
        listener.set_inheritable(True)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise NoppaError(
            f"cannot listen at {host} port {port}: {why}; choose another --host or --port"
        ) from error
    return listener


def keep_out(listener: socket.socket) -> None:
    """Refuse whoever connects from now on, in every process that shares the socket; elsewhere than on Linux nobody is.

    The socket is bound to a network interface that there is not, so that no SYN is for it. Connections that are complete or
    just being made stay, and can be accepted.
    """
    if sys.platform != "linux":
        return
    try:
        listener.setsockopt(socket.SOL_SOCKET, SO_BINDTOIFINDEX, NO_INTERFACE)
    except OSError as error:  # a kernel before 5.7: who connects in the last microseconds is reset
        logs.write("newcomers not refused", error=error.strerror)


def kept_out(listener: socket.socket) -> bool:
    """Whether some process has kept newcomers out; elsewhere than on Linux there is nothing to wait for."""
    if sys.platform != "linux":
        return True
    try:
        return listener.getsockopt(socket.SOL_SOCKET, SO_BINDTOIFINDEX) == NO_INTERFACE
    except OSError:  # a kernel before 5.0
        return False


def somebody_waits(listener: socket.socket) -> bool:
    """Whether a connection is complete and not yet accepted."""
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        return bool(selector.select(0))

"""The listening socket: opened once, shared by all workers, closed without a reset for anybody who has connected.

Closing a listening socket resets the connections that the kernel has completed and nobody has accepted. So a stopping
server first keeps out newcomers, then accepts all who are in the queue, and only then closes. A client whose SYN is dropped
meanwhile sends it again after a second and finds the port closed: connection refused, as for any server that is not there.
"""

from __future__ import annotations

import ctypes
import selectors
import socket
import struct
import sys

from noppa.errors import NoppaError
from noppa.serve import logs

#: Connections that the kernel completes before they are accepted.
BACKLOG = 2048
SO_ATTACH_FILTER = 26
#: Classic BPF on a TCP segment: load the byte of flags, keep SYN, accept the segment if it is 0, else drop it.
DROP_SYN = [(0x30, 0, 0, 13), (0x54, 0, 0, 2), (0x15, 0, 1, 0), (0x06, 0, 0, 1 << 18), (0x06, 0, 0, 0)]  # fmt: skip


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
    """Let nobody connect any more, in any process that shares the socket; elsewhere than on Linux this does nothing."""
    if sys.platform != "linux":
        return
    program = b"".join(struct.pack("HBBI", *instruction) for instruction in DROP_SYN)
    buffer = ctypes.create_string_buffer(program, len(program))
    try:
        listener.setsockopt(
            socket.SOL_SOCKET,
            SO_ATTACH_FILTER,
            struct.pack("HP", len(DROP_SYN), ctypes.addressof(buffer)),
        )
    except OSError as error:  # a kernel without it: who connects in the last microseconds is reset
        logs.write("newcomers not kept out", error=error.strerror)


def somebody_waits(listener: socket.socket) -> bool:
    """Whether a connection is complete and not yet accepted."""
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        return bool(selector.select(0))

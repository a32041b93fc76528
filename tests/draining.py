"""Clients of a server that stops: how each of their connections ends."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable

from tests.runs import PATIENCE
from tests.serving import Running

SMALL = json.dumps({"inputs": ["the girl eats a cake"]}).encode()
LARGE = json.dumps({"inputs": ["the girl eats a cake " * 9] * 1000}).encode()
PIECE = 16 << 10


def head_of(body: bytes) -> bytes:
    return (
        f"POST /embed HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    )


def request(connection: socket.socket, body: bytes) -> str:
    """Send a request, its body in pieces behind its head, and read the answer: its status, or how the connection ended.

    A status with a + keeps the connection open. "closed" is an end without an answer and without an error.
    """
    try:
        connection.sendall(head_of(body))
        for start in range(0, len(body), PIECE):
            connection.sendall(body[start : start + PIECE])
    except ConnectionError as error:
        return type(error).__name__
    return answer(connection)


def answer(connection: socket.socket) -> str:
    received = b""
    try:
        while b"\r\n\r\n" not in received:
            piece = connection.recv(1 << 16)
            if not piece:
                return "closed" if not received else "cut off"
            received += piece
        head, _, body = received.partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        size = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
        while len(body) < size:
            piece = connection.recv(1 << 16)
            if not piece:
                return "cut off"
            body += piece
        if b"connection: close" not in lines:
            return head.split()[1].decode() + "+"
        return head.split()[1].decode() if connection.recv(1) == b"" else "more than the answer"
    except ConnectionError as error:
        return type(error).__name__


def keep_asking(server: Running, body: bytes, pause: float, ended: Callable[[str], None]) -> None:
    """Requests on one connection after the other, until one is no longer answered with 200."""
    while True:
        try:
            connection = server.connect()
        except ConnectionRefusedError:
            return ended("refused")
        except OSError as error:
            return ended(f"connecting: {type(error).__name__}")
        with connection:
            while (outcome := request(connection, body)) == "200+":
                ended(outcome)
                time.sleep(pause)
        ended(outcome)
        if outcome != "200":
            return None


def ask_once(server: Running, body: bytes, pause: float, ended: Callable[[str], None]) -> None:
    """A connection for each request, until one is no longer answered with 200."""
    outcome = "200+"
    while outcome in ("200", "200+"):
        try:
            with server.connect() as connection:
                outcome = request(connection, body)
        except ConnectionRefusedError:
            outcome = "refused"
        ended(outcome)
        time.sleep(pause)


KINDS: list[tuple[Callable[..., None], bytes, float]] = [
    (keep_asking, SMALL, 0.0),
    (keep_asking, SMALL, 0.05),
    (keep_asking, LARGE, 0.0),
    (ask_once, SMALL, 0.0),
    (ask_once, LARGE, 0.01),
]


def stopped_under_load(server: Running, each: int = 4) -> Counter[str]:
    """SIGTERM while `each` clients of every kind are busy: the outcomes of all requests, and of the exit."""
    outcomes: Counter[str] = Counter()
    lock = threading.Lock()
    begun = threading.Semaphore(0)

    def client(ask: Callable[..., None], body: bytes, pause: float) -> None:
        count = 0

        def ended(outcome: str) -> None:
            nonlocal count
            count += 1
            with lock:
                outcomes[outcome] += 1
            if count == 3:
                begun.release()

        ask(server, body, pause, ended)

    threads = [threading.Thread(target=client, args=kind) for kind in KINDS for _ in range(each)]
    for thread in threads:
        thread.start()
    assert all(begun.acquire(timeout=PATIENCE) for _ in threads), outcomes
    outcomes[f"exit {server.stop()}"] += 1
    for thread in threads:
        thread.join()
    return outcomes

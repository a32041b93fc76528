"""A real server process for tests: on a free port of the loopback, with a small made encoder, stopped at the end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

import noppa
from tests.conftest import made_texts, made_words

PROGRAM = "import sys; from noppa.cli import main; sys.argv[0] = 'noppa'; main()"


class Running:
    """A server: where it is, what it logged, how to stop it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.log: list[dict[str, Any]] = []
        self.url = ""
        self.listening = threading.Event()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            try:
                entry = json.loads(line)
            except ValueError:
                entry = {"event": "not JSON", "line": line}
            self.log.append(entry)
            if entry["event"] == "listening":
                self.url = entry["url"]
                self.listening.set()
        self.listening.set()  # it ended

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=60, trust_env=False, **options)

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self.reader.join(10)
        return code


@contextmanager
def serving(*options: str, environment: dict[str, str] | None = None) -> Iterator[Running]:
    """`noppa serve` with these options."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "serve", "--port", "0", "--drain-seconds", "0.2", *options],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    server = Running(process)
    try:
        assert server.listening.wait(60)
        assert server.url, server.log
        yield server
    finally:
        server.stop()
        assert process.stderr is not None
        process.stderr.close()


def made_encoder(folder: Path, whitened: bool = True) -> noppa.Encoder:
    """A small saved encoder, whose first dimensions mean something if `whitened`."""
    words = made_words(dim=8, extra=40)
    refine = [noppa.Whitening(dim=12)] if whitened else []
    model = noppa.Encoder(words, noppa.NoPPA(a=0.05, k=0), refine=refine)
    model.fit(made_texts(200, words)).save(folder)
    return noppa.load(folder)

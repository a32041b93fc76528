"""Settings of a server: what it serves, who may use it, and its limits."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from noppa.errors import FileError, ParameterError
from noppa.parameters import positive, whole
from noppa.threads import available, thread_count

KEYS_VARIABLE = "NOPPA_API_KEYS"


@dataclass(frozen=True)
class Settings:
    """Settings that all workers of a server share.

    Args:
        model: A preset, the folder of a saved encoder or classifier, or `hf:owner/name`; None for all presets.
        index: The folder of an index to search.
        name: The name by which clients request the model.
        keys: API keys; if there are none, all requests are accepted.
        cors_origins: Origins whose pages may call this server.
        allowed_hosts: Accepted names in the Host header; empty accepts any.
        workers: Number of processes.
        max_inputs: Most texts per request.
        max_tokens: Most tokens per text. The default method needs n² steps for n tokens.
        max_body: Most bytes per request body.
        max_memory: Most bytes that the bodies and answers of all requests of one worker may take together.
        max_queue: Most requests that wait for a thread; more are answered with 429.
        body_seconds: Timeout for receiving a body.
        request_seconds: Timeout for the work on a request, including its time in the queue.
        send_seconds: Timeout for a client to read the next part of a large answer.
    """

    model: str | None = None
    index: str | None = None
    name: str | None = None
    keys: tuple[str, ...] = field(default=(), repr=False)
    cors_origins: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    workers: int = 1
    max_inputs: int = 8192
    max_tokens: int = 4096
    max_body: int = 32 << 20
    max_memory: int = 256 << 20
    max_queue: int = 256
    body_seconds: float = 30.0
    request_seconds: float = 60.0
    send_seconds: float = 60.0

    def __post_init__(self) -> None:
        for name in ("workers", "max_inputs", "max_tokens", "max_body", "max_memory", "max_queue"):
            whole(getattr(self, name), name, 1)
        for name in ("body_seconds", "request_seconds", "send_seconds"):
            positive(getattr(self, name), name)
        if self.max_memory < self.max_body:
            raise ParameterError(
                f"max_body is {self.max_body}, more than the {self.max_memory} bytes of max_memory"
            )

    @property
    def threads(self) -> int:
        """Threads of one worker, which is also how many requests it works on at a time."""
        if self.workers == 1:
            return thread_count()
        return max(1, available() // self.workers)


def read_keys(file: Path | None, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the API keys in a file, one per line, and in NOPPA_API_KEYS, separated by commas or spaces."""
    keys = environment.get(KEYS_VARIABLE, "").replace(",", " ").split()
    if file is not None:
        try:
            lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"cannot read the API keys in {file}: {error}") from error
        file_keys = [line for line in lines if line and not line.startswith("#")]
        if not file_keys:
            # An empty file must not silently turn authentication off.
            raise ParameterError(f"{file} has no API key", "write one key per line")
        keys += file_keys
    for key in keys:
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ParameterError(
                "an API key has characters that a header cannot hold",
                "use letters, digits and - _ . ~ + / =",
            )
    return tuple(dict.fromkeys(keys))

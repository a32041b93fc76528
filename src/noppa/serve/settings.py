"""The settings of a server: the model, its limits, who may use it."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from noppa.errors import FileError, ParameterError
from noppa.parameters import one_of, positive, whole
from noppa.threads import thread_count

VARIABLE = "NOPPA_SERVE"
KEYS = "NOPPA_API_KEYS"
#: File descriptors that are not connections: the listener, the event loop, the log, mapped models, files being read.
RESERVED_FILES = 48
EMPTY_INPUT = ("error", "zero")


@dataclass(frozen=True)
class Settings:
    """Everything that the processes of one server share.

    max_tokens: of one text; a text of n tokens costs NoPPA n² steps, so this bounds what one request can ask for.
    at_once, queue: how many requests are encoded at a time, and how many more may wait.
    body_seconds, request_seconds: deadline of a body, and of the answer after it.
    keep_alive_seconds, send_seconds: timeout of an idle connection, and of a client that does not read its answer.
    max_held: the memory budget of a process, bytes of bodies, texts and answers of all its requests.
    max_connections: lowered where the limit of open files is lower.
    drain_seconds: how long a stopping server answers 503 before it closes its port.
    max_lines, line_seconds: lines of a browser session, and how long an unused session lives.
    max_values: numbers in the vectors of a request, texts × dimensions.
    hosts: names besides its addresses that a server without keys goes by.
    session_key: signs the cookies of all processes of one server.
    counters: the file that holds the metrics of this process, in a folder that all workers share.
    lines_folder: where several workers keep the lines of sessions.
    processes: how many workers there are.
    """

    model: str | None = None
    tokenizer: str | None = None
    index: str | None = None
    name: str | None = None
    any_model: bool = False
    empty_input: str = "error"
    normalize: bool = True
    prefix: str = ""
    keys: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    page: bool = True
    max_body: int = 32 << 20
    max_inputs: int = 8192
    max_tokens: int = 4096
    max_header: int = 32 << 10
    max_connections: int = 1000
    max_held: int = 256 << 20
    at_once: int | None = None
    threads: int | None = None
    queue: int = 256
    header_seconds: float = 15.0
    body_seconds: float = 30.0
    request_seconds: float = 60.0
    keep_alive_seconds: float = 75.0
    send_seconds: float = 300.0
    drain_seconds: float = 1.0
    max_lines: int = 20_000
    max_values: int = 1 << 25
    max_sessions: int = 32
    line_seconds: float = 3600.0
    log_requests: bool = True
    counters: str | None = None
    lines_folder: str | None = None
    processes: int = 1
    session_key: str = field(default_factory=lambda: secrets.token_hex(32), repr=False)

    def __post_init__(self) -> None:
        one_of(self.empty_input, "--empty-input", EMPTY_INPUT)
        for name in (known.name for known in fields(self) if known.name.startswith("max_")):
            whole(getattr(self, name), _option(name), 1)
        if self.max_held < self.max_body:
            raise ParameterError(
                f"--max-held is {self.max_held}, less than the {self.max_body} of --max-body: the largest body must fit"
            )
        for name in ("at_once", "threads"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), _option(name), 1)
        whole(self.queue, "--queue")
        for name in ("header", "body", "request", "keep_alive", "send", "line"):
            positive(getattr(self, f"{name}_seconds"), _option(f"{name}_seconds"))
        object.__setattr__(self, "keys", tuple(self.keys))
        object.__setattr__(self, "origins", tuple(self.origins))
        object.__setattr__(self, "hosts", tuple(self.hosts))
        prefix = self.prefix.strip("/")
        object.__setattr__(self, "prefix", f"/{prefix}" if prefix else "")

    @property
    def encoding_threads(self) -> int:
        return thread_count(self.threads)

    @property
    def running(self) -> int:
        """How many requests are encoded at a time."""
        return self.at_once or self.encoding_threads

    @property
    def connections(self) -> int:
        """Open connections of a process; some file descriptors stay free for everything else."""
        return max(1, min(self.max_connections, open_files() - RESERVED_FILES))

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        return cls(**json.loads(text))


def open_files() -> int:
    """The limit of open files of this process."""
    if os.name != "posix":
        return 1 << 20
    import resource

    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 20 if soft == resource.RLIM_INFINITY else soft


def keys_of(file: Path | None, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """API keys of a file, one a line, and of the environment, divided by commas or blanks; none for an open server."""
    keys = environment.get(KEYS, "").replace(",", " ").split()
    if file is not None:
        try:
            lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"the keys in {file} cannot be read: {error}") from error
        file_keys = [line for line in lines if line and not line.startswith("#")]
        if not file_keys:
            raise ParameterError(f"{file} has no key: write one a line, or leave out --keys")
        keys += file_keys
    for key in keys:
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ParameterError(
                "a key has characters that a header cannot hold: use letters, digits and - _ . ~ + / = alone"
            )
    return tuple(dict.fromkeys(keys))


def _option(name: str) -> str:
    assert name in {field.name for field in fields(Settings)}
    return f"--{name.replace('_', '-')}"

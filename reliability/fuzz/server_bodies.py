"""Bodies of requests: every JSON route answers any bytes, errors in the one shape, and never with 500."""

from __future__ import annotations

import asyncio
import json
from functools import cache

import noppa
from noppa.serve.app import Application
from noppa.serve.method_field import offered
from noppa.serve.served_models import Models
from noppa.serve.settings import Settings
from tests.conftest import made_texts, made_words
from tests.serving import Answer, ask

PATHS = (
    "/v1/embeddings",
    "/embed",
    "/explain",
    "/similarity",
    "/search",
    "/lines",
    "/lines/duplicates",
    "/lines/clusters",
    "/lines/map",
    "/lines/vectors",
)
BODIES = (
    {"input": ["the girl", "a boy"], "model": "small", "encoding_format": "base64", "user": "me"},
    {"input": "the girl", "dimensions": 5, "encoding_format": "float"},
    {"input": [[1, 2], [3]]},
    {"inputs": "the girl", "normalize": False, "truncate": True, "truncation_direction": "Right"},
    {"text": "the girl eats", "full": True, "model": None},
    {"a": "the girl", "b": "a boy", "explain": True},
    {"a": ["the girl", "x"], "b": ["a boy"]},
    {"query": "the girl", "lines": ["a boy", "cake"], "count": 3},
    {"lines": ["a boy", "\ud83d", "", "cake"]},
    {"threshold": 0.9, "count": 3, "format": "csv"},
    {"format": "jsonl", "count": 10**30, "threshold": 1e400},
)
METHODS = (
    *({"name": name} for name in offered()),
    {"name": "noppa", "a": 0.1, "k": 1, "position": "paper", "kernel": "abs"},
    {"name": "sif", "a": 10**400},
    {"name": "pmeans", "parts": ["mean", "max", "dct1"]},
    {"name": "dct", "k": 64},
)
TEXTS = {"text": "the girl eats", "query": "cake", "a": "x", "b": "y"}
SEEDS = [json.dumps(body).encode() for body in BODIES]
SEEDS += [json.dumps({**TEXTS, "method": method}).encode() for method in METHODS]


class Server:
    """An application in this process, and the cookie of a session with lines."""

    def __init__(self) -> None:
        words = made_words(dim=8, extra=40)
        encoder = noppa.Encoder(words, noppa.NoPPA(a=0.05, k=0), refine=[noppa.Whitening(dim=12)])
        encoder.fit(made_texts(200, words))
        settings = Settings(
            max_inputs=64, max_tokens=64, max_lines=64, request_seconds=20, log_requests=False
        )
        self.app = Application(settings, Models({"small": encoder}, settings))
        self.loop = asyncio.new_event_loop()
        stored = self.post("/lines", json.dumps({"lines": made_texts(60, words)}).encode())
        self.cookie = stored.headers[b"set-cookie"].decode().partition(";")[0]

    def post(self, path: str, body: bytes) -> Answer:
        # POST /lines without the cookie: each makes a new session, and that of the cookie keeps its lines.
        headers = {} if path == "/lines" else {"cookie": self.cookie}
        return self.loop.run_until_complete(ask(self.app, path, body, headers))


server = cache(Server)


def once(data: bytes) -> None:
    target = server()
    for path in PATHS:
        answer = target.post(path, data)
        assert answer.status != 500, f"{path}: {answer.error}"
        if answer.status >= 400:
            assert answer.error["message"]
        assert target.app.service.budget.held == 0

"""Fuzz the routes of the server: any body, method, path and header gets an answer, errors in one shape, never 500."""

from __future__ import annotations

import asyncio
import json
import warnings
from functools import cache
from urllib.parse import unquote

import noppa
from noppa.serve.app import Application
from noppa.serve.classify import ServedClassifier
from noppa.serve.index import ServedIndex
from noppa.serve.methods import offered
from noppa.serve.models import Models
from noppa.serve.settings import Settings
from tests.conftest import made_texts, made_words
from tests.serving import Answer, ask

PATHS = (
    "/v1/embeddings",
    "/embed",
    "/rerank",
    "/v2/rerank",
    "/api/embed",
    "/api/embeddings",
    "/predict",
    "/predict/explain",
    "/index/search",
    "/index/add",
    "/index/delete",
    "/explain",
    "/similarity",
    "/search",
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
    {"query": "the girl", "documents": ["a boy", {"text": "\ud83d"}], "return_documents": True},
    {"query": "the girl", "texts": ["a boy", "cake"], "raw_scores": True, "return_text": True},
    {"inputs": {"source_sentence": "the girl", "sentences": ["a boy"]}, "parameters": {}},
    {"model": "small:latest", "input": ["the girl"], "prompt": "a boy", "truncate": False},
    {"inputs": ["the girl", "\ud83d"], "raw_scores": True},
    {"inputs": "the girl", "parameters": {"top_k": 1, "function_to_apply": "none"}, "label": "b"},
    {
        "query": "the girl",
        "where": {"n": {">": 1}, "\ud83d": None},
        "mode": "words",
        "explain": True,
    },
    {"texts": ["a boy"], "ids": ["x"], "metadata": [{"n": 1e400, "\ud83d": [{}]}]},
    {"lines": ["a boy", "\ud83d", "", "cake"]},
    {"lines": ["a boy", "cake"], "threshold": 0.9},
    {"lines": ["a boy", "cake"], "count": 3, "method": {"name": "sif"}},
    {"lines": ["a boy"] * 60, "format": "csv"},
    {"lines": ["a boy"], "format": "jsonl", "count": 10**30, "threshold": 1e400},
)
METHODS = (
    *({"name": name} for name in offered()),
    {"name": "noppa", "a": 0.1, "k": 1, "position": "paper", "kernel": "abs"},
    {"name": "sif", "a": 10**400},
    {"name": "pmeans", "parts": ["mean", "max", "dct1"]},
    {"name": "dct", "k": 64},
)
TEXTS = {"text": "the girl eats", "query": "cake", "a": "x", "b": "y"}
SERVER_BODIES_SEEDS = [json.dumps(body).encode() for body in BODIES]
SERVER_BODIES_SEEDS += [json.dumps({**TEXTS, "method": method}).encode() for method in METHODS]


class Server:
    """An application in this process."""

    def __init__(self) -> None:
        words = made_words(dim=8, extra=40)
        encoder = noppa.Encoder(words, noppa.NoPPA(a=0.05, k=0), refine=[noppa.Whitening(dim=12)])
        encoder.fit(made_texts(200, words))
        settings = Settings(max_inputs=64, max_tokens=64, request_seconds=20, keys=("key",))
        texts = made_texts(40, words)
        classifier = noppa.Classifier(encoder, folds=2).fit(texts, ["a", "b"] * 20)
        self.app = Application(
            settings,
            Models({"small": encoder}, settings),
            ServedClassifier("labels", classifier),
            ServedIndex("texts", noppa.Index(encoder)),
        )
        self.loop = asyncio.new_event_loop()

    def post(self, path: str, body: bytes) -> Answer:
        headers = {"authorization": "Bearer key"}
        with warnings.catch_warnings():
            # As in a server process: texts without a known word are counted, not warned of.
            warnings.simplefilter("ignore", noppa.NoppaWarning)
            return self.loop.run_until_complete(ask(self.app, path, body, headers))


server = cache(Server)


def server_bodies(data: bytes) -> None:
    target = server()
    for path in PATHS:
        answer = target.post(path, data)
        assert answer.status != 500, f"{path}: {answer.error}"
        if answer.status >= 400:
            assert answer.error["message"]
        assert target.app.service.memory.held == 0


# Request lines and headers

#: Lines: a method, a path, `name: value` headers, and after an empty line a body.
SERVER_HEADS_SEEDS = [
    b"POST\n/embed\nhost: localhost\norigin: http://localhost\ncontent-type: text/plain\n\n{}",
    b'POST\n/lines/map\ncookie: x="\\\nhost: [::1]:80\n\n{"lines":["a"]}',
    b"GET\n/page/%2e%2e%2fapp.py\nif-none-match: *\nrange: bytes=0-\n",
    b"GET\n/v1/models/%ed%a0%80\nauthorization: Bearer x\nx-request-id: \xff\n",
    b"OPTIONS\n/v1/embeddings\norigin: null\naccess-control-request-method: POST\n",
    b"HEAD\n/\naccept: text/html\ncontent-length: 99999999999999999999\n",
    b"PUT\n/info\norigin: http://[\ncontent-encoding: gzip\nexpect: 100-continue\n",
]


def server_heads(data: bytes) -> None:
    head, _, body = data.partition(b"\n\n")
    method, path, *lines = [*head.split(b"\n"), b""]
    # The server passes names in lower case, values unchanged, and a path without its escapes.
    pairs = (line.partition(b":")[::2] for line in lines)
    headers = [(name.strip().lower(), value.strip()) for name, value in pairs if name.strip()]
    target = server()
    answer = target.loop.run_until_complete(
        ask(
            target.app,
            unquote("/" + path.decode("latin-1").lstrip("/")),
            body,
            method=method.decode("latin-1") or "GET",
            raw_headers=headers,
        )
    )
    assert answer.status != 500, answer.error
    if answer.status >= 400 and method != b"HEAD":
        assert answer.error["message"]
    assert target.app.service.memory.held == 0

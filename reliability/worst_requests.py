"""The worst requests that the server's routes allow, and what each may cost: what ceilings.py measures."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import noppa
from noppa.serve.explore import EXPLAINED_VALUES

MB = 1 << 20
WORDS = "the girl eats a cake and two small children play in front of the old house"


@dataclass(frozen=True)
class Case:
    """The worst request of one kind that a route allows, and what it may cost.

    body: makes the bytes of the body.
    before: (path, JSON) pairs posted first, in the same browser session.
    statuses: answers that are fine; a refusal is one.
    made: makes folders in a folder, and gives the options that name them.
    at_once: how many clients send it at the same time.
    unfinished: the last byte of the body is never sent.
    """

    path: str
    name: str
    body: Callable[[], bytes]
    megabytes: float
    seconds: float
    health_seconds: float = 0.6
    statuses: tuple[int, ...] = (200,)
    before: tuple[tuple[str, Callable[[], Any]], ...] = ()
    options: tuple[str, ...] = ()
    made: Callable[[Path], tuple[str, ...]] | None = None
    at_once: int = 1
    unfinished: bool = False


def json_body(value: Any) -> Callable[[], bytes]:
    return lambda: json.dumps(value).encode()


def lines(count: int) -> list[str]:
    """Different lines of a dozen words."""
    words = WORDS.split()
    return [
        " ".join(words[(number * step) % len(words)] for step in range(3, 15)) + f" {number}"
        for number in range(count)
    ]


def wide(k: int) -> dict[str, Any]:
    """A method whose vectors are k times as long as those of words."""
    return {"method": {"name": "dct", "k": k}}


def fitted(name: str, k: int) -> dict[str, Any]:
    """A short text with a method that learns from the lines."""
    return {"text": "a girl", "method": {"name": name, "k": k}}


def over_lines(path: str, name: str, body: Any, count: int = 20_000, **limits: Any) -> Case:
    """A request over the lines of a session; 503 means that it was stopped after --request-seconds."""
    texts = limits.pop("texts", lines)
    before = (("/lines", lambda: {"lines": texts(count)}),)
    limits = {"megabytes": 500, "seconds": 65, "statuses": (200, 503), **limits}
    return Case(path, name, json_body(body), before=before, **limits)


def long_lines(count: int) -> list[str]:
    """Lines that nearly fill a body, of all words that the model knows."""
    words = noppa.load("similarity").words.words
    return [
        " ".join(words[(number * 160 + at) % len(words)] for at in range(160))
        for number in range(count)
    ]


#: Of 2²⁵ numbers in all, how many times the dimensions of the model's words 20,000 lines may have, and how many lines may
#: have them 64 times, which is the most for a method.
DIM = noppa.load("similarity").words.dim
TIMES, WIDEST_LINES = (1 << 25) // (20_000 * DIM), (1 << 25) // (64 * DIM)
WIDEST_TOKENS = EXPLAINED_VALUES // (64 * DIM)
MANY_LINES: list[Case] = [
    Case("/lines", "30 MB of lines", lambda: json_body({"lines": long_lines(20_000)})(), 400, 10),
    Case(
        "/similarity",
        "4,000,000 cosines",
        lambda: json_body({"a": lines(2000), "b": lines(2000)})(),
        400,
        20,
    ),
    Case("/explain", "256 tokens", json_body({"text": "girl " * 256, "full": True}), 200, 10),
    Case(
        "/explain",
        "as many tokens as the widest method takes",
        json_body({"text": "girl " * WIDEST_TOKENS, "full": True, **wide(64)}),
        500,
        10,
    ),
    over_lines(
        "/lines/vectors", "csv of the widest method", {"format": "csv", **wide(64)}, statuses=(413,)
    ),
    over_lines(
        "/lines/vectors",
        "csv of all that is allowed",
        {"format": "csv", **wide(TIMES)},
        megabytes=100,
    ),
    over_lines("/lines/map", "all that is allowed", wide(TIMES)),
    over_lines("/lines/map", "the widest method", wide(64), WIDEST_LINES),
    over_lines(
        "/lines/map",
        "within 2 seconds",
        wide(TIMES),
        seconds=5,
        statuses=(503,),
        options=("--request-seconds", "2"),
    ),
    over_lines("/lines/map", "8 at a time", wide(TIMES), at_once=8, megabytes=800),
    over_lines("/lines/clusters", "50 of all that is allowed", {"count": 50, **wide(TIMES)}),
    over_lines("/lines/duplicates", "different lines", {"threshold": 0.5}),
    over_lines(
        "/lines/duplicates", "equal lines", {"threshold": 0.5}, texts=lambda count: ["a"] * count
    ),
    over_lines("/search", "all that is allowed", {"query": "a girl", "count": 1000, **wide(TIMES)}),
    over_lines("/explain", "fit of k-means", fitted("vlawe", 64), texts=long_lines),
    over_lines("/explain", "fit of moments", fitted("noppa", 64), texts=long_lines),
]


def long_documents(count: int) -> list[str]:
    """Documents that nearly fill a body."""
    line = " ".join(noppa.load("similarity").words.words[:600])
    return [f"{line} {number}" for number in range(count)]


def reranked(documents: Callable[[int], list[str]], field: str, flag: str) -> Callable[[], bytes]:
    """A query and all the documents that a request may have, which are sent back."""
    return lambda: json_body({"query": WORDS, field: documents(8192), flag: True})()


RANKS: list[Case] = [
    Case("/rerank", "8,192 documents", reranked(lines, "documents", "return_documents"), 200, 10),
    Case("/rerank", "8,192 long ones", reranked(long_documents, "documents", "return_documents"), 400, 20),
    Case("/rerank", "8,192 texts, as TEI takes them", reranked(lines, "texts", "return_text"), 200, 10),
    Case(
        "/similarity",
        "8,192 sentences, as TEI takes them",
        lambda: json_body({"inputs": {"source_sentence": WORDS, "sentences": lines(8192)}})(),
        200,
        10,
    ),
    Case("/api/embed", "8,192 texts", lambda: json_body({"input": lines(8192)})(), 200, 10),
]  # fmt: skip


def made_classifier(folder: Path) -> tuple[str, ...]:
    """A classifier of 128 labels, the most for all texts of a request."""
    texts, labels = lines(1024), [f"label {at % 128}" for at in range(1024)]
    classifier = noppa.Classifier(l2_vectors=1.0, l2_ngrams=1.0).fit(texts, labels)
    classifier.save(folder / "labels")
    return (str(folder / "labels"),)


def made_index(folder: Path) -> tuple[str, ...]:
    """An index of 100,000 lines."""
    noppa.Index.open(folder / "texts").add(lines(100_000))
    return ("--index", str(folder / "texts"))


def searched(**fields: Any) -> Callable[[], bytes]:
    return json_body({"query": WORDS, **fields})


CLASSIFIED: list[Case] = [
    Case("/predict", "8,192 texts with 128 labels", lambda: json_body({"inputs": lines(8192)})(), 300, 20, made=made_classifier),
    Case("/predict/explain", "256 tokens with 128 labels", json_body({"inputs": "girl " * 256}), 200, 10, made=made_classifier),
]  # fmt: skip
INDEXED: list[Case] = [
    Case("/index/search", "1,000 hits of 100,000 texts", searched(count=1000), 200, 10, made=made_index),
    Case("/index/search", "8 at a time", searched(count=1000), 400, 20, made=made_index, at_once=8),
    Case("/index/search", "20 hits with reasons", searched(count=20, explain=True), 200, 10, made=made_index),
    Case("/index/add", "8,192 texts", lambda: json_body({"texts": lines(8192)})(), 300, 20, made=made_index),
]  # fmt: skip


CASES: list[Case] = [
    Case("/embed", "8,192 texts", lambda: json_body({"inputs": lines(8192)})(), 200, 10),
    Case(
        "/v1/embeddings",
        "8,192 texts as numbers",
        lambda: json_body({"input": lines(8192)})(),
        200,
        10,
    ),
    Case(
        "/v1/embeddings",
        "28 MB of empty arrays",
        lambda: b'{"input":[' + b"[]," * (28 * MB // 3) + b"[]]}",
        150,
        10,
        statuses=(400, 413),
    ),
    Case(
        "/v1/embeddings",
        "28 MB in an unknown field",
        lambda: b'{"input":"a","other":[' + b"[]," * (28 * MB // 3) + b"[]]}",
        150,
        10,
        statuses=(200, 413),
    ),
    Case(
        "/v1/embeddings",
        "50 bodies of 31 MB at a time",
        lambda: b'{"input":"a","user":"' + b"x" * (31 * MB) + b'"}',
        600,
        60,
        health_seconds=2.0,  # beside uploads of 1.5 GB
        statuses=(200, 503),
        at_once=50,
    ),
    Case(
        "/v1/embeddings",
        "50 bodies of 31 MB that never end",
        lambda: b'{"input":"' + b"x" * (31 * MB) + b'"}',
        400,
        60,
        health_seconds=0.5,
        statuses=(408, 503),
        options=("--body-seconds", "10"),
        at_once=50,
        unfinished=True,
    ),
    Case(
        "/v1/embeddings",
        "one wide character in 31 MB",
        lambda: b'{"input":"' + b"x " * (15 * MB) + '\N{WAVING HAND SIGN}"}'.encode(),
        700,
        30,
        health_seconds=0.5,
        statuses=(413,),
    ),
    Case(
        "/embed",
        "250,000 arrays in 1 MB",
        lambda: b'{"inputs":[' + b"[]," * 249_000 + b"[]]}",
        80,
        10,
        statuses=(413,),
    ),
    Case(
        "/embed",
        "1,500 texts of 4,096 tokens within 0.2 seconds",
        lambda: json.dumps({"inputs": ["the girl eats a cake " * 819] * 1500}).encode(),
        300,
        15,
        statuses=(503,),
        options=("--request-seconds", "0.2"),
    ),
    *RANKS,
    *CLASSIFIED,
    *INDEXED,
    *MANY_LINES,
]

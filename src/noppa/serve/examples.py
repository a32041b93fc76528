"""A body for each operation that takes one: what the OpenAPI document and the page at /docs show, and can be sent as it is."""

from __future__ import annotations

from typing import Any

from noppa.serve.fields import Body, checked
from noppa.serve.problems import Problem

TEXTS = ["a girl is eating", "the bank sells shares"]
QUERY = "a child eats"

EMBEDDED = {"input": TEXTS}
RERANKED = {"query": QUERY, "documents": TEXTS, "top_n": 2}

#: By path. Those over lines need lines that were kept before; those that change an index need a key.
BODIES: dict[str, dict[str, Any]] = {
    "/v1/embeddings": EMBEDDED,
    "/embeddings": EMBEDDED,
    "/embed": {"inputs": TEXTS},
    "/rerank": RERANKED,
    "/v1/rerank": RERANKED,
    "/v2/rerank": RERANKED,
    "/similarity": {"a": "a girl is eating", "b": "a child eats", "explain": True},
    "/explain": {"text": "a girl is eating"},
    "/search": {"query": QUERY, "lines": TEXTS, "count": 1},
    "/api/embed": EMBEDDED,
    "/api/embeddings": {"prompt": "a girl is eating"},
    "/predict": {"inputs": "a lovely film"},
    "/predict/explain": {"inputs": "a lovely film"},
    "/lines": {"lines": [*TEXTS, "a girl eats"]},
    "/lines/encode": {},
    "/lines/duplicates": {"threshold": 0.9},
    "/lines/clusters": {"count": 2},
    "/lines/map": {},
    "/lines/vectors": {"format": "csv"},
    "/index/search": {"query": QUERY, "count": 5, "mode": "hybrid"},
    "/index/add": {"texts": ["the soup was cold"], "ids": ["review-7"], "metadata": [{"year": 2024}]},
    "/index/delete": {"ids": ["review-7"]},
}  # fmt: skip

#: For a classifier of pairs.
PAIR = {"inputs": ["a girl is eating", "a child eats"]}


def example_of(path: str, body: Body) -> dict[str, Any] | None:
    """A body that the operation's own checks accept; None where there is none."""
    for example in (BODIES.get(path), PAIR):
        try:
            if example is not None and example.keys() <= body.keys():
                checked(body, example)
                return example
        except Problem:
            continue
    return None

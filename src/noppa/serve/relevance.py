"""How near texts are to a query: what rerankers and TEI's /similarity answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from noppa import Encoder
from noppa.serve.served_models import BLOCK_TEXTS, Counts, Models, Watch

Scores = NDArray[np.float64]


def relevance(
    models: Models,
    encoder: Encoder,
    query: str,
    texts: list[str],
    watch: Watch,
    threads: int,
    param: str,
    *,
    truncate: bool,
) -> tuple[Scores, Counts]:
    """The cosine of each text with the query, (texts,); the same number for a text in any batch."""
    options = {"normalize": True, "truncate": truncate}
    query_row, query_counts = models.encode(encoder, [query], watch, threads, "query", **options)
    rows, counts = models.encode(encoder, texts, watch, threads, param, **options)
    blocks = [
        _dot(rows[start : start + BLOCK_TEXTS], query_row[0])
        for start in range(0, len(rows), BLOCK_TEXTS)
    ]
    # The numbers of empty items are those of the texts: the query has none.
    total = replace(query_counts + counts, empty=counts.empty)
    return np.clip(np.concatenate(blocks), -1, 1), total


def _dot(rows: NDArray[np.float32], query: NDArray[np.float32]) -> Scores:
    # Not BLAS, whose order of summation depends on the number of rows.
    return np.asarray((rows.astype(float) * query).sum(axis=1))


def ranked(scores: Scores, count: int | None = None) -> list[int]:
    """Numbers of the texts, the nearest first; equal ones in their order."""
    return [int(at) for at in np.argsort(-scores, kind="stable")[:count]]


def score(cosine: float, raw: bool = False) -> float:
    """A score from 0 to 1, as rerankers give: the cosine, and unless `raw` 0 where it is negative."""
    return round(float(cosine) if raw else max(0.0, float(cosine)), 9)

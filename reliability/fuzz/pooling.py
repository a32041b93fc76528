"""Methods and refinements with any parameters over a small vocabulary: the same bytes alone, in company and threaded,
finite, and equal to the float64 formulas that explain them.

GEM, VLAWE and S3E jump where words cancel or lie in a plane, so that float32 and float64 may differ there: these are
compared with their twins by native/pooling.cpp and tests/test_pooling.py on words that do neither.
"""

from __future__ import annotations

import warnings
from dataclasses import fields
from typing import Any

import numpy as np

from noppa import METHODS, WordVectors
from noppa import _native as kernels
from noppa.encoder.encoder import Encoder
from noppa.errors import NoppaError
from noppa.refine import REFINEMENTS

JUMPING = ("gem", "vlawe", "s3e")
#: Ordinary numbers, in which float32 follows float64 closely, and then those that it does not.
NUMBERS = (0.0, 1.0, -1.0, 0.5, -0.25, 2.0, 3.5, 0.1, -3.0, 1e15, -1e15, 1e-30, 1e-44, 1e7)
ORDINARY = 9
WHOLE = (0, 1, 2, 3, 5, 8, 64, 2**31, 2**62, -1)
REAL = (1e-3, 0.05, 0.5, 1.0, 2.0, 1e-30, 1e30, 0.0, float("nan"), 10**400)
WORDS: dict[str, tuple[Any, ...]] = {
    "position": ("paper", "reference", None),
    "noise": ("paper", "reference"),
    "variant": ("paper", "reference"),
    "kernel": ("log2", "abs", "square"),
    "policy": ("error", "truncate", "window"),
    "normalize": ("word", "dimension", None),
    "parts": (("context", "word"), ("ordered", "product", "std"), ("max", "dct2", "min"), ("dct",)),
}
#: Sizes with which a few words can be fitted in milliseconds, and now and then others.
SIZES = (1, 1, 1, 2, 2, 3, 0, 5, 2**62)
SMALL = {"epochs": (1, 2), "negatives": (1, 3), "buckets": (0, 1, 8)}
SMALL |= dict.fromkeys(("k", "h", "m", "components"), SIZES)

POOLING_SEEDS = [
    bytes([number, *range(1, 60)]) + b"the quick brown fox jumps over it all" * 3
    for number in range(len(METHODS))
] + [bytes(range(255, 0, -1)), bytes(200)]


class Reader:
    """Choices from bytes, zeros after their end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def below(self, count: int) -> int:
        self.at += 1
        return self.data[self.at - 1] % count if self.at <= len(self.data) else 0

    def one(self, choices: Any) -> Any:
        return choices[self.below(len(choices))]


def parameters(kind: type[Any], read: Reader) -> dict[str, Any]:
    """A value for some of the fields, by name or by type, wrong ones among them."""
    given: dict[str, Any] = {}
    for field in fields(kind):
        if field.name in SMALL:
            given[field.name] = read.one(SMALL[field.name])
        elif not read.below(3):
            by_type = {"int": WHOLE, "float": REAL, "bool": (True, False, "false")}
            of_type = by_type.get(str(field.type).split(" ")[0], (None,))
            given[field.name] = read.one(WORDS.get(field.name, of_type))
    return given


def pooling(data: bytes) -> None:
    read = Reader(data)
    name = read.one([*METHODS])
    method_parameters = parameters(METHODS[name], read)
    kinds = [read.one([*REFINEMENTS.values()]) for _ in range(read.below(3))]
    refinements = [(kind, parameters(kind, read)) for kind in kinds]
    dim, size, ordinary = 1 + read.below(6), 2 + read.below(6), read.below(2) > 0
    # few different ones, so that words are alike, zeros or in a line
    numbers = (
        NUMBERS[:ORDINARY] if ordinary else [read.one(NUMBERS) for _ in range(1 + read.below(3))]
    )
    matrix = [[read.one(numbers) for _ in range(dim)] for _ in range(size)]
    options = {
        "unknown": read.one(("skip", "zero")),
        "case": read.one(("exact-then-lower", "exact")),
    }
    vocabulary = [chr(ord("a") + row) for row in range(size)]
    # "z" is never a word
    texts = [
        " ".join(read.one([*vocabulary, "A", "z"]) for _ in range(read.below(9))) for _ in range(7)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            words = WordVectors(vocabulary, matrix, **options).with_ranks()
            made = [kind(**given) for kind, given in refinements]
            encoder = Encoder(words, METHODS[name](**method_parameters), made).fit(texts, threads=1)
        except NoppaError:
            return
        check(encoder, texts, ordinary and name not in JUMPING)


def check(encoder: Encoder, texts: list[str], compared: bool) -> None:
    try:
        rows = encoder.encode(texts, threads=1)
    except NoppaError:  # a text of more than max_tokens
        return
    assert np.isfinite(rows).all(), f"{encoder} gave {rows}"
    for other in (
        encoder.encode(texts[::-1], threads=3)[::-1],
        *([encoder.encode(t) for t in texts],),
    ):
        assert np.array_equal(rows, np.array(other).reshape(rows.shape)), f"{encoder}: other bytes"
    longest = max(texts, key=len)
    explained = encoder.explain(longest)
    added = explained.contributions.sum(axis=0) + sum(explained.remainders.values())
    size = max(
        np.abs(explained.contributions).max(initial=0), np.abs(explained.pooled).max(initial=0)
    )
    assert np.isfinite(explained.vector).all()
    assert np.abs(added - explained.pooled).max() <= 1e-9 * size + 1e-300, f"{encoder}: terms"
    if compared:
        pool = encoder.method.pooler(encoder.words, encoder.fitted.learnt)
        pooled = pool(*encoder.look_up([longest]), kernels.Steps([]), 1)[0][0]
        error = np.abs(pooled - explained.pooled).max()
        assert error <= 1e-4 * max(size, 1.0), f"{encoder}: {pooled} against {explained.pooled}"

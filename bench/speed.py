"""Sentences a second on SICK at 300 dimensions: noppa, a straightforward NumPy NoPPA, and model2vec's average.

    pip install model2vec && python bench/speed.py

All in one run, best of several, so that the ratios mean something on a machine whose speed changes. noppa and
model2vec start from raw text; the NumPy program is given tokens. The error is noppa's against the float64 twin.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from corpora import arguments, sick, word2vec
from measure import best

import noppa
from noppa.kernels.backend import kernels
from noppa.methods.equations import positions
from noppa.methods.weighting import smooth_frequency_weight

A, K = 0.05, 12


def straightforward(words: noppa.WordVectors, sentences: list[list[int]]) -> np.ndarray:
    """Algorithm 1 as one would write it in NumPy: a matrix expression per word."""
    matrix = words.matrix.astype(np.float64)
    weights = smooth_frequency_weight(words.needed_probabilities("NoPPA"), A)
    places = positions(128, words.dim, "paper")
    rows = np.zeros((len(sentences), 2 * words.dim))
    for at, ids in enumerate(sentences):
        vectors = matrix[ids]
        positional = vectors + places[: len(ids)]
        total = np.zeros(2 * words.dim)
        for i, word in enumerate(ids):
            scores = positional @ positional[i] / np.sqrt(words.dim)
            attention = np.exp(scores - scores.max())
            attention /= attention.sum()
            context = attention @ np.log2(1 + (positional - positional[i]) ** 2)
            total += weights[word] * np.concatenate([context, vectors[i]])
        rows[at] = total / max(len(ids), 1)
    return rows


def static_model(words: noppa.WordVectors):  # type: ignore[no-untyped-def]
    """model2vec over the same table."""
    from model2vec import StaticModel
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    vocabulary = {word: row for row, word in enumerate(words.words)}
    vocabulary.setdefault("[UNK]", len(vocabulary))
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    vectors = np.vstack([words.matrix, np.zeros((1, words.dim), np.float32)])
    return StaticModel(vectors, tokenizer)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    texts, words = sick(options.data), word2vec(options.data)
    print(
        f"{len(texts)} sentences, {words!r}, {options.threads} threads, set {kernels.instruction_set()}"
    )

    ids, offsets = words.vocabulary.look_up(texts, 1)
    sentences = [[int(row) for row in ids[a:b] if row >= 0] for a, b in pairwise(offsets)]
    few = 600
    slow = best(lambda: straightforward(words, sentences[:few]), 3) / few
    exact = straightforward(words, sentences[:few])

    methods = {
        "CE+SFW, log2": noppa.NoPPA(a=A, k=0),
        f"NoPPA, k={K}": noppa.NoPPA(a=A, k=K),
        "kernel abs": noppa.NoPPA(a=A, k=0, kernel="abs"),
        "kernel square": noppa.NoPPA(a=A, k=0, kernel="square"),
    }
    encoders = {name: noppa.Encoder(words, method).fit(texts) for name, method in methods.items()}
    static = static_model(words)
    ways = {
        "one process": lambda: static.encode(texts, use_multiprocessing=False),
        "its processes": lambda: static.encode(texts),
    }
    peers = {name: best(run, 4) / len(texts) for name, run in ways.items()}
    peer = min(peers.values())
    print(f"{'':24}{'sentences/s':>12}{'x NumPy':>10}{'x model2vec':>13}{'error':>11}")
    print(f"{'NumPy, tokens given':24}{1 / slow:12,.0f}{1:10.1f}{peer / slow:13.3f}")
    for name, seconds in peers.items():
        print(
            f"{'model2vec, ' + name:24}{1 / seconds:12,.0f}{slow / seconds:10.1f}{peer / seconds:13.2f}"
        )
    for name, encoder in encoders.items():
        seconds = best(lambda e=encoder: e.encode(texts, threads=options.threads), 9) / len(texts)  # type: ignore[misc]
        error = ""
        if name == "CE+SFW, log2":
            gap = np.linalg.norm(encoder.encode(texts[:few]) - exact, axis=1)
            error = f"{(gap / np.linalg.norm(exact, axis=1)).max():.1e}"
        print(
            f"{name:24}{1 / seconds:12,.0f}{slow / seconds:10.1f}{peer / seconds:13.2f}{error:>11}"
        )


if __name__ == "__main__":
    main()

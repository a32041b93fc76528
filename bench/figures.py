"""Compute the values of the paper's figures 2 to 5 with the available vectors: attention and contributions of words.

    python bench/figures.py ../shared/data [-o bench/results/figures.jsonl]

Of the paper's vectors, GloVe 840B, 7,700 words are available; unknown words are listed.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import noppa
from noppa.methods.method import Method
from noppa.paper import figures as paper
from noppa.paper import records

FILES = (
    "glove.6B.100d.npy",
    "word2vec-googlenews-300d-26k.bin",
    "glove.840B.300d.7700.npy",
)
#: The file with every word of Figure 2, and values of a to try: the paper does not state its own.
WHOLE = "glove.840B.300d.7700.npy"
TRIED = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
#: Figure, sentence, attending word, attended word, and the share in percent that the paper prints, if any.
PAIRS = (
    (3, paper.BLEEDING, "bleeding", "injured", 4.8),
    (3, paper.BLEEDING, "he", "David", None),
    (4, paper.CRASHED, *paper.CRASHED_VALUE),
    (5, paper.TROUBLE, *paper.TROUBLE_VALUE),
)


def share(encoder: noppa.Encoder, text: str, word: str, other: str) -> dict[str, object]:
    """Return the attention of one word to another, its rank among all words of the sentence, and the unknown words."""
    told = encoder.explain(text)
    tokens = [token for token, at in zip(told.tokens, told.positions, strict=True) if at >= 0]
    unknown = [token for token, at in zip(told.tokens, told.positions, strict=True) if at < 0]
    if word not in tokens or other not in tokens or told.attention is None:
        return {"share": None, "place": None, "unknown": unknown}
    known = np.flatnonzero(told.positions >= 0)
    row = told.attention[known[tokens.index(word)]][known]
    place = 1 + int((np.delete(row, tokens.index(word)) > row[tokens.index(other)]).sum())
    value = round(100 * float(row[tokens.index(other)]), 2)
    return {"share": value, "place": place, "of": len(tokens) - 1, "unknown": unknown}


def contributions(words: noppa.WordVectors, method: Method) -> dict[str, object]:
    """Return the values of Figure 2, the largest difference from the printed ones, and how many agree to two digits."""
    encoder = noppa.Encoder(words, method)
    cosines = {text: encoder.explain(text).cosines for text in paper.CONTRIBUTIONS}
    far = np.concatenate([cosines[text] - own for text, own in paper.CONTRIBUTIONS.items()])
    equal = sum(
        int((cosines[text].round(2) == own).sum()) for text, own in paper.CONTRIBUTIONS.items()
    )
    return {
        "cosines": {text: own.round(3).tolist() for text, own in cosines.items()},
        "worst": round(float(abs(far).max()), 4),
        "equal": equal,
        "of": len(far),
    }


def figure_2(words: noppa.WordVectors) -> Iterator[dict[str, object]]:
    """Yield the values for each a and kind of position, and for the plain average."""
    for position in ("paper", "reference"):
        for a in TRIED:
            method = noppa.NoPPA(a=a, k=0, position=position)
            told = {"encoder": "NoPPA", "position": position, "a": a}
            yield told | contributions(words, method)
    yield {"encoder": "Average"} | contributions(words, noppa.Average())


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("data", type=Path)
    options.add_argument("-o", "--output", type=Path)
    arguments = options.parse_args()
    warnings.simplefilter("ignore", noppa.NoppaWarning)
    rows: list[dict[str, object]] = []
    for name in FILES:
        words = noppa.WordVectors.load(arguments.data / "vectors" / name)
        words = words.with_counts(arguments.data / "frequency/enwiki_vocab_min200.txt")
        if name == WHOLE:
            rows += [{"figure": 2, "vectors": name} | row for row in figure_2(words)]
        for position in ("paper", "reference"):
            encoder = noppa.Encoder(words, noppa.NoPPA(a=0.05, k=0, position=position))
            for figure, text, word, other, expected in PAIRS:
                row = {"figure": figure, "vectors": name, "position": position, "word": word}
                row |= {"other": other, "paper": expected, **share(encoder, text, word, other)}
                rows.append(row)
    lines = [json.dumps(row | {"commit": records.commit()}) + "\n" for row in rows]
    print("".join(lines), end="")
    if arguments.output:
        arguments.output.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()

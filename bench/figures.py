"""What the paper's figures 2 to 5 say, with the vectors that can be had: shares of attention, and contributions of words.

    python bench/figures.py ../shared/data [-o bench/results/figures.jsonl]

The paper's own vectors, GloVe 840B, are here for 7,700 words: a word that they lack is named.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np

import noppa
from noppa.evaluate import results as records
from noppa.plot import paper

FILES = (
    "glove.6B.100d.npy",
    "word2vec-googlenews-300d-26k.bin",
    "glove.840B.300d.7700.npy",
)
#: Figure, sentence, the word that attends, the word it attends to, and the share in percent that the paper has.
PAIRS = (
    (3, paper.BLEEDING, "bleeding", "injured", 4.8),
    (4, paper.CRASHED, *paper.CRASHED_VALUE),
    (5, paper.TROUBLE, *paper.TROUBLE_VALUE),
)


def share(encoder: noppa.Encoder, text: str, word: str, other: str) -> dict[str, object]:
    """The attention of one word to another, its place among all others of the sentence, and unknown words."""
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


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("data", type=Path)
    options.add_argument("-o", "--output", type=Path)
    arguments = options.parse_args()
    warnings.simplefilter("ignore", noppa.NoppaWarning)
    lines = []
    for name in FILES:
        words = noppa.WordVectors.load(arguments.data / "vectors" / name)
        words = words.with_counts(arguments.data / "frequency/enwiki_vocab_min200.txt")
        for position in ("paper", "reference"):
            encoder = noppa.Encoder(words, noppa.NoPPA(a=0.05, k=0, position=position))
            for figure, text, word, other, expected in PAIRS:
                line = {"figure": figure, "vectors": name, "position": position, "word": word}
                line |= {"other": other, "paper": expected, **share(encoder, text, word, other)}
                print(line, flush=True)
                lines.append(json.dumps(line | {"commit": records.commit()}) + "\n")
    if arguments.output:
        arguments.output.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()

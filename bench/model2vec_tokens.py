"""How often the exported model2vec folder splits a text as we do, and how far apart the vectors are.

    python bench/model2vec_tokens.py neutral.en.txt

The preset `similarity`, which takes unknown words apart, over texts drawn from a file of one text a line; and a vocabulary
of all their tokens, which shows whether the rules of the tokenizer are the same.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import model2vec
import numpy as np
from numpy.typing import NDArray

import noppa
from noppa import _native as kernels
from noppa.export import export
from noppa.paper.results import surroundings

RESULTS = Path(__file__).parent / "results" / "model2vec.jsonl"
TEXTS, SEED = 20_000, 1111


def exported(encoder: noppa.Encoder) -> model2vec.StaticModel:
    with tempfile.TemporaryDirectory() as folder:
        export(encoder, "model2vec", Path(folder) / "model")
        return model2vec.StaticModel.from_pretrained(Path(folder) / "model")


def same(ours: noppa.Encoder, theirs: model2vec.StaticModel, texts: list[str]) -> NDArray[np.bool_]:
    """Which texts have the same ids in both, (texts,)."""
    ids, offsets = ours.look_up(texts)
    split = [ids[a:b][ids[a:b] >= 0].tolist() for a, b in pairwise(offsets.tolist())]
    pairs = zip(split, theirs.tokenize(texts), strict=True)
    return np.array([own == other for own, other in pairs])


def main() -> None:
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").split("\n")
    drawn = np.random.default_rng(SEED).choice(len(lines), TEXTS, replace=False)
    texts = [lines[at] for at in drawn]
    ours = noppa.load("similarity")
    theirs = exported(ours)
    seconds, rows = {}, {}
    for name, model in {"noppa": ours, "model2vec": theirs}.items():
        begun = time.process_time()
        rows[name] = model.encode(texts)
        seconds[name] = round(time.process_time() - begun, 3)
    alike = same(ours, theirs, texts)
    left, right = rows["noppa"].astype(float), rows["model2vec"].astype(float)
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    cosines = (left * right).sum(axis=1) / np.where(lengths > 0, lengths, 1)
    tokens = sorted({token for text in texts for token in kernels.tokenize(text)})
    whole = noppa.WordVectors(tokens, np.ones((len(tokens), 1)), case="exact")
    plain = noppa.Encoder(whole, noppa.Average())
    record = {
        "texts": TEXTS,
        "same_tokens": round(float(alike.mean()), 5),
        "same_tokens_of_whole_words": round(float(same(plain, exported(plain), texts).mean()), 5),
        "largest_difference": float(np.abs(left - right)[alike].max()),
        "mean_cosine_of_others": round(float(cosines[~alike & (lengths > 0)].mean()), 4),
        "cpu_seconds": seconds,
        "model2vec": model2vec.__version__,
        **surroundings(),
    }
    print(record)
    RESULTS.write_text(json.dumps(record) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

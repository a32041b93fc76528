"""How often the exported model2vec folder splits a text as we do, and how far apart the vectors are.

    python bench/model2vec_tokens.py neutral.en.txt

The preset `similarity` over texts drawn from a file of one text a line.
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

import noppa
from noppa.evaluate.records import surroundings
from noppa.export import export

RESULTS = Path(__file__).parent / "results" / "model2vec.jsonl"
TEXTS, SEED = 20_000, 1111


def main() -> None:
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").split("\n")
    drawn = np.random.default_rng(SEED).choice(len(lines), TEXTS, replace=False)
    texts = [lines[at] for at in drawn]
    ours = noppa.load("similarity")
    with tempfile.TemporaryDirectory() as folder:
        export(ours, "model2vec", Path(folder) / "model")
        theirs = model2vec.StaticModel.from_pretrained(Path(folder) / "model")
    seconds = {}
    rows = {}
    for name, model in {"noppa": ours, "model2vec": theirs}.items():
        begun = time.process_time()
        rows[name] = model.encode(texts)
        seconds[name] = round(time.process_time() - begun, 3)
    ids, offsets = ours.look_up(texts)
    split = [ids[a:b][ids[a:b] >= 0].tolist() for a, b in pairwise(offsets.tolist())]
    same = np.array(
        [own == other for own, other in zip(split, theirs.tokenize(texts), strict=True)]
    )
    left, right = rows["noppa"].astype(float), rows["model2vec"].astype(float)
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    cosines = (left * right).sum(axis=1) / np.where(lengths > 0, lengths, 1)
    record = {
        "texts": TEXTS,
        "same_tokens": round(float(same.mean()), 5),
        "largest_difference": float(np.abs(left - right)[same].max()),
        "mean_cosine_of_others": round(float(cosines[~same & (lengths > 0)].mean()), 4),
        "cpu_seconds": seconds,
        "model2vec": model2vec.__version__,
        **surroundings(),
    }
    print(record)
    RESULTS.write_text(json.dumps(record) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

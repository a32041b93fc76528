"""What does noise removal remove? The last k directions of real sentences, and what the authors' program takes instead.

    python bench/noise.py ../shared/data

GloVe-100, a = 0.05, sentences of SICK's training set and of MR. Energy is the sum of squares, which the singular values
of the uncentred matrix share out; variance is what is left of it without the mean.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import noppa
from noppa.refine import Moments

PAIRS = 20_000


def corpora(data: Path) -> dict[str, list[str]]:
    sick = (data / "senteval/downstream/SICK/SICK_train.txt").read_text("utf-8").split("\n")[1:]
    rows = [line.split("\t") for line in sick if line]
    films = [
        line
        for name in ("pos", "neg")
        for line in (data / f"senteval/downstream/MR/rt-polarity.{name}")
        .read_text("latin-1")
        .split("\n")
        if line.strip()
    ]
    return {"SICK": [text for row in rows for text in row[1:3]], "MR": films}


def cosines(rows: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray((unit[first] * unit[second]).sum(axis=1))


def main(data: Path) -> None:
    words = noppa.WordVectors.load(data / "vectors/glove.6B.100d.npy")
    words = words.with_counts(data / "frequency/enwiki_vocab_min200.txt")
    for name, texts in corpora(data).items():
        plain = noppa.Encoder(words, noppa.NoPPA(k=0))
        before = plain.encode(texts).astype(float)
        nonzero = np.abs(before).max(axis=1) > 0
        before = before[nonzero]
        moments = Moments.of(before)
        values, directions = np.linalg.eigh(moments.second)
        first, mean = directions[:, -1], moments.mean / np.linalg.norm(moments.mean)
        selves = []
        for text in texts[:: len(texts) // 500]:
            explanation = plain.explain(text)
            if explanation.attention is not None:
                selves += np.diag(explanation.attention)[explanation.positions >= 0].tolist()
        context = (directions[: words.dim, :12] ** 2).sum() / 12
        share = (before[:, : words.dim] ** 2).sum() / (before**2).sum()
        print(f"{name}: {len(before)} sentences of {before.shape[1]} dimensions")
        print(f"  first direction: {values[-1] / values.sum():.1%} of the energy, ", end="")
        print(f"cosine {abs(first @ mean):.4f} with the mean sentence")
        print(f"  last 12 directions: {context:.0%} in the context half, ", end="")
        print(f"which has {share:.0%} of the energy")
        print(f"  attention of a word to itself: {np.mean(selves):.0%} on average")
        pairs = np.random.default_rng(0).integers(0, len(before), (2, PAIRS))
        for noise in ("paper", "reference"):
            for k in (12, 24):
                encoder = noppa.Encoder(words, noppa.NoPPA(k=k, noise=noise)).fit(texts)
                after = encoder.encode(texts).astype(float)[nonzero]
                energy = 1 - (after**2).sum() / (before**2).sum()
                variance = 1 - after.var(axis=0).sum() / before.var(axis=0).sum()
                moved = np.abs(cosines(after, *pairs) - cosines(before, *pairs))
                print(
                    f"  noise={noise!r}, k={k}: {energy:.3%} of the energy, {variance:.2%} of the variance, "
                    f"a cosine moves by {moved.mean():.4f}, at most {moved.max():.4f}"
                )


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""The main job in one page: sentences in, vectors and a similarity table out.

DEMONSTRATION ONLY: the word vectors are made here, from the 400 simple sentences beside this file, because this version
ships no vectors of its own. They show how everything fits together, not how good the vectors of a real vocabulary are.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import noppa
from noppa.tokens import tokenize

CORPUS = Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8").splitlines()
OUT = Path("demo-out")
SHOWN = [
    "A girl bakes a delicious cake for the family.",
    "The cook prepares bread in the kitchen.",
    "The singer plays the guitar on the stage.",
    "The band performs new music at the concert.",
    "The dog chases a rabbit near the river.",
    "The bank sells its shares on the market.",
]


def made_vectors(corpus: list[str], dim: int = 48) -> noppa.WordVectors:
    """Word vectors from co-occurrence: positive pointwise mutual information within four words, then an SVD."""
    sentences = [[token.lower() for token in tokenize(text)] for text in corpus]
    vocabulary = sorted({token for sentence in sentences for token in sentence})
    row = {word: number for number, word in enumerate(vocabulary)}
    counts = np.zeros((len(vocabulary), len(vocabulary)))
    for sentence in sentences:
        for i, word in enumerate(sentence):
            for other in sentence[max(0, i - 4) : i]:
                counts[row[word], row[other]] += 1
                counts[row[other], row[word]] += 1
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    information = np.log(np.maximum(counts, 1e-9) / expected)
    directions, sizes, _ = np.linalg.svd(np.maximum(information, 0))
    vectors = directions[:, :dim] * np.sqrt(sizes[:dim])
    return noppa.WordVectors(vocabulary, vectors).with_corpus(text.lower() for text in corpus)


def main() -> None:
    console = Console()
    words = made_vectors(CORPUS)
    console.print(f"[bold]Demonstration vectors[/] made from {len(CORPUS)} sentences: {words!r}")
    model = noppa.Encoder(words, noppa.NoPPA(a=0.05, k=2), refine=noppa.CommonComponents(1))
    model.fit(CORPUS)
    vectors = model.encode(SHOWN)
    OUT.mkdir(exist_ok=True)
    np.save(OUT / "vectors.npy", vectors)
    model.save(OUT / "model")
    console.print(f"{len(SHOWN)} sentences -> vectors {vectors.shape}, saved in {OUT}/vectors.npy")
    table = Table("similarity", *(str(number) for number in range(1, len(SHOWN) + 1)))
    for number, (text, cosines) in enumerate(
        zip(SHOWN, model.similarity(SHOWN, SHOWN), strict=True), 1
    ):
        cells = (f"[bold]{c:.2f}[/]" if c > 0.3 else f"{c:.2f}" for c in cosines)
        table.add_row(f"{number} {text}", *cells)
    console.print(table)
    console.print(f"The encoder is in {OUT}/model: try  noppa similarity -m {OUT}/model TEXT TEXT")


if __name__ == "__main__":
    main()

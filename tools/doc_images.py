"""Draw the figures in docs/images.

python tools/doc_images.py ../shared/data
"""

from __future__ import annotations

import sys
from pathlib import Path

import noppa
from noppa import plot
from noppa.paper import figures

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
KINDS = {"HUM": "human", "NUM": "number", "LOC": "place", "DESC": "description"}
PAIR = ("the girl eats a cake", "a girl is eating some delicious pie")


def main(data: Path) -> None:
    counts = data / "frequency" / "enwiki_vocab_min200.txt"
    words = noppa.WordVectors.load(data / "vectors" / "glove.6B.100d.npy").with_counts(counts)
    encoder = noppa.Encoder(words, noppa.NoPPA(k=0))
    plot.save([figures.figure1(figures.counted(counts))], IMAGES / "figure1.png")
    theirs = noppa.WordVectors.load(data / "vectors" / "glove.840B.300d.7700.npy").with_counts(
        counts
    )
    as_drawn = noppa.Encoder(theirs, noppa.NoPPA(a=0.005, k=0, position="reference"))
    plot.save(figures.figure2(as_drawn), IMAGES / "figure2.png")
    plot.save(figures.figure3(encoder), IMAGES / "figure3.png")
    plot.alignment(encoder.explain_pair(*PAIR)).save(IMAGES / "alignment.png")
    path = data / "senteval" / "downstream" / "TREC" / "train_5500.label"
    lines = path.read_text("latin-1").split("\n")[:400]
    rows = [line.split(" ", 1) for line in lines if line.split(":")[0] in KINDS][:200]
    labels = [KINDS[row[0].split(":")[0]] for row in rows]
    questions = plot.sentence_map(encoder, [row[1] for row in rows], labels, "Questions of TREC")
    questions.save(IMAGES / "map-dark.png", dark=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

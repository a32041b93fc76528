"""Encode sentences with the embedded model, save the vectors and print a table of similarities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import noppa

OUT = Path("demo-out")
SENTENCES = [
    "A girl bakes a delicious cake for the family.",
    "The cook prepares bread in the kitchen.",
    "The singer plays the guitar on the stage.",
    "The band performs new music at the concert.",
    "The dog chases a rabbit near the river.",
    "The bank sells its shares on the market.",
]


def main() -> None:
    console = Console()
    model = noppa.load()
    vectors = model.encode(SENTENCES)
    OUT.mkdir(exist_ok=True)
    np.save(OUT / "vectors.npy", vectors)
    console.print(f"{model.words!r}")
    console.print(
        f"{len(SENTENCES)} sentences -> vectors {vectors.shape}, saved in {OUT}/vectors.npy"
    )
    cosines = noppa.load("similarity").similarity(SENTENCES, SENTENCES)
    table = Table("similarity", *(str(number) for number in range(1, len(SENTENCES) + 1)))
    for number, (text, row) in enumerate(zip(SENTENCES, cosines, strict=True), 1):
        cells = (f"[bold]{cosine:.2f}[/]" if cosine > 0.3 else f"{cosine:.2f}" for cosine in row)
        table.add_row(f"{number} {text}", *cells)
    console.print(table)
    console.print('Try your own:  noppa similarity "a girl is eating" "the girl eats a cake"')


if __name__ == "__main__":
    main()

"""The shared data that the benchmarks measure on: `--data DIR`, by default `../shared/data` beside the repository."""

from __future__ import annotations

import argparse
from pathlib import Path

import noppa

ROOT = Path(__file__).resolve().parent.parent


def arguments(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    return parser


def sick(data: Path) -> list[str]:
    """SICK's 19,854 sentences, both columns of the three files: the paper's speed corpus."""
    texts = []
    for name in ("SICK_train", "SICK_trial", "SICK_test_annotated"):
        file = data / "senteval" / "downstream" / "SICK" / f"{name}.txt"
        for line in file.read_text(encoding="utf-8").splitlines()[1:]:
            texts += line.split("\t")[1:3]
    return texts


def sst(data: Path) -> list[str]:
    """Every sentence and phrase of SST-2."""
    folder = data / "senteval" / "downstream" / "SST" / "binary"
    return [
        line.rpartition("\t")[0]
        for part in ("train", "dev", "test")
        for line in (folder / f"sentiment-{part}").read_text(encoding="utf-8").splitlines()
    ]


def glove(data: Path) -> noppa.WordVectors:
    """The shared GloVe vectors, 100 dimensions, with the Wikipedia counts."""
    words = noppa.WordVectors.load(data / "vectors" / "glove.6B.100d.npy")
    return words.with_counts(data / "frequency" / "enwiki_vocab_min200.txt")


def word2vec(data: Path) -> noppa.WordVectors:
    """The shared word2vec vectors, 300 dimensions, with the Wikipedia counts."""
    words = noppa.WordVectors.load(data / "vectors" / "word2vec-googlenews-300d-26k.bin")
    return words.with_counts(data / "frequency" / "enwiki_vocab_min200.txt")

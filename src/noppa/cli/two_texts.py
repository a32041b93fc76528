"""`noppa similarity TEXT TEXT` without options: answered before typer is imported, which takes longer than all the rest."""

from __future__ import annotations

from noppa.encoder.encoder import Encoder
from noppa.encoder.models import SIMILARITY, load


def two_texts(arguments: list[str]) -> list[str]:
    """The texts, where the arguments ask for their similarity and for nothing else; none otherwise."""
    command, *texts = arguments or [""]
    is_plain = len(texts) == 2 and not any(text.startswith("-") for text in texts)
    return texts if command == "similarity" and is_plain else []


def answer(texts: list[str]) -> None:
    print_cosine(load(SIMILARITY), *texts)


def print_cosine(encoder: Encoder, a: str, b: str) -> None:
    print(f"{encoder.similarity(a, b):.4f}")

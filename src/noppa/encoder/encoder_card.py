"""Model cards of encoders, and the licence of their words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from noppa.encoder import embedded
from noppa.io.model_card import model_card
from noppa.words.word_vectors import WordVectors

#: Of the embedded words: that of their list and its frequencies.
WORDS_LICENSE = "cc-by-sa-4.0"


def encoder_card(
    repo_id: str,
    folder: Path,
    facts: Mapping[str, str],
    license: str | None,
    figures: Mapping[str, float] | None,
) -> str:
    """The card of an encoder that was just saved."""
    usage = [
        "import noppa",
        f'model = noppa.load("hf:{repo_id}")',
        'vectors = model.encode(["the girl eats a cake", "a girl is eating"])',
        "",
        f'noppa similarity "a girl is eating" "the girl eats a cake" -m hf:{repo_id}',
    ]
    summary = f"Sentence vectors: {facts['vectors']}."
    return model_card(
        repo_id, folder, "feature-extraction", summary, usage, facts, license, figures
    )


def license_of(words: WordVectors) -> str | None:
    """That of the embedded words, where these are from them; None for words whose licence only their owner knows."""
    if not embedded.presets():
        return None
    ours = WordVectors.open_folder(embedded.FOLDER / "words").lexicon.text
    return WORDS_LICENSE if np.array_equal(ours, words.lexicon.text) else None

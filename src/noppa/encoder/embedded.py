"""The model inside the package: one table of words, and presets that take all or some of its columns.

model/noppa.json        the names of the presets
model/words/            the words, as `WordVectors.save` writes them
model/default/          an encoder without words of its own: its header names ../words and the columns
model/similarity/       another one
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noppa.io import schema, storage

if TYPE_CHECKING:
    from noppa.words.word_vectors import WordVectors

KIND = "model"
FIELDS = {"presets": schema.is_texts}
DEFAULT = "default"
#: Of the word list and its frequencies.
WORDS_LICENSE = "cc-by-sa-4.0"
FOLDER = Path(__file__).parent / "model"


def to_dict() -> dict[str, Any] | None:
    """What the embedded model holds: `presets`, `words`, `pieces`, `dim` and `bytes`; None where there is no model."""
    if not (FOLDER / storage.HEADER).is_file():
        return None
    size = sum(file.stat().st_size for file in FOLDER.rglob("*") if file.is_file())
    header = _header()
    return {**{name: header[name] for name in header if name != "files"}, "bytes": size}


def presets() -> list[str]:
    """The names of the presets, none where there is no model."""
    return list(_header()["presets"]) if (FOLDER / storage.HEADER).is_file() else []


def _header() -> dict[str, Any]:
    return storage.read_folder(FOLDER, KIND, FIELDS, storage.INSTALLED).header


def license_of(words: WordVectors) -> str | None:
    """Return the license of the embedded words if these are them, else None: only their owner knows it."""
    text = storage.read_folder(FOLDER / "words", "words", {}, storage.INSTALLED).read(
        {"text": "u1 bytes"}, {}
    )["text"]
    return WORDS_LICENSE if np.array_equal(text, words.lexicon.text) else None

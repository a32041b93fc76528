"""The model inside the package: one table of words, and presets that use all or some of its columns.

model/noppa.json        the names of the presets
model/words/            the words, as `WordVectors.save` writes them
model/default/          an encoder without words: its header names ../words and the columns
model/similarity/       another one
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noppa.io import schema, storage

if TYPE_CHECKING:
    from noppa.words.word_vectors import WordVectors

KIND = "model"
DEFAULT = "default"
#: License of the word list and its frequencies.
WORDS_LICENSE = "cc-by-sa-4.0"
FOLDER = Path(__file__).parent / "model"


def presets() -> list[str]:
    """Return the names of the presets."""
    return list(_header()["presets"])


def is_preset(name: str) -> bool:
    """Return whether a name is that of a preset."""
    return name.isidentifier() and name != "words" and name in os.listdir(FOLDER)


def to_dict() -> dict[str, Any]:
    """Describe the embedded model: `presets`, `words`, `pieces`, `dim` and `bytes`."""
    size = sum(file.stat().st_size for file in FOLDER.rglob("*") if file.is_file())
    header = _header()
    return {**{name: header[name] for name in header if name != "files"}, "bytes": size}


def _header() -> dict[str, Any]:
    return storage.read_folder(FOLDER, KIND, {"presets": schema.is_texts}, storage.INSTALLED).header


def license_of(words: WordVectors) -> str | None:
    """Return the license of the embedded words if `words` come from them; otherwise None, for unknown."""
    text = storage.read_folder(FOLDER / "words", "words", {}, storage.INSTALLED).read(
        {"text": "u1 bytes"}, {}
    )["text"]
    return WORDS_LICENSE if np.array_equal(text, words.lexicon.text) else None

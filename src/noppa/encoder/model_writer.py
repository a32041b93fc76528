"""Write the model that the package ships: one table of words, and presets that take all or some of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.encoder import encoder_folder
from noppa.encoder.embedded import DEFAULT, KIND
from noppa.encoder.encoder import Encoder
from noppa.encoder.encoder_folder import WORDS
from noppa.errors import ParameterError
from noppa.io import storage
from noppa.words.word_vectors import WordVectors


def write_model(
    folder: str | PathLike[str], words: WordVectors, presets: Mapping[str, Encoder]
) -> None:
    """Write a model: its words once, and each preset; the same input gives the same bytes.

    Each encoder has `words` itself or `words.columns(start, stop)`, either also `with_scales`, is fitted and has no
    tokenizer of its own.
    """
    if DEFAULT not in presets:
        raise ParameterError(f"a model needs a preset called {DEFAULT!r}, not only {[*presets]}")
    places = {name: _place(name, encoder, words) for name, encoder in presets.items()}
    scales = {
        name: _scales(encoder.words, words, places[name]) for name, encoder in presets.items()
    }

    def inside(new: Path) -> dict[str, Any]:
        words.save(new / WORDS)
        for name, encoder in presets.items():
            place = (f"../{WORDS}", places[name], scales[name])
            encoder_folder.write_beside(new / name, encoder.contents, *place)
        return {}

    header = {
        "presets": [*presets],
        "words": words.lexicon.whole_words,
        "pieces": words.pieces,
        "dim": words.dim,
    }
    storage.write_folder(folder, KIND, header, {}, inside)


def _place(name: str, encoder: Encoder, words: WordVectors) -> tuple[int, int] | None:
    """Which columns of the words a preset takes, None for all."""
    if not name.isidentifier() or name == WORDS:
        raise ParameterError(f"a preset has a plain word for a name, and not {name!r}")
    if encoder.tokenizer is not None:
        raise ParameterError(f"the preset {name!r} has a tokenizer of its own, which no file holds")
    place = encoder.words.rows.place_in(words.rows)
    if place is None or not encoder.words.shares_with(words):
        raise ParameterError(
            f"the preset {name!r} has other words than the model: make its encoder with `words` or "
            "`words.columns(start, stop)` of the words given here"
        )
    return None if place == (0, words.dim) else place


def _scales(
    own: WordVectors, words: WordVectors, place: tuple[int, int] | None
) -> NDArray[np.float32] | None:
    """The scales of a preset, None where they are those of the words."""
    shared = (words.columns(*place) if place else words).rows.scales
    return None if np.array_equal(own.rows.scales, shared) else own.rows.scales  # type: ignore[arg-type]

"""The model inside the package: one table of words, and presets that take all or some of its columns.

model/noppa.json        the names of the presets
model/words/            the words, as `WordVectors.save` writes them
model/default/          an encoder without words of its own: its header names ../words and the columns
model/similarity/       another one
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.encoder.encoder import Encoder
from noppa.encoder.encoder_folder import WORDS
from noppa.errors import FileError, NoppaError, ParameterError
from noppa.io import schema, storage
from noppa.parameters import shown
from noppa.text.tokens import Tokenizer
from noppa.words.word_vectors import WordVectors

KIND = "model"
FIELDS = {"presets": schema.TEXTS}
DEFAULT = "default"
FOLDER = Path(__file__).parent / "model"


def described() -> dict[str, Any] | None:
    """What the embedded model holds: `presets`, `words`, `pieces`, `dim` and `bytes`; None where there is no model."""
    if not (FOLDER / storage.HEADER).is_file():
        return None
    size = sum(file.stat().st_size for file in FOLDER.rglob("*") if file.is_file())
    header = _header()
    return {**{name: header[name] for name in header if name != "files"}, "bytes": size}


def presets() -> list[str]:
    """The names of the presets, none where there is no model."""
    if not (FOLDER / storage.HEADER).is_file():
        return []
    return list(_header()["presets"])


def _header() -> dict[str, Any]:
    return storage.read_folder(FOLDER, KIND, FIELDS, storage.INSTALLED).header


def load(
    name_or_path: str | PathLike[str] | None = None,
    tokenizer: Tokenizer | None = None,
    verify: bool = False,
) -> Encoder:
    """The embedded model, a preset of it by name, or a saved encoder from its folder.

    A preset goes before a folder of the same name; `./NAME` is the folder.
    """
    names = presets()
    if name_or_path is None:
        if not names:
            raise NoppaError(
                "this version has no embedded model yet: give the folder of a saved encoder"
            )
        name_or_path = DEFAULT
    if not isinstance(name_or_path, (str, PathLike)):
        raise ParameterError(
            f"a model is the name of a preset or the path of a folder, not {shown(name_or_path)}"
        )
    if isinstance(name_or_path, str) and name_or_path in names:
        verified = storage.EVERY_BYTE if verify else storage.INSTALLED
        return Encoder.open_folder(FOLDER / name_or_path, tokenizer, verified)
    if names and not storage.existing(Path(name_or_path)).exists():
        raise FileError(
            f"{name_or_path} does not exist: give the folder of a saved encoder, or one of the presets "
            + ", ".join(names)
        )
    return Encoder.load(name_or_path, tokenizer, verify)


def name_of(path: Path) -> str:
    """What `load` takes for a saved encoder anywhere: a preset's name, since that lies elsewhere on another machine."""
    return path.name if path.parent == FOLDER else str(path)


def reopened(name_or_path: str, fingerprint: str) -> Encoder:
    """The encoder that was pickled as its name or path, and no other."""
    try:
        encoder = load(name_or_path)
    except FileError as error:
        raise FileError(
            f"an encoder was pickled as its folder {name_or_path}, which cannot be loaded here: {error}"
        ) from error
    if encoder.fingerprint != fingerprint:
        raise FileError(
            f"{name_or_path} holds another encoder here than the one that was pickled: copy that one here"
        )
    return encoder


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
            encoder.save_beside(new / name, f"../{WORDS}", places[name], scales[name])
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

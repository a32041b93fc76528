"""Which encoder made an index: stored by the name of a preset or the folder of a saved encoder, with its checksum."""

from __future__ import annotations

from pathlib import Path

from noppa.encoder import embedded
from noppa.encoder.encoder import Encoder
from noppa.encoder.loading import load
from noppa.errors import FileError
from noppa.io import storage
from noppa.search.index import CHECKSUM, MODEL, Index


def model_fields(encoder: Encoder) -> dict[str, str | None]:
    """The header fields of an index for the encoder of its vectors; a preset goes by its name, never by a path."""
    path = encoder.path
    return {
        MODEL: encoder.identity.name or None,
        CHECKSUM: None if path is None else storage.header_checksum(path),
    }


def encoder_of(index: Index, folder: str, model: str | None = None) -> Encoder:
    """The encoder that made an index, or the named one if it is the same; `folder` is what an error calls the index."""
    name = model or _portable_name(index.header.get(MODEL))
    encoder = load(name)
    if model_fields(encoder)[CHECKSUM] != index.header.get(CHECKSUM):
        raise FileError(
            f"{folder} was made with another encoder than {name}: make it again with noppa index"
        )
    return encoder


def _portable_name(model: str | None) -> str | None:
    """The stored name; the first edition stored a preset as its path in the environment that made the index."""
    path = Path(model or "")
    is_gone = path.parent.name == embedded.FOLDER.name and not path.exists()
    return path.name if is_gone and path.name in embedded.presets() else model

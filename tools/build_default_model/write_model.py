"""Write a model like the embedded one."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from noppa import Encoder, WordVectors
from noppa.encoder import embedded
from noppa.encoder import storage as encoder_storage
from noppa.io import storage
from noppa.words.matrix import Matrix, packed_layout


def write_model(
    folder: str | PathLike[str], words: WordVectors, presets: Mapping[str, Encoder]
) -> None:
    """Write the words once, and each preset. The same input gives the same bytes.

    Each encoder is fitted, has no tokenizer function, and uses `words` or `words.columns(start, stop)`, possibly
    `with_scales`.
    """

    def write_parts(new: Path) -> dict[str, Any]:
        words.save(new / encoder_storage.WORDS)
        for name, encoder in presets.items():
            write_preset(new / name, encoder, words)
        return {}

    header = {
        "presets": [*presets],
        "words": words.lexicon.whole_words,
        "pieces": words.pieces,
        "dim": words.dim,
    }
    storage.write_folder(folder, embedded.KIND, header, {}, write_parts)


def write_preset(path: Path, encoder: Encoder, words: WordVectors) -> None:
    """Write an encoder without its words, which are in `../words`: only its columns and scales of them.

    The header stores the checksum of the words' header, so that a preset is never used with words of another version.
    Steps are float32, as the native kernels apply them.
    """
    place, own = columns_in(encoder.words.rows, words.rows), encoder.words
    is_shared = own.lexicon is words.lexicon and own.word_probabilities is words.word_probabilities
    if place is None or not is_shared:
        raise ValueError(f"the preset {path.name!r} has other words than the model")
    columns = None if place == (0, words.dim) else place
    fitted = encoder.fitted
    arrays = {name: array.astype(np.float32) for name, array in fitted.step_arrays().items()}
    shared = words.columns(*columns) if columns else words
    scales = encoder.words.rows.scales
    if scales is not None and not np.array_equal(scales, shared.rows.scales):  # type: ignore[arg-type]
        arrays[encoder_storage.SCALES] = scales
    checksum = storage.header_checksum(path.parent / encoder_storage.WORDS)
    header = encoder_storage.header(
        encoder,
        {
            "words": f"../{encoder_storage.WORDS}",
            encoder_storage.WORDS_CHECKSUM: checksum,
            "columns": columns,
        },
    )
    storage.write_folder(path, encoder_storage.KIND, header, {**fitted.learnt, **arrays})


def columns_in(part: Matrix, whole: Matrix) -> tuple[int, int] | None:
    """Return the columns (start, stop) of `whole` that `part` is a view of, None if it is no such view."""
    view, base = part.values, whole.values
    if view.dtype != base.dtype or len(view) != len(base) or view.strides != base.strides:
        return None
    start, remainder = divmod(view.ctypes.data - base.ctypes.data, base.itemsize)
    if remainder or start < 0 or start + view.shape[1] > base.shape[1]:
        return None
    if part.bits:
        blocks = packed_layout(whole.blocks, whole.bits)
        block = next(block for block in blocks if start < block.last)
        start = block.start + (start - block.first) * 8 // block.bits
        if start + part.dim > whole.dim:
            return None
        same = whole.columns(start, start + part.dim)
        if (same.blocks, same.bits) != (part.blocks, part.bits):
            return None
    return start, start + part.dim

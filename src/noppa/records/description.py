"""All that decides the bytes of a run's output, except the content of its input: what a resume must have again."""

from __future__ import annotations

import hashlib
import json
from os import PathLike
from pathlib import Path
from typing import Any

from noppa import __version__
from noppa.encoder.encoder import Encoder
from noppa.io.storage import HEADER
from noppa.kernels.backend import kernels
from noppa.records.batch import Input

#: How many words tell one model from another that was never saved.
PROBED = 1000


def described(
    source: Input, form: str, options: list[Any], model: Encoder, path: str | PathLike[str] | None
) -> dict[str, Any]:
    """The facts by the name that a message gives them, as JSON gives them back."""
    facts = {
        "input": list(source.paths),
        "columns": [source.form, source.column, source.header],
        "output format": form,
        "options": options,
        "model": _checksum(model, path),
        "version of noppa": [__version__, kernels.instruction_set()],
    }
    plain: dict[str, Any] = json.loads(json.dumps(facts, default=repr))
    return plain


def _checksum(model: Encoder, path: str | PathLike[str] | None) -> str:
    """Of the sealed headers of a model's folder, or of what it makes of its own words."""
    headers = sorted(Path(path).rglob(HEADER)) if path else []
    content = b"".join(header.read_bytes() for header in headers)
    if not content:
        vectors = model.encode(model.words.words[:PROBED], 1)
        content = repr(model).encode() + vectors.tobytes()
    return hashlib.sha256(content).hexdigest()

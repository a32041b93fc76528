"""Peers that are not ours: anything that encodes texts, with the face of an `Encoder`.

noppa.external(SentenceTransformer("all-MiniLM-L6-v2"))      # an object with `encode`
noppa.external(lambda texts: hub_module(texts).numpy())      # a function from texts to rows, such as USE
noppa.external("models/all-MiniLM-L6-v2")                    # a sentence-transformers folder or name
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import NoppaError, ParameterError
from noppa.extras import needs
from noppa.parameters import short_repr
from noppa.words.texts import texts_of


class External:
    """An encoder from elsewhere: `encode`, `similarity` and `dim` as those of an `Encoder`."""

    def __init__(self, name: str, rows_of: Callable[[list[str]], Any]) -> None:
        self.name = name
        self._rows_of = rows_of

    def __repr__(self) -> str:
        return f"External({self.name})"

    @cached_property
    def dim(self) -> int:
        """Length of a vector, found by encoding one text."""
        return int(self._encode(["a"]).shape[1])

    def encode(self, texts: Any, *, normalize: bool = False) -> NDArray[np.float32]:
        """Vectors of texts: (dim,) for one text, (n, dim) for a collection of n, float32 and finite."""
        if isinstance(texts, str):
            return np.asarray(self.encode([texts], normalize=normalize)[0])
        items = texts_of(texts)
        rows = self._encode(items) if items else np.empty((0, self.dim), np.float32)
        if normalize:
            lengths = np.linalg.norm(rows.astype(float), axis=1, keepdims=True)
            rows = (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
        return rows

    def similarity(self, a: Any, b: Any) -> Any:
        """Cosine of two texts, a float; of two collections, all against all, (len(a), len(b))."""
        left, right = self.encode(a, normalize=True), self.encode(b, normalize=True)
        cosines = np.clip(left.astype(float) @ right.T.astype(float), -1, 1)
        return float(cosines) if cosines.ndim == 0 else cosines

    def _encode(self, items: list[str]) -> NDArray[np.float32]:
        rows = np.asarray(self._rows_of(items), np.float32)
        if rows.ndim != 2 or len(rows) != len(items):
            raise ParameterError(
                f"{self.name} gave an array of shape {rows.shape} for {len(items)} texts: "
                f"it must give one row a text, ({len(items)}, dim)"
            )
        if not np.isfinite(rows).all():
            row = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
            raise ParameterError(
                f"{self.name} gave a value that is not finite for text {row}: look at that text"
            )
        return rows


def external(source: Any) -> External:
    """Wrap an object with `encode`, a function from a list of texts to rows, or a sentence-transformers path.

    What comes back encodes, compares and takes part in evaluations as an `Encoder` does.

    >>> import noppa
    >>> noppa.external(lambda texts: [[len(text), 1] for text in texts]).encode(["a", "abc"]).shape
    (2, 2)
    """
    if isinstance(source, (str, PathLike)):
        return External(str(source), sentence_transformer(str(source)))
    if callable(getattr(source, "encode", None)):
        return External(type(source).__name__, source.encode)
    if callable(source):
        return External(getattr(source, "__name__", type(source).__name__), source)
    raise ParameterError(
        f"{short_repr(source)} cannot encode: give an object with encode, a function from texts to rows, "
        "or the path of a sentence-transformers model"
    )


def sentence_transformer(path: str) -> Callable[..., Any]:
    """The `encode` of a sentence-transformers model, loaded now."""
    with needs("sbert", f"the model {path}"):
        from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found,unused-ignore]
    try:
        model = SentenceTransformer(path)
    except (OSError, ValueError) as error:
        why = str(error).partition("\n")[0]
        raise NoppaError(
            f"{path} cannot be loaded by sentence-transformers ({why}): give the folder or the name of one of its models"
        ) from error
    return partial(model.encode, show_progress_bar=False)

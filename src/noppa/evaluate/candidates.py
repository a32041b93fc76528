"""What is scored: an encoder to be fitted on training texts, or one that is ready as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from noppa.encoder.encoder import Encoder
from noppa.methods import registry
from noppa.methods.protocol import Method
from noppa.refine import Refinement
from noppa.words.word_vectors import WordVectors

Vectors = NDArray[np.float32]


class Encodes(Protocol):
    """Anything that turns a list of texts into vectors (n, dim)."""

    def encode(self, texts: Any) -> Any: ...


class Candidate(Protocol):
    """One row of a table of results."""

    @property
    def name(self) -> str:
        """What its row is called."""

    @property
    def learns(self) -> bool:
        """Whether `fitted` looks at the texts it is given."""

    def described(self) -> dict[str, Any]:
        """Its parameters, as JSON."""

    def fitted(self, texts: Sequence[str]) -> Encodes:
        """An encoder that has seen these texts and no others."""


@dataclass(frozen=True)
class Recipe:
    """Word vectors and a method, from which a new encoder is made for each set of training texts."""

    words: WordVectors
    method: Method
    name: str
    refine: tuple[Refinement, ...] = ()

    @property
    def learns(self) -> bool:
        return bool(self.method.refinements() or self.refine or self.method.learns)

    def described(self) -> dict[str, Any]:
        method = registry.described(self.method)
        return {
            "method": method.pop("name"),
            **method,
            "refine": [registry.described(part) for part in self.refine],
        }

    def fitted(self, texts: Sequence[str]) -> Encodes:
        encoder = Encoder(self.words, self.method, self.refine)
        return encoder.fit(texts) if self.learns else encoder


class Fixed:
    """An encoder as it is, saved or external: never fitted, and each text is encoded once and cached."""

    learns = False

    def __init__(self, encoder: Encodes, name: str) -> None:
        self.encoder = encoder
        self.name = name
        self._rows: dict[str, Vectors] = {}

    def described(self) -> dict[str, Any]:
        return {"model": self.name}

    def fitted(self, texts: Sequence[str]) -> Encodes:
        return self

    def encode(self, texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if new:
            self._rows |= zip(new, np.asarray(self.encoder.encode(new)), strict=True)
        return np.array([self._rows[text] for text in texts])

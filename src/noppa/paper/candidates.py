"""What is scored: an encoder to be fitted on training texts, one that is ready as it is, or vectors made elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from noppa.encoder.encoder import Encoder
from noppa.errors import FileError, NoppaError
from noppa.methods import registry
from noppa.methods.protocol import Method
from noppa.parameters import short_repr
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

    def to_dict(self) -> dict[str, Any]:
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

    def to_dict(self) -> dict[str, Any]:
        method = registry.to_dict(self.method)
        return {
            "method": method.pop("name"),
            **method,
            "refine": [registry.to_dict(part) for part in self.refine],
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

    def to_dict(self) -> dict[str, Any]:
        return {"model": self.name}

    def fitted(self, texts: Sequence[str]) -> Encodes:
        return self

    def encode(self, texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if new:
            self._rows |= zip(new, np.asarray(self.encoder.encode(new)), strict=True)
        return np.array([self._rows[text] for text in texts])


@dataclass(frozen=True)
class PerFold:
    """A candidate of its own for each outer fold, all of one kind."""

    folds: tuple[Candidate, ...]

    @property
    def name(self) -> str:
        return self.folds[0].name

    @property
    def learns(self) -> bool:
        return any(each.learns for each in self.folds)

    def to_dict(self) -> dict[str, Any]:
        """Parameters that all share as they are, the others as a list with a value a fold."""
        each = [candidate.to_dict() for candidate in self.folds]
        values = {name: [one[name] for one in each] for name in each[0]}
        return {
            name: some[0] if all(value == some[0] for value in some) else some
            for name, some in values.items()
        }

    def fitted(self, texts: Sequence[str]) -> Encodes:
        raise NoppaError(f"{self.name} has parameters for each fold: take one of its folds")


@dataclass(frozen=True)
class Encoded:
    """Vectors that another program made: NAME.npy (texts, dim), and NAME.txt with the texts, one a line."""

    path: Path
    file: dict[str, str]
    learns: bool = field(default=False, init=False)

    @property
    def name(self) -> str:
        return self.path.stem

    def to_dict(self) -> dict[str, Any]:
        return {"model": self.name, "vectors": self.file}

    def fitted(self, texts: Sequence[str]) -> Encodes:
        return self

    @cached_property
    def vectors(self) -> Any:
        try:
            rows = np.load(self.path, mmap_mode="r")
        except (OSError, ValueError) as error:
            raise FileError(
                f"{self.path} cannot be read ({error}): give a .npy file with a row a text"
            ) from error
        if rows.ndim != 2 or len(rows) != len(self._row_of):
            raise FileError(
                f"{self.path} has the shape {rows.shape} and its .txt {len(self._row_of)} distinct texts: give one row a text"
            )
        return rows

    @cached_property
    def _row_of(self) -> dict[str, int]:
        texts = self.path.with_suffix(".txt")
        try:
            lines = texts.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        except (OSError, ValueError) as error:
            raise FileError(
                f"{texts} cannot be read ({error}): it must hold the texts of {self.path.name}, one a line"
            ) from error
        return {text: at for at, text in enumerate(lines)}

    def encode(self, texts: Sequence[str]) -> Vectors:
        for text in texts:
            if text not in self._row_of:
                raise NoppaError(
                    f"{self.path} has no vector of {short_repr(text)}: encode the texts of every task that is scored"
                )
        rows = self.vectors[[self._row_of[text] for text in texts]]
        return np.asarray(rows, np.float32)

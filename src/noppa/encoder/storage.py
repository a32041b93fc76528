"""Saved encoders: the files of a folder, what was fitted, and the identity by which an encoder is pickled and sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from os.path import normpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from noppa.display import dataclass_repr
from noppa.encoder import embedded
from noppa.errors import FileError, NoppaError, ParameterError
from noppa.io import hub, schema, storage
from noppa.io.schema import Check
from noppa.io.storage import Folder
from noppa.methods import registry
from noppa.methods.method import Method
from noppa.refine import REFINEMENTS, STEPS, Refinement, Step
from noppa.words import storage as word_folder
from noppa.words.word_vectors import WordVectors

if TYPE_CHECKING:
    from noppa.encoder.encoder import Encoder

KIND = "encoder"
WORDS = "words"
#: Where the words of an encoder may be: inside its folder, or next to it for presets.
PLACES = (WORDS, f"../{WORDS}")
WORDS_CHECKSUM, SCALES = "seal of words", "scales of words"

_is_step_kind = schema.one_of(STEPS)
FIELDS: dict[str, Check] = {
    "method": schema.is_named,
    "refine": lambda parts: type(parts) is list and all(map(schema.is_named, parts)),
    "tokenizer": schema.one_of(("noppa", "custom")),
    "?words": schema.one_of(PLACES),
    f"?{WORDS_CHECKSUM}": schema.is_checksum,
    "?columns": schema.maybe(schema.wholes(0, schema.MOST_ROWS, 2)),
    "steps": lambda steps: (
        type(steps) is list
        and all(type(step) is dict and _is_step_kind(step.get("kind")) for step in steps)
    ),
    "learnt": schema.is_texts,
    "sentences": schema.whole(0, 2**62),
}


@dataclass(frozen=True)
class Fitted:
    """What `fit` has learnt: the steps after pooling, the method's own arrays, and the number of sentences."""

    __repr__ = dataclass_repr

    steps: tuple[Step, ...] = ()
    learnt: dict[str, NDArray[Any]] = field(default_factory=dict)
    sentences: int = 0

    def step_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the steps by the names under which they are saved."""
        return {
            f"step{number}.{name}": getattr(step, name)
            for number, step in enumerate(self.steps)
            for name in step.ARRAYS
        }


#: The words, the method, the refinements and what was fitted.
Parts = tuple[WordVectors, Method, tuple[Refinement, ...], Fitted]


@dataclass(frozen=True)
class Identity:
    """Names an encoder: a preset by its name, a saved one by its folder or repository. One in memory has no name.

    Attributes:
        kind: `PRESET`, `FOLDER`, `HUB` or `MEMORY`.
        checksum: Checksum of everything that the encoder and its words hold on disk; "" in memory.
        tokenizer: The tokenizer that replaces that of the words; "" for none.
    """

    kind: str
    name: str
    checksum: str
    tokenizer: str = ""

    @classmethod
    def from_folder(cls, path: Path, checksum: str) -> Identity:
        """Name a preset or a repository by its name, since its folder differs between machines."""
        if path.parent == embedded.FOLDER:
            return cls(PRESET, path.name, checksum)
        if (name := hub.name_of(path)) is not None:
            return cls(HUB, name, checksum)
        return cls(FOLDER, str(path.absolute()), checksum)

    @property
    def path(self) -> Path | None:
        """The folder on this machine, None in memory."""
        if self.kind == MEMORY:
            return None
        if self.kind == HUB:
            return hub.cached_folder(self.name)
        return embedded.FOLDER / self.name if self.kind == PRESET else Path(self.name)

    @property
    def is_preset(self) -> bool:
        """Whether it is an unchanged preset, so that the name is enough."""
        return self.kind == PRESET and not self.tokenizer

    @property
    def fingerprint(self) -> str:
        """A checksum of the encoder with its tokenizer; "" in memory."""
        both = f"{self.checksum}{self.tokenizer}"
        return storage.sha256(both.encode()) if self.tokenizer else self.checksum

    @property
    def is_on_disk(self) -> bool:
        """Whether its folder still holds the same encoder."""
        try:
            return self.path is not None and checksum(self.path) == self.checksum
        except NoppaError:
            return False


PRESET, FOLDER, HUB, MEMORY = "preset", "folder", "hub", "memory"
IN_MEMORY = Identity(MEMORY, "", "")


# Writing


def write(path: str | PathLike[str], encoder: Encoder) -> None:
    """Write a folder with the words inside; an existing one is replaced atomically."""

    def write_words(new: Path) -> dict[str, str]:
        encoder.words.save(new / WORDS)
        return {WORDS_CHECKSUM: storage.header_checksum(new / WORDS)}

    arrays = {**encoder.fitted.learnt, **encoder.fitted.step_arrays()}
    storage.write_folder(path, KIND, header(encoder, {"words": WORDS}), arrays, write_words)


def header(encoder: Encoder, words: dict[str, Any]) -> dict[str, Any]:
    """Return the header of a folder; `words` describes where its words are."""
    fitted = encoder.fitted
    steps = [
        {"kind": step.kind} | {n: value for n, value in vars(step).items() if n not in step.ARRAYS}
        for step in fitted.steps
    ]
    return {
        "method": registry.to_dict(encoder.method),
        "refine": [registry.to_dict(refinement) for refinement in encoder.refine],
        "tokenizer": "noppa" if encoder.tokenizer is None else "custom",
        **words,
        "steps": steps,
        "learnt": sorted(fitted.learnt),
        "sentences": fitted.sentences,
    }


# Reading


def read(path: Path, custom: bool, verified: int) -> tuple[Parts, str]:
    """Return the parts of a saved encoder and its checksum; `custom` if it was saved with a tokenizer function."""
    folder = storage.read_folder(path, KIND, FIELDS, verified)
    header = folder.header
    if (header["tokenizer"] == "custom") != custom:
        raise ParameterError(
            f"{path} was saved with noppa's own tokenizer: load it without tokenizer="
            if custom
            else f"{path} was saved with a tokenizer of its own: pass it as tokenizer="
        )
    words, words_checksum = _read_words(folder)
    method = _build_part(registry.METHODS, header["method"], folder)
    refine = tuple(_build_part(REFINEMENTS, part, folder) for part in header["refine"])
    # from the method, not from the header, which may omit a default
    values = registry.parameter_values(method).items()
    sizes = {name: value for name, value in values if type(value) is int}
    sizes |= {"words": len(words), "dim": words.dim}
    fitted = _read_fitted(folder, method.LEARNT, sizes, method.width(words))
    refinements = len(method.refinements()) + len(refine)
    if len(fitted.steps) != refinements:
        raise _damaged(folder, f"it has {len(fitted.steps)} steps for {refinements} refinements")
    return (words, method, refine, fitted), _checksum(folder, words_checksum)


def _read_words(folder: Folder) -> tuple[WordVectors, str]:
    """Return the words of an encoder, with its columns and scales, and the checksum of their header."""
    header, place = folder.header, _words_folder(folder)
    words = WordVectors.open_folder(place, verified=folder.verified)
    checksum = words.header_checksum
    assert checksum is not None, "words that come from a folder"
    if checksum != header.get(WORDS_CHECKSUM, checksum):
        raise FileError(f"{folder.path} was written for other words than {place}: copy both again")
    if header.get("columns") is not None:
        words = words.columns(*header["columns"])
    rows = words.rows
    sizes = {"words": len(words), "blocks": len(rows.blocks)}
    shape = {f"?{SCALES}": word_folder.scales_line(rows.blocks, rows.bits)}
    if scales := folder.read(shape, sizes):
        words = words.with_scales(scales[SCALES])
    return words, checksum


def _read_fitted(
    folder: Folder, declared: Mapping[str, str], sizes: dict[str, int], width: int
) -> Fitted:
    """Read the arrays that the method declares, of these `sizes`, and the steps for its vectors of this width."""
    header = folder.header
    if header["learnt"] != sorted(declared):
        raise _damaged(
            folder, f"the method learns {sorted(declared)}, and it has {header['learnt']}"
        )
    learnt = folder.read(declared, sizes)
    steps: list[Step] = []
    for number, saved in enumerate(header["steps"]):
        kind, sizes = STEPS[saved["kind"]], {"width": width}
        arrays = folder.read(kind.ARRAYS, sizes, f"step{number}.")
        values = {name: value for name, value in saved.items() if name != "kind"}
        if values != ({} if kind.ARRAYS else {"width": width}):
            raise _damaged(folder, f"step {number} does not fit vectors of {width} dimensions")
        steps.append(kind(**values, **arrays))
        width = sizes.get("out", width)
    return Fitted(tuple(steps), learnt, header["sentences"])


def _build_part(table: Mapping[str, type[Any]], saved: dict[str, Any], folder: Folder) -> Any:
    """Create the method or refinement that a header describes by its name and its parameters."""
    values = dict(saved)
    name = values.pop("name")
    kind = registry.find_class(table, name)
    if kind is None:
        raise FileError(
            f"{folder.path} uses {name!r}, which is not registered",
            f"call noppa.register({name!r}, its class) before loading (NOPPA_IMPORT=its.module for a command), or update "
            "noppa if a newer version wrote the folder",
        )
    try:
        return kind(**values)
    except (TypeError, ValueError, OverflowError, AttributeError, NoppaError) as error:
        raise FileError(
            f"{folder.path} cannot be read ({name!r}: {error}): it was written by another version of noppa"
        ) from error


def _damaged(folder: Folder, reason: str) -> FileError:
    return FileError(f"{folder.path / storage.HEADER} is damaged: {reason}")


def checksum(path: Path) -> str:
    """Return one checksum of an encoder and its words, from those of their headers, which list those of the arrays."""
    folder = storage.read_folder(path, KIND, FIELDS, storage.INSTALLED)
    return _checksum(folder, storage.header_checksum(_words_folder(folder)))


def _checksum(folder: Folder, words_checksum: str) -> str:
    return storage.sha256((folder.header_checksum + words_checksum).encode())


def _words_folder(folder: Folder) -> Path:
    return Path(normpath(folder.path / folder.header.get("words", WORDS)))

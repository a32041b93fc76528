"""Everything that can be given as `model=`: a preset's name, a path, an `hf:` name, an `Encoder`, or any object that encodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from noppa.encoder import embedded
from noppa.encoder.encoder import Comparing, Encoder
from noppa.errors import FileError, NoppaError, ParameterError
from noppa.extras import needs
from noppa.io import hub, storage
from noppa.io.atomic import previous_if_missing
from noppa.parameters import short_repr
from noppa.text.tokenizer import Split, Tokenizer
from noppa.words.texts import texts_of

#: The preset whose cosines measure how similar two texts are.
SIMILARITY = "similarity"


@runtime_checkable
class SupportsEncode(Protocol):
    """Anything that turns a list of texts into one row of numbers per text."""

    def encode(self, texts: list[str], /) -> Any:
        """Return an array-like of shape (texts, dim)."""


#: What users may give as `model=`.
Model = str | PathLike[str] | SupportsEncode | Callable[[list[str]], Any]


def load(
    name_or_path: str | PathLike[str] | None = None,
    tokenizer: Split | Tokenizer | str | None = None,
    verify: bool = False,
    refresh: bool = False,
) -> Encoder:
    """Load the embedded model, one of its presets, or a saved encoder from a folder or the Hugging Face Hub.

    Args:
        name_or_path: `"default"`, `"similarity"`, `"small"`, a folder that `save` wrote, or `hf:owner/name@revision`
            (`pip install 'noppa[hub]'`). None loads the default preset. A preset takes precedence over a folder of the
            same name; write `./NAME` for the folder. A repository is downloaded once; `identity.name` names its commit.
        tokenizer: How to split texts, by name (`fr`, `zh`, `whitespace`), instead of the saved tokenizer; or the
            function that an encoder with a custom tokenizer was saved with.
        verify: Compare the checksums of large files too, which reads them completely.
        refresh: Ask the hub again which commit a branch or tag refers to.
    """
    if name_or_path is None:
        name_or_path = embedded.DEFAULT
    if not isinstance(name_or_path, (str, PathLike)):
        raise ParameterError(
            f"a model is the name of a preset, the path of a folder or hf:owner/name, not {short_repr(name_or_path)}"
        )
    if isinstance(name_or_path, str) and embedded.is_preset(name_or_path):
        verified = storage.EVERY_BYTE if verify else storage.INSTALLED
        return Encoder.open_folder(embedded.FOLDER / name_or_path, tokenizer, verified)
    name_or_path = hub.locate(name_or_path, refresh)
    if not previous_if_missing(Path(name_or_path)).exists():
        raise FileError(
            f"{name_or_path} does not exist",
            f"give the folder of a saved encoder, or one of the presets {', '.join(embedded.presets())}",
        )
    return Encoder.load(name_or_path, tokenizer, verify)


def resolve_model(
    model: Model | None = None,
    default: str = SIMILARITY,
    tokenizer: Split | Tokenizer | str | None = None,
) -> Encoder | External:
    """Return the encoder that a `model=` argument refers to.

    Args:
        model: A preset's name, a path, an `hf:` name, an encoder, or any object or function that encodes.
        default: The preset to load if `model` is None.
        tokenizer: For a model given by its name, instead of its own tokenizer.
    """
    if isinstance(model, (Encoder, External)):
        return model
    if model is None or isinstance(model, (str, PathLike)):
        return load(default if model is None else model, tokenizer)
    return external(model)


def unit_vectors(
    encoder: Encoder | External, texts: list[str], threads: int | None = None
) -> NDArray[np.float32]:
    """Return vectors of length one (texts, dim), zeros for a text without a known word; warns if few words are known."""
    if isinstance(encoder, External):
        return encoder.encode(texts, normalize=True)
    share = encoder.known_share()
    vectors = encoder.encode_counted(texts, threads, normalize=True, share=share).vectors
    share.warn_if_few()
    return vectors


def unit_rows(rows: NDArray[Any]) -> NDArray[Any]:
    """Scale rows (rows, dim) to length one; zero rows stay zero, and an array of unit rows is returned as it is."""
    lengths = np.sqrt(np.einsum("...d,...d->...", rows, rows, dtype=np.float64))
    if np.all((lengths == 0) | (np.abs(lengths - 1) < 1e-6)):
        return rows
    return np.asarray(rows / np.where(lengths > 0, lengths, 1)[..., None], rows.dtype)


class External(Comparing):
    """An encoder of another library with the interface of an `Encoder`: `encode`, `similarity` and `dim`."""

    def __init__(self, name: str, rows_of: Callable[[list[str]], Any]) -> None:
        self.name = name
        self._rows_of = rows_of

    def __repr__(self) -> str:
        return f"External({self.name})"

    @cached_property
    def dim(self) -> int:
        """Length of a vector, measured by encoding one text."""
        return int(self._encode(["a"]).shape[1])

    def encode(self, texts: str | Iterable[str], *, normalize: bool = False) -> NDArray[np.float32]:
        if isinstance(texts, str):
            return np.asarray(self.encode([texts], normalize=normalize)[0])
        items = texts_of(texts)
        rows = self._encode(items) if items else np.empty((0, self.dim), np.float32)
        if normalize:
            rows = unit_rows(rows)
        return rows

    def _encode(self, items: list[str]) -> NDArray[np.float32]:
        rows = np.asarray(self._rows_of(items), np.float32)
        if rows.ndim != 2 or len(rows) != len(items):
            raise ParameterError(
                f"{self.name} returned an array of shape {rows.shape} for {len(items)} texts",
                f"it must return one row per text, ({len(items)}, dim)",
            )
        if not np.isfinite(rows).all():
            row = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
            raise ParameterError(f"{self.name} returned a value that is not finite for text {row}")
        return rows


def external(source: Model) -> External:
    """Wrap an object with `encode`, a function from a list of texts to rows, or a sentence-transformers model.

    The result encodes, compares and can be evaluated like an `Encoder`.

    >>> import noppa
    >>> noppa.external(lambda texts: [[len(text), 1] for text in texts]).encode(["a", "abc"]).shape
    (2, 2)
    """
    if isinstance(source, (str, PathLike)):
        return External(str(source), sentence_transformer(str(source)))
    if callable(getattr(source, "encode", None)):
        return External(type(source).__name__, source.encode)  # type: ignore[union-attr]
    if callable(source):
        return External(getattr(source, "__name__", type(source).__name__), source)
    raise ParameterError(
        f"{short_repr(source)} cannot encode",
        "give the name or path of a model, an object with encode, or a function from texts to rows",
    )


def sentence_transformer(path: str) -> Callable[..., Any]:
    """Load a sentence-transformers model and return its `encode`."""
    with needs("sbert", f"the model {path}"):
        from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found,unused-ignore]
    try:
        model = SentenceTransformer(path)
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise NoppaError(
            f"sentence-transformers cannot load {path} ({reason})",
            "give the folder or the name of one of its models",
        ) from error
    return partial(model.encode, show_progress_bar=False)

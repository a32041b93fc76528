"""The served encoders by name, and encoding in blocks, so that work can be stopped between two blocks."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import noppa
from noppa import Encoder
from noppa.encoder import embedded
from noppa.encoder.models import SIMILARITY
from noppa.io.hub import is_hub_name, parse_name
from noppa.methods.method import Ids
from noppa.methods.noppa import truncated
from noppa.serve.errors import ApiError, invalid, too_large
from noppa.serve.settings import Settings
from noppa.words.coverage import KnownShare

if TYPE_CHECKING:
    from noppa.serve.service import Task

Vectors = NDArray[np.float32]

BLOCK_TEXTS = 1024
#: Pairs of tokens in a block, some tenths of a second of work.
BLOCK_PAIRS = 1 << 21
BLOCK_CHARACTERS = 1 << 20
#: A text may have so many characters per allowed token; a longer one is not tokenized, which takes several times its memory.
TOKEN_CHARACTERS = 256
#: Texts of so many characters in all make one block, and have no more tokens than that.
SHORT_CHARACTERS = 1024
#: Memory that a number of a vector takes, as a float32 and as text.
VALUE_BYTES = 16
#: Texts without a known word that a warning lists.
MAX_LISTED = 100


@dataclass(frozen=True)
class Counts:
    """Counts of what was encoded.

    Attributes:
        unknown: Number of tokens that are not in the vocabulary.
        empty: Positions of the texts without a known token.
        warning: Set if few words are known.
    """

    texts: int = 0
    tokens: int = 0
    unknown: int = 0
    empty: tuple[int, ...] = ()
    warning: str | None = None

    @classmethod
    def from_ids(cls, ids: NDArray[np.int32], known: NDArray[Any]) -> Counts:
        """Count token ids (tokens,) of texts with so many known tokens each (texts,)."""
        empty = () if known.all() else tuple(np.flatnonzero(known == 0).tolist())
        return cls(len(known), len(ids), int(np.count_nonzero(ids < 0)), empty)

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.texts + other.texts,
            self.tokens + other.tokens,
            self.unknown + other.unknown,
            self.empty + tuple(self.texts + position for position in other.empty),
            self.warning or other.warning,
        )

    def warnings(self) -> list[str]:
        """Return what the client should know."""
        warnings = []
        if self.empty:
            listed = ", ".join(map(str, self.empty[:MAX_LISTED]))
            more = len(self.empty) - MAX_LISTED
            warnings.append(f"items without a known word: {listed}{f' and {more} more' if more > 0 else ''}")  # fmt: skip
        if self.warning:
            warnings.append(self.warning)
        return warnings


class Models:
    """The served encoders; the first is the default."""

    def __init__(self, encoders: dict[str, Encoder], settings: Settings) -> None:
        self.encoders, self.settings = encoders, settings
        self.default = next(iter(encoders))
        self.created = int(time.time())

    @classmethod
    def load(cls, settings: Settings) -> Models:
        """Load the model of the settings, or every preset of the embedded model."""
        if settings.model is None:
            return cls(preset_encoders(settings.name or "noppa"), settings)
        name = settings.name or served_name(settings.model)
        return cls({name: noppa.load(settings.model)}, settings)

    def name(self, requested: str | None) -> str:
        """Return the name of the requested model, or of the default."""
        if requested is None:
            return self.default
        if requested not in self.encoders:
            raise ApiError(
                404,
                f"the model {requested[:100]!r} is not served here: use {' or '.join(self.encoders)}",
                param="model",
                code="model_not_found",
            )
        return requested

    def texts(self, value: str | Sequence[str], param: str, limit: int | None = None) -> list[str]:
        """Return a request's texts as a list; 400 for an empty one, 413 for too many."""
        texts = [value] if isinstance(value, str) else [*value]
        limit = limit or self.settings.max_inputs
        if not texts:
            raise invalid(f"{param} is an empty array: send at least one text", param)
        if len(texts) > limit:
            raise too_large(f"{param} has {len(texts)} texts and this server allows {limit} per request", param)  # fmt: skip
        if "" in texts:
            raise invalid(f"{param}[{texts.index('')}] is an empty string", param)
        return texts

    def encode(
        self,
        encoder: Encoder,
        texts: list[str],
        task: Task,
        param: str,
        *,
        dim: int | None = None,
        normalize: bool = True,
        truncate: bool = False,
    ) -> tuple[Vectors, Counts]:
        """Return vectors (texts, dim) and counts; errors refer to the texts as `param`."""
        task.context.reserve(len(texts) * (dim or encoder.dim) * VALUE_BYTES, param)
        share = encoder.known_share()
        if sum(map(len, texts)) <= min(SHORT_CHARACTERS, self.settings.max_tokens):
            rows, tokens, known = encoder.encode_counted(
                texts, task.threads, dim=dim, normalize=normalize, share=share
            )
            unknown = int(tokens.sum() - known.sum())
            empty = () if known.all() else tuple(np.flatnonzero(known == 0).tolist())
            return rows, Counts(len(texts), int(tokens.sum()), unknown, empty, share.message)
        encoder = encoder.for_texts(texts, task.threads)
        parts, counts = [], Counts()
        for ids, offsets in self.token_blocks(encoder, texts, task, param, truncate, share):
            rows, known = encoder.encode_ids(
                ids, offsets, task.threads, dim=dim, normalize=normalize
            )
            parts.append(rows)
            counts += Counts.from_ids(ids, known)
        rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return rows, replace(counts, warning=share.message)

    def token_blocks(
        self,
        encoder: Encoder,
        texts: Sequence[str],
        task: Task,
        param: str,
        truncate: bool,
        share: KnownShare | None = None,
    ) -> Iterator[Ids]:
        """Yield blocks of token ids and offsets; texts over the limit are truncated, or 413."""
        limit, share = self.settings.max_tokens, share or encoder.known_share()
        longest = TOKEN_CHARACTERS * limit
        for row, text in enumerate(texts):
            if len(text) > longest and not truncate:
                raise too_large(
                    f"{param}[{row}] has {len(text)} characters and this server allows {longest}: split it",
                    param,
                )
        texts = [text[:longest] for text in texts]
        for first, last in _blocks([len(text) for text in texts], BLOCK_CHARACTERS, 1):
            task.check()
            ids, offsets = encoder.look_up(texts[first:last], task.threads, share)
            lengths = np.diff(offsets)
            if lengths.max(initial=0) > limit:
                if not truncate:
                    row = int(np.argmax(lengths > limit))
                    raise too_large(
                        f"{param}[{first + row}] has {lengths[row]} tokens and this server allows {limit}: split it",
                        param,
                    )
                ids, offsets = truncated(ids, offsets, limit)
            for start, stop in _blocks(np.diff(offsets), BLOCK_PAIRS, 2):
                task.check()
                bounds = offsets[start : stop + 1]
                yield ids[bounds[0] : bounds[-1]], np.ascontiguousarray(bounds - bounds[0])

    def similarities(
        self,
        encoder: Encoder,
        query: str,
        texts: list[str],
        task: Task,
        param: str,
        truncate: bool,
    ) -> tuple[NDArray[np.float64], Counts]:
        """Return the cosine of each text with the query (texts,); the same for a text in any batch."""
        query_row, query_counts = self.encode(encoder, [query], task, "query", truncate=truncate)
        rows, counts = self.encode(encoder, texts, task, param, truncate=truncate)
        # Not BLAS, whose order of summation depends on the number of rows.
        cosines = [
            (rows[start : start + BLOCK_TEXTS].astype(float) * query_row[0]).sum(axis=1)
            for start in range(0, len(rows), BLOCK_TEXTS)
        ]
        # The positions of empty texts refer to `texts`.
        total = replace(query_counts + counts, empty=counts.empty)
        return np.clip(np.concatenate(cosines), -1, 1), total


def check_dimensions(encoder: Encoder, dimensions: int | None) -> int | None:
    """Return how many dimensions to keep, None for all; 400 if the model cannot be shortened to so many."""
    if dimensions is None or dimensions == encoder.dim:
        return None
    if dimensions > encoder.dim:
        raise invalid(f"dimensions is {dimensions} and this model has {encoder.dim}", "dimensions")
    if not encoder.ordered:
        raise invalid(
            f"dimensions is {dimensions}, but the first dimensions of this model have no meaning alone: request all "
            f"{encoder.dim}, or serve an encoder that was fitted with Whitening",
            "dimensions",
        )
    return dimensions


def _blocks(lengths: ArrayLike, limit: int, power: int) -> list[tuple[int, int]]:
    """Return (start, stop) of blocks in which the sum of length ** power is at most `limit`, or of one text."""
    done = np.cumsum(np.asarray(lengths, np.int64) ** power)
    blocks, start = [], 0
    while start < len(done):
        before = done[start - 1] if start else 0
        stop = int(np.searchsorted(done, before + limit, "right"))
        stop = min(max(stop, start + 1), start + BLOCK_TEXTS)
        blocks.append((start, stop))
        start = stop
    return blocks


def preset_encoders(stem: str) -> dict[str, Encoder]:
    """Return the presets of the embedded model by their served names."""
    # The preset for cosines comes first: clients of an endpoint nearly always compare vectors by cosine.
    names = sorted(embedded.presets(), key=lambda name: name != SIMILARITY)
    if not names:
        return {stem: noppa.load()}  # raises the error that explains how to get a model
    return {f"{stem}-{name}": noppa.load(name) for name in names}


def served_name(model: str) -> str:
    """Return the name by which clients request a preset, a saved model or a repository."""
    if is_hub_name(model):
        return parse_name(model)[0].partition("/")[2]
    if model in embedded.presets():
        return f"noppa-{model}"
    return Path(model).absolute().name

"""The served encoders by name, and encoding in blocks, so that work can be stopped between two of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import noppa
from noppa import Encoder
from noppa.encoder import embedded
from noppa.io.hub import is_hub_name, parse_name
from noppa.methods.k_means import interrupt
from noppa.methods.method import Ids
from noppa.methods.noppa import truncated
from noppa.serve.fields import Field, Schema, whole
from noppa.serve.problems import Problem, busy, invalid, too_large
from noppa.serve.settings import Settings
from noppa.serve.turns import Left
from noppa.words.coverage import KnownShare

COSINES = "similarity"
BLOCK_TEXTS = 1024
#: Token pairs of a block, some tenths of a second: between two blocks a client that left is noticed.
BLOCK_PAIRS = 1 << 21
BLOCK_CHARACTERS = 1 << 20


@dataclass(frozen=True)
class Counts:
    """What was encoded: texts, their tokens, tokens out of vocabulary, and the numbers of texts without a known token."""

    inputs: int = 0
    tokens: int = 0
    unknown: int = 0
    empty: tuple[int, ...] = ()
    warning: str | None = None
    """That few words are known."""

    @classmethod
    def of(cls, ids: NDArray[np.int32], known: NDArray[Any]) -> Counts:
        """Those of tokens (tokens,) and of the known tokens of each text (texts,)."""
        empty = () if known.all() else tuple(np.flatnonzero(known == 0).tolist())
        return cls(len(known), len(ids), int(np.count_nonzero(ids < 0)), empty)

    def __add__(self, other: Counts) -> Counts:
        """Those of these texts with others behind them."""
        return Counts(
            self.inputs + other.inputs,
            self.tokens + other.tokens,
            self.unknown + other.unknown,
            self.empty + tuple(self.inputs + number for number in other.empty),
            self.warning or other.warning,
        )


class Watch:
    """Cancellation: `check` raises once the client has left or the deadline has passed."""

    def __init__(self, left: Callable[[], bool], deadline: float) -> None:
        self.left, self.deadline = left, deadline

    @contextmanager
    def over(self) -> Iterator[None]:
        """Make what runs deep inside a method's fit or an index's search call `check` too."""
        token = interrupt.set(self.check)
        try:
            yield
        finally:
            interrupt.reset(token)

    def check(self) -> None:
        if self.left():
            raise Left
        if time.monotonic() > self.deadline:
            raise busy(
                "encoding took longer than this server allows for a request: send fewer or shorter texts",
                code="request_timeout",
            )


class Models:
    """The served encoders; the first is the default."""

    def __init__(self, encoders: dict[str, Encoder], settings: Settings) -> None:
        self.encoders, self.settings = encoders, settings
        self.default = next(iter(encoders))
        self.created = int(time.time())

    @classmethod
    def load(cls, settings: Settings) -> Models:
        """The model of the settings; without one, every preset of the embedded model."""
        if settings.model is not None:
            name = settings.name or name_of(settings.model)
            return cls({name: noppa.load(settings.model, settings.tokenizer)}, settings)
        return cls(preset_encoders(settings.name or "noppa", settings.tokenizer), settings)

    def field(self) -> Field:
        """The field `model` of a request: a served name, the default where absent."""
        schema = {"type": "string", "description": "One of GET /v1/models."}
        return Field(schema, lambda name, field: self.named(name)).optional(self.default)

    def dimensions(self, *names: str) -> Field:
        """The field `dimensions` of a request to one of these models: how many of the first to send."""
        encoders = {name: self.encoders[name] for name in names}
        field = whole(1, max(encoder.dim for encoder in encoders.values()))
        assert not callable(field.schema)
        each = (f"of {name} {_dimensions(encoder)}" for name, encoder in encoders.items())
        return replace(field, schema={**field.schema, "description": f"The first: {'; '.join(each)}."}).optional()  # fmt: skip

    def conditions(self) -> list[Schema]:
        """What `dimensions` may be, by the model that the same body names."""
        return [
            {
                "if": {
                    "properties": {"model": {"const": name}},
                    "required": [] if name == self.default else ["model"],
                },
                "then": {"properties": {"dimensions": _allowed(encoder)}},
            }
            for name, encoder in self.encoders.items()
        ]

    def named(self, name: Any) -> str:
        """The served model that a name in a request stands for."""
        if not isinstance(name, str):
            raise invalid("model must be a string: GET /v1/models lists them", "model")
        if name in self.encoders:
            return name
        if self.settings.any_model:
            return self.default
        raise Problem(
            404,
            f"the model {name[:100]!r} is not served here: choose one of {', '.join(self.encoders)}, or start the "
            "server with --any-model",
            param="model",
            code="model_not_found",
        )

    def encode(
        self,
        encoder: Encoder,
        texts: list[str],
        watch: Watch,
        threads: int,
        param: str,
        *,
        dim: int | None = None,
        normalize: bool = True,
        truncate: bool = False,
    ) -> tuple[NDArray[np.float32], Counts]:
        """Vectors (texts, dim), block by block; `param` is what an error calls the texts."""
        self.check_size(len(texts), dim or encoder.dim, param)
        encoder = encoder.for_texts(list(texts), threads)
        parts, counts, share = [], Counts(), encoder.known_share()
        for ids, offsets in self.pieces(encoder, texts, watch, threads, param, truncate, share):
            rows, known = encoder.encode_ids(ids, offsets, threads, dim=dim, normalize=normalize)
            parts.append(rows)
            counts += Counts.of(ids, known)
        rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return rows, replace(counts, warning=share.message)

    def pieces(
        self,
        encoder: Encoder,
        texts: Sequence[str],
        watch: Watch,
        threads: int,
        param: str,
        truncate: bool,
        share: KnownShare | None = None,
    ) -> Iterator[Ids]:
        """Blocks of ids and offsets; texts beyond the limit of tokens are truncated or refused."""
        limit, share = self.settings.max_tokens, share or encoder.known_share()
        for first, last in blocks([len(text) for text in texts], BLOCK_CHARACTERS, 1):
            watch.check()
            ids, offsets = encoder.look_up(texts[first:last], threads, share)
            lengths = np.diff(offsets)
            if lengths.max(initial=0) > limit:
                if not truncate:
                    at = int(np.argmax(lengths > limit))
                    raise too_large(
                        f"{param}[{first + at}] has {lengths[at]} tokens and this server takes up to {limit}: cut it "
                        "into parts",
                        param,
                    )
                ids, offsets = truncated(ids, offsets, limit)
            for start, stop in blocks(np.diff(offsets), BLOCK_PAIRS, 2):
                watch.check()
                bounds = offsets[start : stop + 1]
                yield ids[bounds[0] : bounds[-1]], np.ascontiguousarray(bounds - bounds[0])

    def check_size(self, texts: int, dim: int, param: str | None = None) -> None:
        """413 where so many vectors may not be in memory together."""
        most = self.settings.max_values
        if texts * dim > most:
            raise too_large(
                f"{texts} texts of {dim} dimensions are {texts * dim} numbers and this server takes up to {most}: send "
                f"up to {most // dim} texts at a time, or ask for fewer dimensions",
                param,
            )


def _allowed(encoder: Encoder) -> Schema:
    """What `dimensions` may be for this encoder."""
    most: Schema = {"type": ["integer", "null"], "minimum": 1, "maximum": encoder.dim}
    return most if encoder.ordered else {"enum": [encoder.dim, None]}


def _dimensions(encoder: Encoder) -> str:
    return f"1 to {encoder.dim}" if encoder.ordered else f"all {encoder.dim} alone"


def blocks(lengths: ArrayLike, most: int, power: int) -> Iterator[tuple[int, int]]:
    """Start and stop of blocks of texts: the sum of length ** power is at most `most`, unless a block is one text."""
    done = np.cumsum(np.asarray(lengths, np.int64) ** power)
    start = 0
    while start < len(done):
        before = done[start - 1] if start else 0
        stop = int(np.searchsorted(done, before + most, "right"))
        stop = min(max(stop, start + 1), start + BLOCK_TEXTS)
        yield start, stop
        start = stop


def preset_encoders(stem: str, tokenizer: str | None = None) -> dict[str, Encoder]:
    """The presets of the embedded model by their served names."""
    # The default comes first: clients of an endpoint nearly always compare vectors by cosine.
    names = sorted(embedded.presets(), key=lambda name: name != COSINES)
    if not names:
        # Raises the error that says how to get one.
        return {stem: noppa.load(tokenizer=tokenizer)}
    return {f"{stem}-{name}": noppa.load(name, tokenizer) for name in names}


def name_of(model: str) -> str:
    """What clients call a preset, the folder of a saved model or a repository."""
    if is_hub_name(model):
        return parse_name(model)[0].partition("/")[2]
    if model in embedded.presets():
        return f"noppa-{model}"
    return Path(model).absolute().name

"""Encoders of the served words with another method, for the page's switches and the field `method` of a request."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from typing import Any

from noppa import METHODS, Encoder
from noppa.encoder.fitting import learn
from noppa.errors import NoppaError
from noppa.methods.method import Ids
from noppa.methods.registry import is_plain, parameter_names
from noppa.serve.problems import invalid
from noppa.serve.served_models import Models, Watch
from noppa.serve.sessions import Session

#: The name of a model and, if another method replaces its own, that method and its parameters.
Key = tuple[Any, ...]
MOST_ENCODERS = 16
#: Tokens that a method learns from: k-means over them takes about a second.
LEARNT_TOKENS = 1 << 14


class Variants:
    """A cache of fitted encoders, least recently used first out."""

    def __init__(self, models: Models) -> None:
        self.models = models
        self._encoders: OrderedDict[Any, Encoder] = OrderedDict()
        self._lock = threading.Lock()

    def encoder(
        self, key: Key, session: Session, texts: int, watch: Watch, threads: int
    ) -> Encoder:
        """The encoder of a checked key; 413 if its vectors of `texts` texts are too many numbers.

        It is fitted on the lines of the session, or else on the example sentences of the page.
        """
        name, *method = key
        served = self.models.encoders[name]
        if not method:
            return self._bounded(served, texts)
        # By its class, too: a notebook may register another one by the same name.
        kind = METHODS[method[0]]
        place = (key, kind, session.corpus[1])
        with self._lock:
            if place in self._encoders:
                self._encoders.move_to_end(place)
                return self._bounded(self._encoders[place], texts)
        try:
            encoder = Encoder(served.words, kind(**dict(method[1:])))
            self._fit(self._bounded(encoder, texts), session.corpus[0], watch, threads)
        except NoppaError as error:
            raise invalid(f"method: {error}", "method") from None
        with self._lock:
            self._encoders[place] = encoder
            while len(self._encoders) > MOST_ENCODERS:
                self._encoders.popitem(last=False)
        return encoder

    def _bounded(self, encoder: Encoder, texts: int) -> Encoder:
        """The encoder, if the vectors of this many texts may be in memory together."""
        self.models.check_size(texts, encoder.dim)
        return encoder

    def _fit(
        self, encoder: Encoder, lines: Sequence[str] | None, watch: Watch, threads: int
    ) -> None:
        """As `Encoder.fit`, but in blocks that can be stopped, and with long lines truncated as for encoding."""
        blocks = self.models.pieces(
            encoder, sentences() if lines is None else lines, watch, threads, "lines", truncate=True
        )
        if encoder.method.learns:
            blocks = _first(blocks, LEARNT_TOKENS)
        refined = bool(encoder.method.refinements())
        with watch.over():
            learnt = learn(encoder.words, encoder.method, refined, blocks, threads)
        encoder.conclude(*learnt)


def _first(blocks: Iterable[Ids], tokens: int) -> Iterator[Ids]:
    """The first blocks, until they have this many tokens."""
    for ids, offsets in blocks:
        yield ids, offsets
        tokens -= len(ids)
        if tokens <= 0:
            return


def about(encoder: Encoder, key: Key, own: bool) -> dict[str, Any]:
    """What an answer says of the encoder that made it: the method, its parameters, its dimensions, what it was fitted on."""
    method = encoder.method
    values = {name: getattr(method, name) for name in parameter_names(method)}
    plain = {name: value if is_plain(value) else repr(value) for name, value in values.items()}
    used = {"method": type(method).__name__, "parameters": plain, "dim": encoder.dim}
    return {"encoder": used, "note": note(encoder, key, own)}


def note(encoder: Encoder, key: Key, own: bool) -> str | None:
    """What a method was fitted on; None for the served encoder and for a method that learns nothing."""
    if len(key) == 1 or not (encoder.method.refinements() or encoder.method.learns):
        return None
    count = encoder.fitted_on
    whose = "of your lines" if own else "example sentences"
    few = count < encoder.dim
    return f"fitted on {count} {whose}" + (
        f", fewer than the {encoder.dim} dimensions: noise is then what they lack" if few else ""
    )


def sentences() -> list[str]:
    """Plain English sentences to fit on and to try the page with."""
    file = resources.files("noppa.serve") / "page" / "sentences.txt"
    return file.read_text(encoding="utf-8").splitlines()

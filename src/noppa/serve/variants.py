"""The served words with another method: what the page's switches and the field `method` of a request ask for."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from typing import Any

from noppa import METHODS, Encoder
from noppa.encoder.fitting import learnt_from
from noppa.errors import NoppaError
from noppa.methods.corpus import Ids
from noppa.serve.problems import invalid
from noppa.serve.served_models import Models, Watch
from noppa.serve.sessions import Session

#: A model's name, and the method that stands in for its own, if any.
Key = tuple[Any, ...]
MOST_ENCODERS = 16
#: About as many tokens of the lines as k-means over their words is done with in a second.
LEARNT_TOKENS = 1 << 14


class Variants:
    """Encoders made on demand; the last ones used are cached."""

    def __init__(self, models: Models) -> None:
        self.models = models
        self._encoders: OrderedDict[Any, Encoder] = OrderedDict()
        self._lock = threading.Lock()

    def encoder(
        self, key: Key, session: Session, texts: int, watch: Watch, threads: int
    ) -> Encoder:
        """The encoder of a checked key for so many texts at once.

        It is fitted on the lines of the session, or else on the sentences that come with the page.
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
            made = Encoder(served.words, kind(**dict(method[1:])))
            self._fit(self._bounded(made, texts), session.corpus[0], watch, threads)
        except NoppaError as error:
            raise invalid(f"method: {error}", "method") from None
        with self._lock:
            self._encoders[place] = made
            while len(self._encoders) > MOST_ENCODERS:
                self._encoders.popitem(last=False)
        return made

    def _bounded(self, encoder: Encoder, texts: int) -> Encoder:
        """The encoder, if so many of its vectors may be in memory together."""
        self.models.check_size(texts, encoder.dim)
        return encoder

    def _fit(
        self, encoder: Encoder, lines: Sequence[str] | None, watch: Watch, threads: int
    ) -> None:
        """As `Encoder.fit`, in blocks, and of long lines only what would be encoded."""
        blocks = self.models.pieces(
            encoder, sentences() if lines is None else lines, watch, threads, "lines", truncate=True
        )
        if encoder.method.learns:
            blocks = _first(blocks, LEARNT_TOKENS)
        refined = bool(encoder.method.refinements())
        with watch.over():
            learnt = learnt_from(encoder.words, encoder.method, refined, blocks, threads)
        encoder.conclude(*learnt)


def _first(blocks: Iterable[Ids], tokens: int) -> Iterator[Ids]:
    """Blocks until they have so many tokens."""
    for ids, offsets in blocks:
        yield ids, offsets
        tokens -= len(ids)
        if tokens <= 0:
            return


def note(encoder: Encoder, key: Key, own: bool) -> str | None:
    """On what a method was fitted, None for the served encoder and for one that learns nothing."""
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

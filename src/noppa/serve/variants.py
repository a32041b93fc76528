"""The served words with another method: what the page's switches and the field `method` of a request ask for."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from importlib import resources
from typing import Any

from noppa import METHODS, Encoder
from noppa.encoder.fitting import learnt_from
from noppa.errors import NoppaError
from noppa.methods.corpus import Ids
from noppa.serve.body import kind_of
from noppa.serve.problems import invalid
from noppa.serve.served_models import Models, Watch
from noppa.serve.sessions import Session

#: Those that train weights of their own take longer than anybody waits for a page.
NAMES = tuple(name for name in METHODS if name not in ("fastsent", "sent2vec"))
SETTABLE = ("a", "k", "parts", "position", "kernel")
MOST_PARTS, MOST_K = 8, 64
KEPT = 16
#: About as many tokens of the lines as k-means over their words is done with in a second.
LEARNT_TOKENS = 1 << 14


class Variants:
    """Encoders made on demand, the last ones kept."""

    def __init__(self, models: Models) -> None:
        self.models = models
        self._kept: OrderedDict[Any, Encoder] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, fields_given: dict[str, Any]) -> tuple[Any, ...]:
        """What a request asks for, checked and as a key: the model's name, and the method's if it is another."""
        name, _ = self.models.named(fields_given.get("model"))
        method = fields_given.get("method")
        if method is None:
            return (name,)
        if not isinstance(method, dict) or method.get("name") not in NAMES:
            found = kind_of(method) if not isinstance(method, dict) else "without a known name"
            raise invalid(
                f"method is {found}: send an object whose name is one of {', '.join(NAMES)}, or leave it out",
                "method",
            )
        kind = METHODS[method["name"]]
        known = [field.name for field in fields(kind) if field.name in SETTABLE]
        given = {key: value for key, value in method.items() if key != "name"}
        for key, value in given.items():
            if key not in known:
                listed = ", ".join(known) or "none"
                raise invalid(
                    f"method.{key[:40]} is not a parameter here: this method has {listed}", "method"
                )
            if key == "parts" and not (
                isinstance(value, list)
                and 1 <= len(value) <= MOST_PARTS
                and all(isinstance(part, str) and len(part) < 10 for part in value)
            ):
                raise invalid(f"method.parts must be 1 to {MOST_PARTS} names of parts", "method")
            if key == "k" and not (type(value) is int and 0 <= value <= MOST_K):
                raise invalid(f"method.k must be a whole number from 0 to {MOST_K}", "method")
            if key not in ("parts", "k") and isinstance(value, (list, dict)):
                raise invalid(
                    f"method.{key} is {kind_of(value)}: send a number or a name", "method"
                )
        try:
            kind(**given)
        except (NoppaError, TypeError) as error:
            raise invalid(f"method: {error}", "method") from None
        return (
            name,
            method["name"],
            *sorted((key, _frozen(value)) for key, value in given.items()),
        )

    def encoder(
        self, key: tuple[Any, ...], session: Session, texts: int, watch: Watch, threads: int
    ) -> Encoder:
        """The encoder of a checked key for so many texts at once.

        It is fitted on the lines of the session, or else on the sentences that come with the page.
        """
        name, *method = key
        served = self.models.encoders[name]
        if not method:
            return self._bounded(served, texts)
        place = (key, session.corpus[1])
        with self._lock:
            if place in self._kept:
                self._kept.move_to_end(place)
                return self._bounded(self._kept[place], texts)
        try:
            made = Encoder(served.words, METHODS[method[0]](**dict(method[1:])))
            self._fit(self._bounded(made, texts), session.corpus[0], watch, threads)
        except NoppaError as error:
            raise invalid(f"method: {error}", "method") from None
        with self._lock:
            self._kept[place] = made
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
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


def note(encoder: Encoder, key: tuple[Any, ...], own: bool) -> str | None:
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


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value

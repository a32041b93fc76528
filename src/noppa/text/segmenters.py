"""Segmenters of other packages, by the name of the package and of its extra: a run of a script without spaces to words."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from noppa.extras import needs

Segmenter = Callable[[str], list[str]]


def jieba() -> Segmenter:
    import logging  # lazily, as all that only some languages need

    with needs("jieba", "this tokenizer"):
        package = import_module("jieba")
    package.setLogLevel(logging.WARNING)  # it tells every process that it builds its dictionary
    return lambda run: [word for word in package.cut(run) if word]


def fugashi() -> Segmenter:
    import threading

    with needs("fugashi", "this tokenizer"):
        tagger = import_module("fugashi").Tagger
    of_thread = threading.local()  # a tagger holds the sentence that it parses

    def words(run: str) -> list[str]:
        if not hasattr(of_thread, "tagger"):
            of_thread.tagger = tagger("-Owakati")
        return [word.surface for word in of_thread.tagger(run)]

    return words


def pythainlp() -> Segmenter:
    with needs("pythainlp", "this tokenizer"):
        package = import_module("pythainlp.tokenize")
    return lambda run: [word for word in package.word_tokenize(run, engine="newmm") if word]


#: By the name of the package.
SEGMENTERS: dict[str, Callable[[], Segmenter]] = {
    "jieba": jieba,
    "fugashi": fugashi,
    "pythainlp": pythainlp,
}


@cache
def segmenter(name: str) -> Segmenter:
    """A segmenter, made once a process."""
    return SEGMENTERS[name]()

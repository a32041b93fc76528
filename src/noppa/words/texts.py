"""Checks of batches: any ordered collection of texts or token lists becomes the lists of str that a lookup takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from noppa import _native as kernels
from noppa.errors import InputError, ParameterError
from noppa.parameters import one_of, short_repr
from noppa.text.tokenizer import Split

ON_ERROR = ("raise", "empty")


def texts_of(collection: Any, on_error: str | None = None) -> list[str]:
    """Return the texts of a collection in order, or raise an error that names the first item that is no text.

    on_error: "empty" turns a missing value (None, NaN, NA) into an empty text; None if the caller does not offer the choice.
    """
    if on_error is not None:
        one_of(on_error, "on_error", ON_ERROR)
    items = _items(collection, "texts")
    if (place := kernels.first_other(items)) >= 0 and on_error == "empty":
        items = ["" if _is_missing(item) else item for item in items]
        place = kernels.first_other(items)
    if place >= 0:
        raise InputError(_reason(place, items[place], on_error is not None))
    return items


def token_lists_of(collection: Any) -> list[list[str]]:
    """Return the token lists of a collection in order, or raise an error that names the first item that is none."""
    sentences = _items(collection, "lists of tokens")
    for row, sentence in enumerate(sentences):
        if isinstance(sentence, str):
            raise InputError(
                f"item {row} is a str, and encode_tokens takes lists of tokens: "
                "put the tokens of one sentence in a list of their own, or give texts to encode"
            )
        tokens = sentence if type(sentence) is list else _items(sentence, f"item {row}")
        other = kernels.first_other(tokens)
        if other >= 0:
            raise InputError(
                f"token {other} of item {row} is {_kind(tokens[other])}: a token is a str"
            )
        sentences[row] = tokens
    return sentences


def tokens_of(texts: list[str], tokenizer: Split) -> list[list[str]]:
    """Return the tokens of each text, or raise an error that names the first text that was not split into tokens."""
    if not callable(tokenizer):
        raise ParameterError(
            f"tokenizer must be a function from a text to tokens, not {short_repr(tokenizer)}"
        )
    split = [tokenizer(text) for text in texts]
    for row, tokens in enumerate(split):
        if isinstance(tokens, str) or not isinstance(tokens, Iterable):
            raise InputError(
                f"the tokenizer gave a {type(tokens).__name__} for item {row}, not a list of tokens"
            )
    return token_lists_of(split)


def blocks_of(texts: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Yield consecutive blocks of up to `size` items."""
    if isinstance(texts, (str, bytes)):
        raise InputError("a single text cannot be iterated over: give a collection of texts")
    try:
        items = iter(texts)
    except TypeError:
        raise InputError(f"{_kind(texts)} is not a collection of texts") from None
    while block := list(islice(items, size)):
        yield block


def _items(collection: Any, items: str) -> list[Any]:
    """Return a new list of the items of any ordered collection; `items` is their name in errors."""
    if isinstance(collection, (bytes, bytearray)):
        raise InputError("bytes are not text: decode them first, for example data.decode('utf-8')")
    if isinstance(collection, (dict, set, frozenset)):
        raise InputError(
            f"a {type(collection).__name__} has no order of rows: give a list of {items}"
        )
    if hasattr(collection, "columns") and hasattr(collection, "shape"):
        raise InputError("a table has several columns: give one of them, for example table['text']")
    if hasattr(collection, "to_pylist"):
        # An Arrow array iterates over scalars, which are not str.
        return list(collection.to_pylist())
    if getattr(collection, "ndim", 1) != 1:
        raise InputError(
            f"an array of {collection.ndim} dimensions has no order of rows: give one of 1"
        )
    try:
        return list(collection)
    except TypeError:
        raise InputError(
            f"{_kind(collection)} is neither a text nor a collection of {items}"
        ) from None


def _is_missing(item: Any) -> bool:
    if item is None or type(item).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(item, float) and item != item


def _kind(item: Any) -> str:
    return f"a {type(item).__name__}" if item is not None else "None"


def _reason(place: int, item: Any, has_choice: bool) -> str:
    if _is_missing(item):
        choice = "pass on_error='empty' for a row of zeros" if has_choice else "leave it out"
        return f"item {place} is missing ({type(item).__name__}): fill it, or {choice}"
    if isinstance(item, (bytes, bytearray)):
        return f"item {place} is {type(item).__name__}: decode it first, for example with .decode('utf-8')"
    if isinstance(item, (list, tuple)):
        return f"item {place} is a {type(item).__name__}: lists of tokens go to encode_tokens"
    return f"item {place} is {_kind(item)}: every text must be a str"

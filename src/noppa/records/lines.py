"""Records that are lines: plain text and JSONL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from noppa.errors import FileError
from noppa.io.compression import Source
from noppa.io.whole_lines import whole_lines
from noppa.records.batch import STDIN, TEXT, Batch, Input, is_clean, open_input, place, shown

PIECE = 1 << 18
#: Bytes of the longest line that is read: a device or a file without line feeds must not fill the memory.
LONGEST_LINE = 1 << 28


#: Records one after the other, None for a bad one, and the place and fault of each bad one.
Found = tuple[list[str | None], list[tuple[int, str]]]


def read_lines(path: str, wanted: Input) -> Iterator[Batch]:
    """One record a line, split at line feeds alone, so that no other character breaks a record."""
    source = open_input(path)
    number = 1
    try:
        for texts, faults in lines_of(source, path):
            bad = [(at, f"{shown(path)}, line {number + at}: {fault}") for at, fault in faults]
            number += len(texts)
            yield Batch(texts, bad, place(source, path))
    finally:
        if path != STDIN:
            source.close()


def lines_of(source: Source, path: str, marked: bool = True) -> Iterator[Found]:
    """The lines of a stream, a piece at a time; `marked` says that it may begin with a byte order mark."""
    for piece in whole_lines(_blocks(source, path), LONGEST_LINE):
        if len(piece) > LONGEST_LINE and b"\n" not in piece:
            raise FileError(
                f"{shown(path)}: a line is longer than {LONGEST_LINE >> 20} MB; is this a file of text lines?"
            )
        if marked:
            piece, marked = piece.removeprefix(b"\xef\xbb\xbf"), False
        bad: list[tuple[int, str]] = []
        try:
            texts: list[str | None] = list(_split(piece.decode()))
        except UnicodeDecodeError:
            texts = list(_split(piece.decode("utf-8", "surrogateescape")))
            for at, text in enumerate(texts):
                if text is not None and not is_clean(text):
                    texts[at] = None
                    bad.append((at, "it is not UTF-8"))
        yield texts, bad


def read_jsonl(path: str, wanted: Input) -> Iterator[Batch]:
    """One JSON value a line: an object with the column, or, where no column was named, a plain string."""
    column = wanted.column or TEXT
    number = 1
    for batch in read_lines(path, wanted):
        texts: list[str | None] = []
        bad = list(batch.bad)
        for at, line in enumerate(batch.texts):
            text = None
            if line is not None:
                _, text, fault = parsed(line, column)
                if fault:
                    bad.append((at, f"{shown(path)}, line {number + at}: {fault}"))
            texts.append(text)
        number += len(texts)
        yield Batch(texts, sorted(bad), batch.position)


def parsed(line: str, column: str) -> tuple[Any, str | None, str]:
    """The JSON value of a line, the text in it, and what is wrong with that, which is nothing where there is a text."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        return None, None, f"it is no JSON ({error})" if line.strip() else "it is blank"
    if isinstance(value, str):
        text, fault = value, ""
    elif not isinstance(value, dict):
        return value, None, f"it is {_kind(value)}"
    elif column not in value:
        return value, None, f"it has no {column!r}"
    else:
        text = value[column]
        fault = "" if isinstance(text, str) else f"its {column!r} is {_kind(text)}"
    if not fault and not is_clean(text):
        fault = "it holds half of a surrogate pair, which is no character"
    return value, None if fault else text, fault


def _blocks(source: Source, path: str) -> Iterator[bytes]:
    while True:
        # A pipe gives what it has, so that a slow writer's lines are not held back.
        block = source.stream.read(PIECE) if path == STDIN else source.read(PIECE)
        if not block:
            return
        yield block


def _split(text: str) -> list[str]:
    lines = text.removesuffix("\n").split("\n")
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def _kind(value: Any) -> str:
    names = {
        type(None): "null",
        bool: "a boolean",
        int: "a number",
        float: "a number",
        list: "a list",
        str: "a string",
    }
    return names.get(type(value), "an object")

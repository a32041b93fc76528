"""Text for a terminal: control characters in the data are escaped, so that they cannot act on it."""

from __future__ import annotations

import os
import re
import sys

#: Control characters, bidirectional overrides and lone surrogates: with them a text could clear the screen, rename the
#: window or pose as other text.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: object) -> str:
    """The text on one line, with each control character as its escape, such as `\\x1b`."""
    return _CONTROLS.sub(lambda match: repr(match[0])[1:-1], str(text))


def is_drawn() -> bool:
    """Whether tables are drawn: on a terminal, or where FORCE_COLOR asks for what a terminal shows."""
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))


def printable(text: object) -> str:
    """A value of the data for standard output: `visible` on a terminal, as it is in a pipe or a file."""
    return visible(text) if sys.stdout.isatty() else str(text)

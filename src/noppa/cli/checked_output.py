"""Outputs of commands: never one of the inputs, and said where one is replaced."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

from noppa.cli.terminal import visible
from noppa.io.outputs import STREAM, PathLike, refuse_input_as_output


def output_of(output: PathLike, sources: Iterable[Any], said: bool = False) -> None:
    """Refuse an output that is an input, and say that one that is there will be replaced, unless that was `said`."""
    refuse_input_as_output(output, sources)
    if not said and os.fspath(output) != STREAM and os.path.lexists(output):
        print(f"noppa: {visible(output)} exists and will be replaced", file=sys.stderr)

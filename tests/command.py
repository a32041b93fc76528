"""Run a command in this process, and return its output and exit code."""

from __future__ import annotations

import io
import shlex
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple
from unittest import mock

from noppa import cli


class Done(NamedTuple):
    """How a command ended."""

    code: int
    output: str
    errors: str


def run_command(command: str, given: bytes = b"", device: str | None = None) -> Done:
    """Run a command line such as `encode lines.txt`, with `given` on standard input.

    device: a file that standard output goes to, in place of being returned.
    """
    content = io.BytesIO() if device is None else open(device, "wb")  # noqa: SIM115
    output, errors = io.TextIOWrapper(content, "utf-8", write_through=True), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["noppa", *shlex.split(command)]),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), "utf-8")),
        mock.patch.object(cli, "_exit_on_signals"),
        warnings.catch_warnings(),
        redirect_stdout(output),
        redirect_stderr(errors),
    ):
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
            if isinstance(end.code, str):
                errors.write(end.code)
    if isinstance(content, io.BytesIO):
        return Done(code, content.getvalue().decode(), errors.getvalue())
    content.close()
    return Done(code, "", errors.getvalue())

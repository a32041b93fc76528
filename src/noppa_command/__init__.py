"""The console script `noppa`: Ctrl-C ends it without a traceback from its first line on, also while noppa is imported.

A package of its own, because importing any module of noppa imports NumPy and the native module first.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Run the command line."""
    is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # as under nohup
    if not is_ignored:
        signal.signal(signal.SIGINT, _end)
    try:
        from noppa.cli import main as run
        from noppa.cli import prepare

        prepare()
    except (
        ImportError,
        ValueError,
    ) as error:  # a package that is missing, or a variable such as NOPPA_ISA
        sys.exit(f"noppa: {error}")
    if not is_ignored:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


def _end(*_: object) -> None:
    """End now: there is nothing to tidy up, and an exception would be caught by what is just being imported."""
    os.write(2, b"noppa: interrupted\n")
    os._exit(130)

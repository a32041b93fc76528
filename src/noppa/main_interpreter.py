"""Refuses subinterpreters in one sentence, before NumPy is imported: it prints a page there, or never returns."""

from __future__ import annotations

import sys
from importlib import import_module

#: The module that tells interpreters apart, from Python 3.13 on and before it.
MODULE = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"


def is_main() -> bool:
    try:
        interpreters = import_module(MODULE)
    except ImportError:  # a Python without subinterpreters
        return True
    return bool(interpreters.get_current() == interpreters.get_main())


if not is_main():
    raise ImportError(
        "noppa runs in the main interpreter alone, as NumPy does: import it there and use threads, or start processes "
        "(under mod_wsgi: WSGIApplicationGroup %{GLOBAL})"
    )

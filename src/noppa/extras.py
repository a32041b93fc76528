"""Packages that only some uses need: a missing one is a sentence with its install line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from noppa.errors import MissingPackageError


@contextmanager
def needs(extra: str, what: str, otherwise: str = "") -> Iterator[None]:
    """Imports in this block belong to `noppa[extra]`; without them, `what` cannot work.

    otherwise: what the reader can do instead of installing it.
    """
    try:
        yield
    except ImportError as error:
        if (
            isinstance(error, MissingPackageError)
            or not error.name
            or error.name.startswith("noppa")
        ):
            raise
        raise MissingPackageError(
            f"{what} needs {error.name}, which is not installed: pip install 'noppa[{extra}]'{otherwise}"
        ) from error

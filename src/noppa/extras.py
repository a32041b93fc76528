"""Optional dependencies: a missing package raises an error that says how to install it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from noppa.errors import MissingPackageError


@contextmanager
def needs(extra: str, what: str, otherwise: str = "") -> Iterator[None]:
    """Turn an ImportError of this block into one that names the extra to install for the feature `what`."""
    try:
        yield
    except ImportError as error:
        if not error.name or error.name.startswith("noppa"):
            raise
        raise MissingPackageError(
            f"{what} needs {error.name}, which is not installed: pip install 'noppa[{extra}]'{otherwise}"
        ) from error

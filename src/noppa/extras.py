"""Optional packages: a missing one raises one sentence with the line that installs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from noppa.errors import MissingPackageError


@contextmanager
def needs(extra: str, what: str, otherwise: str = "") -> Iterator[None]:
    """Imports in this block need `noppa[extra]`; an ImportError becomes a sentence that names it.

    what: the feature that needs them. otherwise: an alternative to installing them, appended to the sentence.
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

"""Where downloads are kept."""

from __future__ import annotations

import os
from pathlib import Path

from noppa.errors import FileError

VARIABLE = "NOPPA_HOME"


def home() -> Path:
    """The download folder: NOPPA_HOME, else one in the user's cache folder."""
    if VARIABLE in os.environ:
        return Path(os.environ[VARIABLE])
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "noppa"
    except RuntimeError as error:
        raise FileError(
            f"there is no home folder to download to: set {VARIABLE} to a folder"
        ) from error

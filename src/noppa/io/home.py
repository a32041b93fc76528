"""Where downloads are kept."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "NOPPA_HOME"


def home() -> Path:
    """The download folder: NOPPA_HOME, else one in the user's cache folder."""
    if VARIABLE in os.environ:
        return Path(os.environ[VARIABLE])
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "noppa"

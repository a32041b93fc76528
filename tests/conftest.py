"""Fixtures that several test files share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Callable[..., Path]:
    """A path below the shared folder, or a skip that names what is missing."""
    root = Path(os.environ.get("NOPPA_SHARED", Path(__file__).parents[2] / "shared"))

    def find(*parts: str) -> Path:
        path = root.joinpath(*parts)
        if not path.exists():
            pytest.skip(f"{path} is missing: set NOPPA_SHARED to the shared folder")
        return path

    return find

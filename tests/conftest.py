"""What several test files share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Callable[..., Path]:
    """`shared("golden", "gem.npz")` is a path in the shared data, or skips the test where there is none."""
    beside = Path(__file__).parents[2] / "shared"
    data = Path(os.environ.get("NOPPA_SHARED", beside)) / "data"

    def path(*parts: str) -> Path:
        found = data.joinpath(*parts)
        if not found.exists():
            pytest.skip(f"no shared data: {'/'.join(parts)} is not there, set NOPPA_SHARED")
        return found

    return path

"""The header `x-noppa-warning`: what a client should know of a request that was answered all the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request

HEADER = "x-noppa-warning"
#: What a header can hold of a client's own names.
UNFIT = re.compile(r"[^A-Za-z0-9_.-]")
LONGEST_NAME, MOST_NAMES = 40, 100


def warn(request: Request, what: str, names: Sequence[Any] = ()) -> None:
    """Add to the header of the answer: what is the matter, and with which fields or items."""
    shown = [UNFIT.sub("?", str(name)[:LONGEST_NAME]) for name in names[:MOST_NAMES]]
    more = len(names) - len(shown)
    listed = ", ".join(shown) + (f" and {more} more" if more else "")
    request.scope.setdefault("noppa.warnings", []).append(f"{what}: {listed}" if names else what)


def header_of(request: Request) -> dict[str, str]:
    """The header, where there is something to say."""
    warnings = request.scope.get("noppa.warnings")
    return {HEADER: "; ".join(warnings)} if warnings else {}

"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[
    Path | None,
    typer.Option("--model", "-m", help="Folder of a saved encoder.", show_default=False),
]
Threads = Annotated[
    int | None, typer.Option(help="Threads; all available ones if not given.", show_default=False)
]

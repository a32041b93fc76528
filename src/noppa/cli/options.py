"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="A preset of the embedded model, or the folder of a saved encoder.",
        show_default=False,
    ),
]
Threads = Annotated[
    int | None, typer.Option(help="Threads; all available ones if not given.", show_default=False)
]

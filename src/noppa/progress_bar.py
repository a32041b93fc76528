"""Progress bars: by rich on a terminal, as HTML in a notebook (without widgets), and none elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

#: A callback (description, done, total); a total of 0 is unknown.
Update = Callable[[str, int, int], None]
T = TypeVar("T", bound=Sized)


def with_progress(blocks: Iterable[T], total: int, description: str) -> Iterator[T]:
    """Yield the blocks and show a bar that counts their members; a total of 0 is unknown."""
    done = 0
    with counts_bar() as update:
        update(description, done, total)
        for block in blocks:
            yield block
            done += len(block)
            update(description, done, total)


@contextmanager
def counts_bar() -> Iterator[Update]:
    """Show a bar that counts items; yields its update function."""
    if in_notebook():
        yield _notebook_bar()
    else:
        with terminal_bar("", "MofNCompleteColumn") as update:
            yield lambda what, done, total: update(
                description=what, completed=done, total=total or None
            )


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    if "ipykernel" not in sys.modules:
        return False
    from IPython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None


def _notebook_bar() -> Update:
    from IPython.display import display

    shown: Any = None

    def update(what: str, done: int, total: int) -> None:
        nonlocal shown
        of = f" of {total:,}" if total else ""
        text = f"{what}: {done:,}{of}"
        value = f' value="{done}" max="{total}"' if total else ""
        bundle = {"text/plain": text, "text/html": f"<progress{value}></progress> {text}"}
        if shown is None:
            shown = display(bundle, raw=True, display_id=True)
        else:
            shown.update(bundle, raw=True)

    return update


@contextmanager
def terminal_bar(description: str, *columns: str) -> Iterator[Callable[..., None]]:
    """Show a bar of rich on standard error, if that is a terminal; yields rich's `update` function.

    columns: classes of rich.progress to show between the bar and the remaining time.
    """
    if not sys.stderr.isatty():
        yield lambda **values: None
        return
    from rich import progress
    from rich.console import Console

    middle = [getattr(progress, name)() for name in columns]
    text = progress.TextColumn("{task.description}")
    shown = (text, progress.BarColumn(), *middle, progress.TimeRemainingColumn())
    with progress.Progress(*shown, console=Console(stderr=True), transient=True) as bar:
        yield partial(bar.update, bar.add_task(description, total=None))

"""Progress bars: on a terminal by rich, in a notebook as HTML that is redrawn in its place, elsewhere none.

The bar of a notebook needs no widgets: every front end can replace the display of a cell.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

#: A callback (description, done, total); a total of 0 is unknown.
Update = Callable[[str, int, int], None]
T = TypeVar("T", bound=Sized)


def followed(blocks: Iterable[T], total: int, what: str) -> Iterator[T]:
    """The blocks, with a bar that counts their members; a total of 0 is unknown."""
    done = 0
    with counts_bar() as update:
        update(what, done, total)
        for block in blocks:
            yield block
            done += len(block)
            update(what, done, total)


@contextmanager
def counts_bar() -> Iterator[Update]:
    """A bar for a number of things done of a total."""
    if in_notebook():
        yield _notebook_bar()
    else:
        with terminal_bar("", "MofNCompleteColumn") as update:
            yield lambda what, done, total: update(
                description=what, completed=done, total=total or None
            )


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which IPython loads before anything of ours runs."""
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
def terminal_bar(what: str, *columns: str) -> Iterator[Callable[..., None]]:
    """A bar of rich on standard error, if that is a terminal, gone when it is done; the callback takes what rich's `update` does.

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
        yield partial(bar.update, bar.add_task(what, total=None))

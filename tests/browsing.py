"""Chromium driven by Playwright; every error or warning of the browser fails the test."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.runs import PATIENCE

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
#: Slows down the page, to find tests that look too early: `reliability/load.py --slow-page 6`.
SLOW = float(os.environ.get("NOPPA_SLOW_PAGE", "1"))


@contextmanager
def launched() -> Iterator[Any]:
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * PATIENCE)
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@contextmanager
def opened_page(browser: Any, url: str, **options: Any) -> Iterator[Any]:
    """Open a page; errors, warnings and requests to other hosts fail the test. `options` are those of a context."""
    options = {"viewport": {"width": 1100, "height": 900}, "accept_downloads": True, **options}
    context = browser.new_context(**options)
    context.set_default_timeout(1000 * PATIENCE)
    opened = context.new_page()
    if SLOW > 1:
        session = context.new_cdp_session(opened)
        session.send("Emulation.setCPUThrottlingRate", {"rate": SLOW})
    wrong: list[str] = []

    def complained(message: Any) -> None:
        if message.type in ("error", "warning"):
            wrong.append(message.text)

    def requested(request: Any) -> None:
        if not request.url.startswith((url, "blob:")):
            wrong.append(request.url)

    opened.on("console", complained)
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("request", requested)
    opened.forgiven = set()
    try:
        yield opened
    finally:
        context.close()
    assert [text for text in wrong if not any(one in text for one in opened.forgiven)] == []


def wait(page: Any, condition: str) -> None:
    # A bare expression would be evaluated by the page, which forbids it.
    page.wait_for_function(f"() => {condition}")


def eventually(page: Any, found: Callable[[], Any], wanted: Any) -> None:
    """Wait until `found` returns what is wanted."""
    end = time.monotonic() + PATIENCE
    while (last := found()) != wanted and time.monotonic() < end:
        page.wait_for_timeout(50)
    assert last == wanted


def wait_for_requests(page: Any, held: list[Any], count: int) -> None:
    """Wait until a route has appended so many requests to `held`."""
    eventually(page, lambda: len(held), count)


def opened_at(page: Any, address: str) -> None:
    """Open the page and wait until it knows what the server offers."""
    page.goto(address)
    wait(page, "document.querySelectorAll('#name option').length > 1")


def paste(page: Any, text: str) -> None:
    """Replace the lines with text from the clipboard."""
    page.locator("#paste").evaluate(
        "(field, text) => { const clipboardData = new DataTransfer(); clipboardData.setData('text/plain', text); field.focus(); field.select();"
        " field.dispatchEvent(new ClipboardEvent('paste', { clipboardData, cancelable: true })); }",
        text,
    )


def forgive(page: Any, status: str) -> None:
    """Allow answers of this status, which the browser reports as errors."""
    page.forgiven.add(status)


def settled(page: Any) -> None:
    """Wait until no request is running and nothing on the page is dimmed or moves."""
    wait(
        page,
        "!document.querySelector('[aria-busy=true], .stale') && !document.getAnimations().length",
    )

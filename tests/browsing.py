"""Debian's Chromium, driven by Playwright: a page on which every complaint of the browser fails the test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed: apt-get install chromium"
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


@contextmanager
def launched() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@contextmanager
def opened_page(browser: Any, url: str, **options: Any) -> Iterator[Any]:
    """A fresh page; whatever the browser complains about fails the test, as does any request to elsewhere.

    options: of the browser's context.
    """
    options = {"viewport": {"width": 1100, "height": 900}, "accept_downloads": True, **options}
    context = browser.new_context(**options)
    context.set_default_timeout(60_000)
    opened = context.new_page()
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
    opened.wrong = wrong
    yield opened
    context.close()
    # A server that lost the lines answers 404, and the page sends them again.
    assert [text for text in wrong if "404" not in text] == []


def wait(page: Any, condition: str) -> None:
    # A bare expression would be evaluated by the page, which forbids it.
    page.wait_for_function(f"() => {condition}")


def paste(page: Any, text: str) -> None:
    """Text from the clipboard in place of what the field of the lines holds."""
    page.locator("#paste").evaluate(
        "(field, text) => { const clipboardData = new DataTransfer(); clipboardData.setData('text/plain', text); field.focus(); field.select();"
        " field.dispatchEvent(new ClipboardEvent('paste', { clipboardData, cancelable: true })); }",
        text,
    )


def forgive(page: Any, status: str) -> None:
    """The browser writes each answer of this status to its console, and here it was meant."""
    page.wrong[:] = [text for text in page.wrong if status not in text]


def settled(page: Any) -> None:
    """Until no request is under way and nothing on the page is dimmed or moves."""
    wait(
        page,
        "!document.querySelector('[aria-busy=true], .stale') && !document.getAnimations().length",
    )

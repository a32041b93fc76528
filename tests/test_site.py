"""Build the site as `make docs` does: no warning, no dead link, every public name in the reference, no external files."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

import noppa
from tests.browsing import launched, opened_page
from tests.conftest import ROOT
from tests.test_docs import ELSEWHERE, PAGES, blocks

#: Public modules in addition to noppa itself.
OPEN = ("files", "methods", "paper", "plot")


class Document(HTMLParser):
    """Collect the ids, links and loaded files of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.ids |= {value for name in ("id", "name") if (value := attributes.get(name))}
        if tag == "a" and (target := attributes.get("href")):
            self.links.add(target)
        elif target := attributes.get("src") or (tag == "link" and attributes.get("href")):
            self.loaded.add(str(target))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return folder


@pytest.fixture(scope="module")
def documents(site: Path) -> dict[Path, Document]:
    return {path: Document(path) for path in sorted(site.rglob("*.html"))}


def test_no_link_is_dead(documents: dict[Path, Document]) -> None:
    dead = []
    for path, document in documents.items():
        for target in document.links | document.loaded:
            if path.name == "404.html" or urlsplit(target).scheme:
                continue
            address, anchor = urldefrag(target)
            goal = (path.parent / unquote(address)).resolve() if address else path
            goal = goal / "index.html" if goal.is_dir() else goal
            page = documents.get(goal)
            if not goal.exists() or (anchor and page and unquote(anchor) not in page.ids):
                dead.append(f"{path.name}: {target}")
    assert dead == []


def test_pages_load_no_external_files(documents: dict[Path, Document]) -> None:
    assert {
        target
        for document in documents.values()
        for target in document.loaded
        if urlsplit(target).netloc
    } == set()


def public() -> Iterator[str]:
    """Yield the names of the public modules, and the names that pages import."""
    yield from (f"noppa.{name}" for name in noppa.__all__ if name[0] != "_")
    for module in (importlib.import_module(f"noppa.{name}") for name in OPEN):
        names = (name for name in module.__all__ if name not in noppa.__all__)
        yield from (f"{module.__name__}.{name}" for name in names)
    for page in {*PAGES, *ELSEWHERE} - {ROOT / "CONTRIBUTING.md"}:
        for node in ast.walk(ast.parse("\n".join(blocks(page, "python")))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("noppa."):
                yield from (f"{node.module}.{name.name}" for name in node.names)


def test_every_public_name_is_in_the_reference(documents: dict[Path, Document]) -> None:
    (shown,) = [doc.ids for path, doc in documents.items() if path.name == "reference.html"]
    methods = {f"noppa.Encoder.{name}" for name in ("encode", "save", "load", "dim")}
    missing = sorted({*public(), *methods} - shown)
    assert missing == [], "write a docstring for each, and a line `::: NAME` in docs/reference.md"


@pytest.mark.system
def test_the_search_finds_from_the_file_system(site: Path) -> None:
    """The browser reports external requests and errors."""
    home = site.as_uri()
    with launched() as browser, opened_page(browser, home) as page:
        page.goto(f"{home}/index.html")
        # The page reads the field when a key is released.
        page.locator("[data-md-component=search-query]").press_sequentially("noise removal")
        page.wait_for_selector(".md-search-result__link")
        page.locator(".md-search-result__link").first.click()
        page.wait_for_selector(".md-content h1")


def test_public_classes_and_functions_have_docstrings() -> None:
    modules = [noppa, *(importlib.import_module(f"noppa.{name}") for name in OPEN)]
    named = {
        f"{module.__name__}.{name}": getattr(module, name)
        for module in modules
        for name in module.__all__
    }
    assert [name for name, value in named.items() if callable(value) and not value.__doc__] == []

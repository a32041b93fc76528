"""Hook of mkdocs: add the pages of the repository to the site, and adapt links between pages.

Pages link to each other by their paths in the repository. README.md is the home of the site; the other pages of the top folder keep
their names in lower case. A link to a file that is not a page becomes its path.
"""

from __future__ import annotations

import logging
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCS = "docs/"
# Ranked lower in search results: they mention everything.
LOGS = ("changelog.md", "reliability.md")
# A child of the logger `mkdocs`: --strict counts its warnings.
log = logging.getLogger("mkdocs.hooks.pages")
FENCE = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[((?:[^\[\]]|!?\[[^\]]*\])*)\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")
MARK = re.compile(r"^<!-- (?:made by .*|end) -->$\n?", re.MULTILINE)


def top_pages() -> dict[str, str]:
    """Map the names of the top pages in the repository to their names in the site."""
    names = sorted(path.name for path in ROOT.glob("*.md"))
    return {name: "index.md" if name == "README.md" else name.lower() for name in names}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, uri in top_pages().items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / name)))
    return files


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    shown = {page.file.src_uri for page in nav.pages}
    for file in files.documentation_pages():
        if file.src_uri not in shown:
            log.warning(
                f"{file.src_uri} is in no menu: add the line `- Its title: {file.src_uri}` to the right section of `nav` in mkdocs.yml"
            )
    return nav


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]  # it would list only the home page
    if page.file.src_uri in LOGS:
        page.meta["search"] = {"boost": 0.3}
    tops = {uri: name for name, uri in top_pages().items()}
    source = tops.get(page.file.src_uri, DOCS + page.file.src_uri)
    parts = FENCE.split(MARK.sub("", markdown))  # text, code, text, …
    parts[::2] = [
        LINK.sub(lambda link: linked(link, source, page.file.src_uri), text) for text in parts[::2]
    ]
    return "".join(parts)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Name the dialog of the theme's search for screen readers."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')


def linked(link: re.Match[str], source: str, uri: str) -> str:
    """Return a link of the page `source` of the repository as it must be on the page `uri` of the site."""
    text, target, anchor = link[1], link[2], link[3] or ""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    page = top_pages().get(path) or (path.removeprefix(DOCS) if path.startswith(DOCS) else None)
    if page is not None:
        text = title_of(path) if text.strip("`") in (target, path) else text
        return f"[{text}]({posixpath.relpath(page, posixpath.dirname(uri) or '.')}{anchor})"
    if (ROOT / path).exists():
        return f"`{path}`" if path.endswith(text.strip("/`")) else f"{text} (`{path}`)"
    log.warning(f"{source} links to {target}, which is not there")
    return link[0]


def title_of(path: str) -> str:
    """Return the heading of a page, or its path if there is no such page."""
    if not (ROOT / path).is_file():
        return path
    return (ROOT / path).read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")

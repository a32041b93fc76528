"""The hook of mkdocs: the repository's own pages become pages of the site, and links between them keep working there.

Every page is written for the repository: it links to others by their paths. README.md is the home of the site; the other pages of
the top folder keep their names in lower case. A link to a file that is no page becomes its path, in words.
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
# They mention everything, and are what few people look for.
LOGS = ("changelog.md", "reliability.md")
# Below `mkdocs`, so that --strict counts its warnings.
log = logging.getLogger("mkdocs.hooks.pages")
FENCE = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[((?:[^\[\]]|!?\[[^\]]*\])*)\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")
MARK = re.compile(r"^<!-- (?:made by .*|end) -->$\n?", re.MULTILINE)


def top_pages() -> dict[str, str]:
    """The pages of the top folder, by their names in the repository: their names in the site."""
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
        page.meta["hide"] = ["navigation"]  # it would name the home alone
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
    """The theme's search is a dialog without a name, which screen readers need."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')


def linked(link: re.Match[str], source: str, uri: str) -> str:
    """A link of the page `source` of the repository, as it must be in the page `uri` of the site."""
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
    """What a page calls itself: better to read than its path; the path itself where there is no such page."""
    if not (ROOT / path).is_file():
        return path
    return (ROOT / path).read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")

"""Writes what is generated in README.md and docs/ from bench/results: every number is made here.

python bench/document.py           # write the pages
python bench/document.py --check   # say which are not what the results make
"""

from __future__ import annotations

import sys

from pages import evaluation, server, tables
from pages.results import ROOT

#: What stands around a generated part in a page that is written by hand.
MARKS = ("<!-- made by bench/document.py -->\n", "<!-- end -->\n")


def between_marks(text: str, made: str) -> str:
    """A page with what stands between the marks made anew."""
    before, _, rest = text.partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    return f"{before}{MARKS[0]}{made}{MARKS[1]}{after}"


def pages() -> dict[str, str]:
    """Every page that has generated parts, by its path, as it must be."""
    marked = {
        "README.md": tables.short_table(),
        "docs/default-model.md": tables.model_card(),
        "docs/server.md": server.measured(),
    }
    made = {
        path: between_marks((ROOT / path).read_text(encoding="utf-8"), part)
        for path, part in marked.items()
    }
    return {"docs/evaluation.md": evaluation.page(), **made}


def main(check: bool) -> None:
    old = [
        path for path, text in pages().items() if (ROOT / path).read_text(encoding="utf-8") != text
    ]
    if check and old:
        sys.exit(f"not what bench/results makes: {', '.join(old)}; run python bench/document.py")
    for path in old:
        (ROOT / path).write_text(pages()[path], encoding="utf-8")


if __name__ == "__main__":
    main(check="--check" in sys.argv[1:])

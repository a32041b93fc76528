"""Make the links of README.md absolute: on a package index, relative links are dead.

The release workflow runs it before the build:

    python tools/absolute_links.py ADDRESS_OF_THE_REPOSITORY TAG
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
LINK = re.compile(r"(!?)(\[[^\]]*\])\((?![a-z]+:|#)([^)\s]+)\)")


def absolute(text: str, address: str, tag: str) -> str:
    """Return a page with links to files at a tag; blocks of code do not change."""

    def link(match: re.Match[str]) -> str:
        image, name, path = match.groups()
        return f"{image}{name}({address}/{'raw' if image else 'blob'}/{tag}/{path})"

    prose = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if at % 2 else LINK.sub(link, part) for at, part in enumerate(prose))


def main() -> None:
    address, tag = sys.argv[1:]
    text = README.read_text(encoding="utf-8")
    README.write_text(absolute(text, address.rstrip("/"), tag), encoding="utf-8")


if __name__ == "__main__":
    main()

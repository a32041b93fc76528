"""Griffe extension for the reference.

`#:` comments become docstrings, paragraphs that begin with `>>>` blocks of code, and public classes in backticks links.
"""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path
from typing import Any

from griffe import Alias, Attribute, Docstring, Extension, Module, Object


class HouseStyle(Extension):
    """Complete every docstring of a package once it is loaded."""

    def on_package(self, *, pkg: Module, **kwargs: Any) -> None:
        complete(pkg, {str(name) for name in pkg.exports or () if str(name)[0].isupper()})


def complete(owner: Object, public: set[str]) -> None:
    for member in owner.members.values():
        if isinstance(member, Alias):
            continue
        if isinstance(member, Attribute):
            if str(member.annotation) == "ClassVar":
                # Without brackets griffe takes it for a field, and so for a parameter of the dataclass.
                member.labels.discard("instance-attribute")
            if not member.docstring and (lines := comment_above(member)):
                member.docstring = Docstring(" ".join(lines), parent=member)
        if member.docstring:
            text = re.sub(
                r"(?ms)^>>> .*?(?=^\s*$|\Z)", r"```pycon\n\g<0>\n```\n", member.docstring.value
            )
            member.docstring.value = with_links(text, public - {member.name})
        complete(member, public)


def comment_above(member: Object) -> list[str]:
    """Return the `#:` comment above a constant."""
    path = member.filepath
    if not member.lineno or not isinstance(path, Path):
        return []
    above = reversed(member.lines_collection[path][: member.lineno - 1])
    lines = takewhile(lambda line: line.startswith("#:"), map(str.strip, above))
    return [line[2:].strip() for line in lines][::-1]


def with_links(text: str, public: set[str]) -> str:
    """Return a text in which public names in backticks link to the reference."""
    return re.sub(
        r"(?<!`)`(\w+)`(?!`)",
        lambda name: f"[{name[0]}][noppa.{name[1]}]" if name[1] in public else name[0],
        text,
    )

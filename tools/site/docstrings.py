"""The extension of griffe: what our docstrings mean, said as the site's reference needs it.

A paragraph of ours that begins `name: …` or `name (its shape): …`, where `name` is a parameter, tells of parameters, several in a row: it becomes a
section of parameters. A paragraph that begins with `>>>` is an example and becomes a block of code. Lines that begin with `#:` are
the docstring of the constant below them. A public class in backticks is a link to it. What is decorated as `internal` is left out.
"""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path
from textwrap import indent
from typing import Any

from griffe import Alias, Attribute, Class, Docstring, Extension, Function, Module, Object

INTERNAL = "@internal"


class HouseStyle(Extension):
    """Rewrites every docstring of a package once it is loaded."""

    def on_package(self, *, pkg: Module, **kwargs: Any) -> None:
        rewrite(pkg, {str(name) for name in pkg.exports or () if str(name)[0].isupper()})


def rewrite(owner: Object, public: set[str]) -> None:
    for name, member in [*owner.members.items()]:
        if isinstance(member, Alias):
            continue
        if is_internal(member):
            owner.del_member(name)
        else:
            if isinstance(member, Attribute):
                complete(member)
            if member.docstring:
                text = sectioned(member.docstring.value, parameters_of(member), heading_of(member))
                member.docstring.value = linked(text, public - {member.name})
            rewrite(member, public)


def lines_above(member: Object, mark: str) -> list[str]:
    """The lines right above a definition that begin with this mark, the lowest first."""
    path = member.filepath
    if not member.lineno or not isinstance(path, Path):
        return []
    above = reversed(member.lines_collection[path][: member.lineno - 1])
    return [*takewhile(lambda line: line.startswith(mark), map(str.strip, above))]


def is_internal(member: Object) -> bool:
    """Whether a decorator says so; griffe keeps those of functions, and counts them as part of these."""
    return INTERNAL in [*lines_above(member, "@"), *(line.strip() for line in member.lines[:3])]


def complete(constant: Attribute) -> None:
    """What griffe does not see of a constant or a field."""
    if str(constant.annotation) == "ClassVar":
        # Without brackets griffe takes it for a field, and so for a parameter of the dataclass.
        constant.labels.discard("instance-attribute")
    told = [] if constant.docstring else [line[2:] for line in lines_above(constant, "#:")]
    if told:
        constant.docstring = Docstring(" ".join(reversed(told)).strip(), parent=constant)


def parameters_of(member: Object) -> list[str]:
    """The parameters that a docstring may tell of; for a class those of its constructor, or its fields."""
    if isinstance(member, Class):
        made = member.all_members.get("__init__")
        made = made.final_target if isinstance(made, Alias) else made
        if not isinstance(made, Function):
            return [name for name, field in member.members.items() if field.is_attribute]
        member = made
    return [one.name for one in member.parameters] if isinstance(member, Function) else []


def heading_of(member: Object) -> str:
    """Fields of a class that griffe knows no constructor of, such as a named tuple, are attributes."""
    if isinstance(member, Class) and "__init__" not in member.all_members and not member.decorators:
        return "Attributes:"
    return "Args:"


def linked(text: str, public: set[str]) -> str:
    """Names in backticks with links to their places in the reference."""
    return re.sub(
        r"(?<!`)`(\w+)`(?!`)",
        lambda name: f"[{name[0]}][noppa.{name[1]}]" if name[1] in public else name[0],
        text,
    )


def sectioned(text: str, parameters: list[str], heading: str) -> str:
    """A docstring with what it says of parameters as one section, and its examples as blocks."""
    name = "|".join(map(re.escape, parameters)) or r"(?!)"
    entry = re.compile(
        rf"(?:^|(?<=[.:;] )|(?<=\n)[ ]*)((?:{name})(?:, (?:{name}))*)( \([^()]*\))?: "
    )
    prose, told, examples = [], [], []
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.startswith(">>>"):
            examples.append(f"```pycon\n{paragraph}\n```")
        elif entry.match(paragraph):
            told += entries(entry, paragraph)
        else:
            prose.append(paragraph)
    section = [f"{heading}\n" + "\n".join(told)] if told else []
    return "\n\n".join([*prose, *section, *examples])


def entries(entry: re.Pattern[str], paragraph: str) -> list[str]:
    """One for each parameter; what is said of several at once stands at the first, and the others refer to it."""
    lines = []
    _, *parts = entry.split(paragraph)
    for names, shape, told in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        first, *others = names.split(", ")
        shown = f"{shape.strip()}: " if shape else ""
        lines.append(indent(f"{first}: {shown}{' '.join(told.split())}", "    "))
        lines += [f"    {other}: See `{first}`." for other in others]
    return lines

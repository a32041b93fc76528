"""RELEASING.md: which wheel was built and tried where, and which by configuration alone."""

from __future__ import annotations

import re
from typing import Any

from pages.reliability import lines_of, table

#: What [tool.cibuildwheel] of pyproject.toml builds.
KINDS = ("cp310-cp310", "cp311-cp311", "cp312-abi3", "cp314-cp314t", "cp315-cp315t")
PLATFORMS = (
    "manylinux x86_64", "manylinux aarch64", "musllinux x86_64", "musllinux aarch64",
    "macosx x86_64", "macosx arm64", "win amd64",
)  # fmt: skip
HEAD = "wheel|platform|built and tried here|core tests here|tried on: Python, NumPy, C library"


def kind_and_platform(tag: str) -> tuple[str, str]:
    kind, system, machine = re.fullmatch(
        r"(\w+-\w+)-([a-z]+)(?:_\d+_\d+)?_(\w+)", tag.split(".")[0]
    ).groups()  # type: ignore[union-attr]
    return kind, f"{system} {machine}"


def tried_on(line: dict[str, Any]) -> str:
    python = line["python"] + ("" if line["gil"] else "t")
    note = f", {line['note']}" if line.get("note") else ""
    return f"{python} ({line['numpy']}, {line['libc']}{note})"


def tried() -> str:
    """A row for each wheel that was tried, and one a platform for the others; then what all of them agreed on."""
    lines: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in lines_of("wheels"):
        lines.setdefault(kind_and_platform(line["wheel"]), []).append(line)
    rows = [tried_row(key, here) for key, here in sorted(lines.items())]
    for platform in PLATFORMS:
        rest = [kind for kind in KINDS if (kind, platform) not in lines]
        rows.append([", ".join(rest), platform, "by configuration only", "", ""])
    tokens = {line["tokens"] for line in lines_of("wheels")}
    if len(tokens) > 1:
        raise SystemExit(f"wheels disagree on tokens: {sorted(tokens)}")
    return (
        f"{table(HEAD, rows)}The tokens of every code point, alone, inside a word and behind a letter, were the same in all "
        f"{len(lines_of('wheels'))} trials (SHA-256 begins {', '.join(tokens)}).\n"
    )


def tried_row(key: tuple[str, str], here: list[dict[str, Any]]) -> list[str]:
    tested = sorted({line["python"] for line in here if line.get("core tests")})
    on = "; ".join(sorted({tried_on(line) for line in here}))
    return [*key, "yes", ", ".join(tested), on]

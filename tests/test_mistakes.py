"""Every mistake of tests/mistakes.py is told in one sentence, and docs/mistakes.md lists what is told."""

from __future__ import annotations

import pytest

from tests.mistakes import FOREIGN, MISTAKES, PAGE, Told, all_told, page


@pytest.fixture(scope="module")
def found() -> dict[str, list[Told]]:
    return all_told()


def test_no_mistake_is_a_traceback(found: dict[str, list[Told]]) -> None:
    everything = [one for rows in found.values() for one in rows]
    assert len(everything) == sum(map(len, MISTAKES.values())) >= 85
    for one in everything:
        assert one.code in (0, 1, 2), one
        assert "Traceback" not in one.message, one
        lines = one.message.splitlines()
        assert lines, one
        assert all(line.startswith("noppa: ") for line in lines), one
        assert len(lines) <= 2, one


def test_messages_speak_of_options(found: dict[str, list[Told]]) -> None:
    """Not of Python's arguments and methods."""
    for one in (one for rows in found.values() for one in rows if one.command not in FOREIGN):
        for word in (
            "with_counts",
            "member=",
            "on_error=",
            "errors=",
            "dim=",
            "on_error",
            "None, ",
        ):
            assert word not in one.message, one


def test_the_page_is_what_the_commands_say(found: dict[str, list[Told]]) -> None:
    def comparable(text: str) -> list[str]:
        return [
            line
            for line in text.splitlines()
            if not any(line.startswith(f"| `noppa {command}` |") for command in FOREIGN)
        ]

    written = PAGE.read_text(encoding="utf-8")
    assert comparable(written) == comparable(page(found)), "run python -m tests.mistakes"
    assert all(f"| `noppa {command}` |" in written for command in FOREIGN)

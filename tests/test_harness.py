"""Check the drivers of reliability/: a driver that never fails would let every fault through."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from reliability import chaos
from reliability.worst_requests import Case, Figures, measure_again


@pytest.mark.parametrize("left", ["old", "half"])
def test_chaos_reports_a_state_that_is_neither_old_nor_new(left: str) -> None:
    def scenario(folder: Path, rounds: int) -> Counter[str]:
        assert left in ("old", "new"), "half a file is left"
        return Counter({left: rounds})

    record = chaos.play("write", "kill", scenario, 7)
    if left == "old":
        assert record["outcomes"] == {"old": 7}
    else:
        assert "half a file is left" in record["error"]


def test_every_command_has_scenarios() -> None:
    assert {command for command, _, _ in chaos.scenarios([])} == set(chaos.COMMANDS)


@pytest.mark.parametrize(
    ("seconds", "status", "attempts", "within"),
    [
        ([0.3], 200, 1, True),
        ([3.0, 0.9, 0.3], 200, 3, True),  # a busy machine
        ([3.0] * 9, 200, 3, False),
        ([0.3] * 9, 500, 1, False),  # a wrong answer does not depend on the load
    ],
)
def test_a_request_above_a_limit_is_measured_again(
    seconds: list[float], status: int, attempts: int, within: bool
) -> None:
    case = Case("/embed", "some", lambda: b"", 100, 10, most_health_seconds=0.5)
    left = list(seconds)
    figures = measure_again(case, lambda case: Figures([status], 50.0, 1.0, left.pop(0)))
    assert len(seconds) - len(left) == attempts
    assert (figures.within(case) and figures.answered(case)) == within

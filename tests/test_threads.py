"""How many threads a call uses."""

from __future__ import annotations

import math
import threading
from pathlib import Path

import pytest

import noppa
from noppa import threads
from tests.conftest import made_texts, made_words


def groups(tmp_path: Path, lines: str, files: dict[str, str]) -> float:
    (tmp_path / "groups").write_text(lines)
    for name, content in files.items():
        file = tmp_path / "root" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return threads.quota.__wrapped__(tmp_path / "root", tmp_path / "groups")


@pytest.mark.parametrize(
    ("lines", "files", "wanted"),
    [
        ("0::/\n", {"cpu.max": "200000 100000\n"}, 2.0),
        ("0::/a/b\n", {"a/cpu.max": "150000 100000\n", "a/b/cpu.max": "max 100000\n"}, 1.5),
        ("0::/\n", {"cpu.max": "max 100000\n"}, math.inf),
        (
            "4:cpu,cpuacct:/x\n",
            {"cpu/x/cpu.cfs_quota_us": "50000", "cpu/x/cpu.cfs_period_us": "100000"},
            0.5,
        ),
        (
            "4:cpu:/x\n",
            {"cpu/x/cpu.cfs_quota_us": "-1", "cpu/x/cpu.cfs_period_us": "100000"},
            math.inf,
        ),
        ("3:memory:/x\n", {}, math.inf),
        ("0::/gone\n", {"cpu.max": "garbage"}, math.inf),
    ],
)
def test_quota_of_control_groups(
    tmp_path: Path, lines: str, files: dict[str, str], wanted: float
) -> None:
    assert groups(tmp_path, lines, files) == wanted


def test_no_control_groups(tmp_path: Path) -> None:
    assert threads.quota.__wrapped__(tmp_path, tmp_path / "none") == math.inf


def test_argument_then_variable_then_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOPPA_THREADS", "3")
    assert threads.thread_count(5) == 5
    assert threads.thread_count() == 3
    monkeypatch.setenv("NOPPA_THREADS", "many")
    with pytest.raises(
        noppa.NoppaError, match="NOPPA_THREADS must be a whole number from 1 on, not 'many'"
    ):
        threads.thread_count()
    monkeypatch.delenv("NOPPA_THREADS")
    monkeypatch.setattr(threads, "quota", lambda: 0.5)
    assert threads.thread_count() == 1


def test_many_callers_at_once() -> None:
    """The workers serve one call at a time; others run in their own thread, and all get the same bytes."""
    words = made_words(dim=20, extra=50)
    texts = made_texts(400, words, longest=30)
    encoder = noppa.Encoder(words, noppa.NoPPA(k=0))
    wanted = encoder.encode(texts, threads=1).tobytes()
    found: list[bool] = []

    def work() -> None:
        found.extend(encoder.encode(texts, threads=2).tobytes() == wanted for _ in range(10))

    callers = [threading.Thread(target=work) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert found == [True] * 60

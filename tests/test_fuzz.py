"""Replay the seeds of the fuzzers and the inputs that once failed; `make fuzz` searches for more."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from reliability.fuzz import run


def test_every_corpus_belongs_to_a_target() -> None:
    native = {f"native_{path.stem}" for path in run.HERE.glob("native/*.cpp")}
    assert {path.name for path in run.CORPUS.glob("*")} <= {*run.TARGETS, *native}


@pytest.mark.parametrize("name", run.TARGETS)
def test_seeds_cases_and_mutations(name: str) -> None:
    target, random = run.load(name), Random(name)
    assert target.seeds
    for data in (b"", *target.seeds, *(path.read_bytes() for path in run.cases(name))):
        target.once(data)
    for _ in range(50):
        target.once(run.mutate(random.choice(target.seeds), target.seeds, random))


def test_a_crash_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def once(data: bytes) -> None:
        assert len(data) < 3

    monkeypatch.setattr(run, "load", lambda name: run.Target([b"x"], once))
    run.run_unguided("broken", 60, tmp_path)
    (case,) = tmp_path.iterdir()
    assert len(case.read_bytes()) >= 3

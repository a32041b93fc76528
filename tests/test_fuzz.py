"""Replays what the fuzzers start from and what they found; `make fuzz` looks for more."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from reliability.fuzz import run

RUN = Path(run.__file__)
TARGETS = run.targets()


def test_there_are_targets_and_every_corpus_has_one() -> None:
    native = {f"native_{path.stem}" for path in RUN.parent.glob("native/*.cpp")}
    assert "scanner" in TARGETS
    assert {path.name for path in run.CORPUS.glob("*")} <= {*TARGETS, *native}


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_takes_its_seeds_and_every_case_found(name: str) -> None:
    target = run.load(name)
    assert target.SEEDS, f"reliability/fuzz/{name}.py needs SEEDS to start from"
    assert all(isinstance(seed, bytes) for seed in target.SEEDS)
    for data in (b"", *target.SEEDS, *(path.read_bytes() for path in run.cases(name))):
        target.once(data)


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_takes_mutations(name: str) -> None:
    """Fifty inputs near the seeds, the same in every run."""
    target, random = run.load(name), Random(name)
    for _ in range(50):
        target.once(run.mutated(random.choice(target.SEEDS), target.SEEDS, random))

"""Check protocols and searches: no test row reaches a fit or a choice."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noppa
from noppa.errors import NoppaError
from noppa.paper import TASKS, Fixed, Recipe, read, records, score
from noppa.paper.protocols import PROTOCOLS, PerFold
from noppa.paper.records import Conditions, score_all
from noppa.paper.study import Search
from noppa.paper.tasks import CLASSIFICATION, Row
from noppa.processes import processes
from tests.conftest import made_words
from tests.made_senteval import write_folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("senteval"))


class Spy:
    """Record the texts of each fit, and the texts encoded after it."""

    name = "spy"
    learns = True

    def __init__(self) -> None:
        self.fits: list[Counter[str]] = []
        self.seen: list[Counter[str]] = []

    def to_dict(self) -> dict[str, Any]:
        return {}

    def fitted(self, texts: Sequence[str]) -> Spy:
        self.fits.append(Counter(texts))
        self.seen.append(Counter())
        return self

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.seen[-1] += Counter(texts)
        return np.array([[len(text), text.count("e"), text.count("n")] for text in texts], float)


def numbered(parts: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """Return the same rows with distinct texts."""
    return {
        name: [
            Row(tuple(f"{t} {name} {at} {c}" for c, t in enumerate(row.texts)), row.label)
            for at, row in enumerate(rows)
        ]
        for name, rows in parts.items()
    }


@pytest.mark.parametrize("name", TASKS)
def test_no_test_row_reaches_a_fit(name: str, made: Path) -> None:
    """Each fit gets all training rows and no row that is scored later."""
    parts = numbered(read(made, TASKS[name]))
    spy = Spy()
    score(TASKS[name], parts, spy)
    everything = Counter(text for rows in parts.values() for row in rows for text in row.texts)
    assert len(spy.fits) == (10 if TASKS[name].layout == "folds" else 1)
    tested: Counter[str] = Counter()
    for fit, seen in zip(spy.fits, spy.seen, strict=True):
        if "train" in parts:
            assert fit == Counter(text for row in parts["train"] for text in row.texts)
        unseen = seen - fit
        assert unseen
        assert not unseen & fit
        tested += unseen
    if TASKS[name].layout == "folds":
        assert tested == everything  # each row is scored once, by an encoder that has not seen it
    else:
        wanted = {text for row in parts["test"] for text in row.texts}
        assert wanted <= set(tested)


@pytest.mark.parametrize("name", ["CR", "TREC", "SICK-E", "STS-B"])
def test_transductive_fits_on_everything(name: str, made: Path) -> None:
    parts = numbered(read(made, TASKS[name]))
    spy = Spy()
    score(TASKS[name], parts, spy, transductive=True)
    everything = Counter(text for rows in parts.values() for row in rows for text in row.texts)
    assert all(fit == everything for fit in spy.fits)


SOLVABLE = [("fast", name) for name in CLASSIFICATION]
# One of each kind.
SOLVABLE += [("senteval", name) for name in ("CR", "SST2", "TREC", "MRPC", "SICK-E")]


@pytest.mark.parametrize(("protocol", "name"), SOLVABLE)
def test_tasks_that_can_be_solved_are(protocol: str, name: str, tmp_path: Path) -> None:
    write_folder(tmp_path, 150, (name,))
    recipe = Recipe(made_words(dim=20), noppa.Average(), "Average")
    outcome = score(TASKS[name], read(tmp_path, TASKS[name]), recipe, protocol)
    assert outcome.score > (70 if name in ("MRPC", "SICK-E") or protocol == "senteval" else 85)
    assert outcome.dev is not None
    folds = 10 if TASKS[name].layout == "folds" else 1
    assert len(outcome.folds) == len(outcome.dev_folds) == folds


@pytest.mark.parametrize(("name", "chance"), [("MR", 50), ("TREC", 100 / 3)])
def test_shuffled_labels_score_chance(name: str, chance: float, tmp_path: Path) -> None:
    write_folder(tmp_path, 300, (name,))
    random = np.random.default_rng(0)
    parts = {
        part: [
            Row(row.texts, rows[other].label)
            for row, other in zip(rows, random.permutation(len(rows)), strict=True)
        ]
        for part, rows in read(tmp_path, TASKS[name]).items()
    }
    outcome = score(TASKS[name], parts, Recipe(made_words(dim=20), noppa.NoPPA(k=0), "NoPPA"))
    assert abs(outcome.score - chance) < 9  # three standard errors of 300 rows


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_same_seed_same_record(protocol: str, made: Path) -> None:
    recipe = Recipe(made_words(dim=8), noppa.NoPPA(k=2), "NoPPA")
    conditions = Conditions(made, protocol, unchecked=True)
    tasks = [TASKS["CR"], TASKS["SICK-E"]]
    first, second = (list(score_all(tasks, [recipe], conditions)) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        times = ("seconds", "cpu_seconds")
        assert all(one.pop(time) >= 0 and other.pop(time) >= 0 for time in times)
        assert one == other


def test_a_fixed_encoder_is_never_fitted_and_encodes_each_text_once(made: Path) -> None:
    calls: Counter[str] = Counter()

    def rows_of(texts: list[str]) -> list[list[float]]:
        calls.update(texts)
        return [[len(text), text.count("e")] for text in texts]

    score(TASKS["CR"], read(made, TASKS["CR"]), Fixed(noppa.external(rows_of), "function"))
    assert set(calls.values()) == {1}


# Search


def search(made: Path, name: str, count: int, select_on: str = "dev") -> Search:
    words = made_words(dim=8)

    def make(values: dict[str, Any]) -> Recipe:
        return Recipe(words, noppa.NoPPA(**values), "NoPPA")

    conditions, space = Conditions(made, unchecked=True), ("a=0.01:0.15", "k=0:6")
    return Search(TASKS[name], conditions, {}, make, space, count, select_on, 3)


@pytest.mark.parametrize("name", ["CR", "SICK-R"])
def test_an_interrupted_search_goes_on_as_if_it_had_not_been(name: str, made: Path) -> None:
    whole = list(search(made, name, 5).trials())
    again = whole[:3] + list(search(made, name, 5).trials(whole[:3]))
    assert [row["trial"] for row in again] == [row["trial"] for row in whole]
    assert [row["score"] for row in again] == [row["score"] for row in whole]
    for row in whole:
        proposed = row["trial"]["parameters"]
        for values in proposed if name == "CR" else [proposed]:
            assert 0.01 <= values["a"] <= 0.15
            assert values["k"] in range(7)


def test_a_search_on_folds_follows_the_development_rows_of_each_fold_alone(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other scores of the first fold change what is proposed for it, after ten trials at random, and for no other fold."""

    def proposed(sign: int) -> list[list[dict[str, Any]]]:
        def scored(
            tasks: Any, candidates: Sequence[PerFold], *rest: Any
        ) -> Iterator[dict[str, Any]]:
            strengths = [each.to_dict()["a"] for each in candidates[0].folds]
            yield {"dev_folds": [sign * strengths[0], *strengths[1:]]}

        monkeypatch.setattr(records, "score_all", scored)
        return [row["trial"]["parameters"] for row in search(made, "CR", 14).trials()]

    rising, falling = proposed(1), proposed(-1)
    assert [trial[1:] for trial in rising] == [trial[1:] for trial in falling]
    assert rising[:10] == falling[:10]
    assert all(left[0] != right[0] for left, right in zip(rising[10:], falling[10:], strict=True))


def test_the_honest_choice_looks_at_development_rows_alone() -> None:
    def trial(number: int, dev: list[float], test: list[float]) -> dict[str, Any]:
        about = {"number": number, "seed": 0, "space": [], "parameters": {"k": number}}
        return {
            "encoder": "NoPPA",
            "parameters": {"method": "noppa", "a": 0.1, "k": number},
            "trial": about,
            "dev": np.mean(dev),
            "dev_folds": dev,
            "folds": test,
            "score": np.mean(test),
            "seconds": 1,
        }

    done = [trial(0, [90, 80], [50, 60]), trial(1, [80, 90], [70, 40]), trial(2, [0, 0], [99, 99])]
    honest = search(Path(), "TREC", 3).select(done)
    assert honest["folds"] == [50, 40]
    assert honest["selected_on"] == "dev"
    paper = search(Path(), "TREC", 3, "test").select(done)
    assert paper["score"] == 99
    assert paper["selected_on"] == "test"
    assert paper["parameters"] == {"method": "noppa", "chosen": {"k": 2}}


def test_a_process_that_is_killed_ends_the_work_with_a_sentence() -> None:
    with pytest.raises(NoppaError, match="ended before its work was done"), processes(1) as run:
        list(run(os._exit, [9]))

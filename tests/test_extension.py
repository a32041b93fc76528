"""Write, register, save and explain methods and refinements of one's own; errors name what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import noppa
from noppa import _native as kernels
from noppa.encoder.contract import check_method
from noppa.errors import FileError, ParameterError
from noppa.methods.method import SHARED, NumpyPooler
from noppa.methods.registry import METHODS, method_class
from noppa.refine import REFINEMENTS, Map, Unit

from .conftest import made_texts, made_words

TEXTS = made_texts(60, made_words())


@dataclass(frozen=True)
class PowerMean(noppa.Method):
    """One function on arrays."""

    needs_probabilities = True
    uses_order = False
    power: float = 3.0

    def pool(self, vectors: Any, weights: Any) -> Any:
        total = (weights[:, None] * vectors**self.power).sum(axis=0) / weights.sum()
        return np.sign(total) * np.abs(total) ** (1 / self.power)


@dataclass(frozen=True)
class Ramp(noppa.Method):
    """A sum over tokens, which explains itself exactly, wider than the words."""

    def terms(self, vectors: Any, weights: Any) -> Any:
        places = np.arange(1, len(vectors) + 1)[:, None] / len(vectors)
        return np.hstack([vectors, places * vectors])


@dataclass(frozen=True)
class Rare(noppa.Method):
    """Learns the counts of words, which parts of a corpus add up to."""

    learning: ClassVar = "sums"
    uses_order = False
    LEARNT: ClassVar = {"seen": "f8 words+1 positive"}

    def gather(self, words: Any, sentences: Any) -> Any:
        seen = np.zeros(len(words) + 1)
        for ids, _ in sentences:
            seen += np.bincount(ids[ids >= 0], minlength=len(seen))
        return {"seen": seen}

    def conclude(self, words: Any, sums: Any) -> Any:
        return {"seen": 1 + sums["seen"]}

    def width(self, words: Any) -> int:
        return int(words.dim)

    def pooled(self, sentence: Any) -> Any:
        return (sentence.vectors / sentence.learnt["seen"][sentence.ids, None]).sum(axis=0)


class LongerSIF(noppa.SIF):
    """A subclass with parameters of its base, and its base's kernel."""


class MedianSIF(noppa.SIF):
    """Pools differently from its base, so it must not use the kernel and explanation of its base."""

    def pool(self, vectors: Any, weights: Any) -> Any:
        return np.median(weights[:, None] * vectors, axis=0)


@dataclass(frozen=True)
class Centre(noppa.Refinement):
    def fit(self, moments: Any) -> Any:
        return Map(np.eye(moments.dim), -moments.mean)


class OwnUnit(noppa.Refinement):
    learns = False

    def fit(self, moments: Any) -> Any:
        return Unit(moments.dim)


@pytest.fixture(autouse=True)
def _registered() -> Any:
    before = dict(METHODS), dict(REFINEMENTS)
    yield
    for table, kept in zip((METHODS, REFINEMENTS), before, strict=True):
        table.clear()
        table.update(kept)


@pytest.mark.parametrize(
    "method",
    [PowerMean(), Ramp(), Rare(), LongerSIF(), MedianSIF()],
    ids=repr,
)
@pytest.mark.parametrize("named", [False, True])
def test_the_contract_holds_for_methods_of_others(method: Any, named: bool) -> None:
    if named:
        noppa.register("mine", type(method))
    check_method(method)


def test_a_subclass_keeps_the_kernel_of_its_base_unless_it_pools_anew() -> None:
    words = made_words()
    pooler = LongerSIF().pooler(words, {})
    assert isinstance(pooler, NumpyPooler) == (not kernels.POOLINGS)
    assert isinstance(MedianSIF().pooler(words, {}), NumpyPooler)
    encoder = noppa.Encoder(words, MedianSIF(components=0))
    assert not encoder.explain("the girl eats").exact
    assert noppa.Encoder(words, LongerSIF(components=0)).explain("the girl eats").exact


def test_a_fit_with_noise_removal_and_refinements_of_ones_own() -> None:
    refine = [noppa.NoiseRemoval(2), Centre(), OwnUnit()]
    encoder = noppa.Encoder(made_words(), PowerMean(), refine).fit(TEXTS)
    rows = encoder.encode(TEXTS)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    bare = noppa.Encoder(made_words(), PowerMean(), Centre()).fit(TEXTS).encode(TEXTS)
    assert np.allclose(bare.mean(axis=0), 0, atol=1e-6)
    assert noppa.Encoder(made_words(), noppa.Average(), OwnUnit()).encode("the girl").any()


def test_explanations_by_leaving_out_are_labelled() -> None:
    told = noppa.Encoder(made_words(), PowerMean()).explain("the girl eats")
    assert not told.exact
    assert not told.to_dict()["exact"]
    assert list(told.remainders) == [SHARED]
    assert np.allclose(told.contributions.sum(axis=0) + told.remainders[SHARED], told.pooled)
    without = noppa.Encoder(made_words(), PowerMean()).encode("the eats")
    assert np.allclose(told.pooled - told.contributions[1], without, atol=1e-5)
    exact = noppa.Encoder(made_words(), Ramp()).explain("the girl eats")
    assert exact.exact
    assert not exact.remainders


def test_saved_by_the_registered_name(tmp_path: Path) -> None:
    noppa.register("power", PowerMean)
    noppa.register("centre", Centre)
    encoder = noppa.Encoder(made_words(), PowerMean(power=5), Centre()).fit(TEXTS)
    encoder.save(tmp_path / "saved")
    loaded = noppa.load(tmp_path / "saved")
    assert loaded.method == PowerMean(power=5)
    assert loaded.encode(TEXTS).tobytes() == encoder.encode(TEXTS).tobytes()
    METHODS.pop("power")
    with pytest.raises(FileError, match=r"uses 'power', which is not registered: call noppa.re"):
        noppa.load(tmp_path / "saved")
    noppa.register("power", PowerMean)
    REFINEMENTS.pop("centre")
    with pytest.raises(FileError, match="uses 'centre', which is not registered"):
        noppa.load(tmp_path / "saved")


def test_an_installed_package_offers_a_method_as_an_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[noppa.methods]\nramp = {__name__}:Ramp\n")
    noppa.register("ramp", Ramp)
    noppa.Encoder(made_words(), Ramp()).save(tmp_path / "saved")
    METHODS.pop("ramp")
    with pytest.raises(FileError, match="'ramp', which is not registered"):
        noppa.load(tmp_path / "saved")
    monkeypatch.syspath_prepend(tmp_path)
    assert noppa.load(tmp_path / "saved").method == Ramp()
    assert method_class("ramp") is Ramp


def test_what_cannot_be_saved_is_not_half_saved(tmp_path: Path) -> None:
    with pytest.raises(
        ParameterError, match=r"call noppa.register\('powermean', PowerMean\) first"
    ):
        noppa.Encoder(made_words(), PowerMean()).save(tmp_path / "saved")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("sif", PowerMean, "the name 'sif' belongs to noppa.methods.means.SIF"),
        ("Whitening", Centre, "belongs to noppa.refine.Whitening"),
        ("two words", PowerMean, "a name begins with a letter"),
        ("mine", PowerMean(), "not a subclass of Method"),
    ],
)
def test_names_that_are_refused(name: Any, kind: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        noppa.register(name, kind)


def test_a_method_from_its_place() -> None:
    place = f"{PowerMean.__module__}:PowerMean"
    assert method_class(place) is PowerMean
    assert METHODS[place] is PowerMean
    for wrong, message in {
        "magic": "there is no method 'magic'",
        "no.such.module:Mine": "cannot be imported",
        f"{PowerMean.__module__}:Nothing": "cannot be imported",
        "os:sep": "is not a subclass",
        ":": "cannot be imported",
    }.items():
        with pytest.raises(ParameterError, match=message):
            method_class(wrong)


class Broken(noppa.Method):
    def __init__(self, row: Any) -> None:
        self.result = row

    def width(self, words: Any) -> int:
        return int(words.dim)

    def pool(self, vectors: Any, weights: Any) -> Any:
        return self.result


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (np.zeros(3), r"pooled a sentence to an array \(3,\): pool must return one row, \(7,\)"),
        (np.zeros((1, 7)), "pool must return one row"),
        (np.full(7, np.nan), "not finite"),
        (None, "pool must return one row"),
    ],
)
def test_rows_that_are_none(row: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        noppa.Encoder(made_words(), Broken(row)).encode("the girl")


def test_a_method_or_refinement_that_has_nothing_to_say() -> None:
    with pytest.raises(ParameterError, match=r"write pool\(self, vectors, weights\)"):
        noppa.Encoder(made_words(), noppa.Method())
    with pytest.raises(ParameterError, match="method must be a"):
        noppa.Encoder(made_words(), PowerMean)  # the class, not an object
    with pytest.raises(ParameterError, match="is not a"):
        noppa.Encoder(made_words(), noppa.Average(), object())  # type: ignore[arg-type]
    for step in (7, Map(np.eye(3), np.zeros(3)), Map(np.full((7, 7), np.inf), np.zeros(7))):
        with pytest.raises(ParameterError, match=r"must return a Remove|must be an array"):
            noppa.Encoder(made_words(), noppa.Average(), Bad(step)).fit(TEXTS)


class Bad(noppa.Refinement):
    def __init__(self, step: Any) -> None:
        self.step = step

    def fit(self, moments: Any) -> Any:
        return self.step


def test_values_beyond_float32_are_bounded() -> None:
    row = noppa.Encoder(made_words(), Broken(np.full(7, 1e300))).encode("the girl")
    assert np.isfinite(row).all()
    assert row.max() > 1e38


def test_commands_know_what_a_named_module_registers(tmp_path: Path) -> None:
    """Save with a custom method, then explain with a command that imports its module."""
    (tmp_path / "mine.py").write_text(
        "import noppa\n\n\nclass First(noppa.Method):\n    def pool(self, vectors, weights):\n"
        "        return vectors[0]\n\n\nnoppa.register('first', First)\n"
    )
    save = "import noppa, mine; noppa.Encoder(noppa.load('similarity').words, mine.First()).save('saved')"
    explain = "import sys; from noppa.cli import main; sys.argv = ['noppa', 'explain', '-m', 'saved', 'a cake']; main()"

    def run(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **variables}
        return subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env=environment,
        )

    assert run(save).returncode == 0
    unknown = run(explain)
    assert unknown.returncode == 1
    assert "uses 'first', which is not registered" in unknown.stderr
    known = run(explain, NOPPA_IMPORT="mine")
    assert known.returncode == 0, known.stderr
    assert "cake" in known.stdout
    missing = run(explain, NOPPA_IMPORT="nothing")
    assert "NOPPA_IMPORT names 'nothing', which cannot be imported" in missing.stderr
    assert missing.returncode == 2


class Liar(noppa.Method):
    """Breaks one promise at a time."""

    def __init__(self, lie: str) -> None:
        self.lie, self.calls = lie, 0
        self.uses_order = lie == "order"

    def width(self, words: Any) -> int:
        return int(words.dim)

    def pool(self, vectors: Any, weights: Any) -> Any:
        self.calls += 1
        if self.lie == "zeros":
            return 0 * vectors[0]
        return vectors.sum(axis=0) + (self.calls if self.lie == "company" else 0)


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        ("order", "uses_order is True, but order changes nothing"),
        ("zeros", "a text with known words has a vector that is not zeros"),
        ("company", "the same bytes alone and in a batch"),
    ],
)
def test_the_contract_names_a_broken_promise(lie: str, message: str) -> None:
    check_method(Liar("none"))
    with pytest.raises(AssertionError, match=message):
        check_method(Liar(lie))

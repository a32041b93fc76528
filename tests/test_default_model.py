"""The model that the package ships."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import noppa
from noppa.encoder import embedded
from noppa.io import storage
from noppa.paper import TASKS, Fixed, score
from noppa.paper.tasks import read
from tests.conftest import ROOT

PINNED = json.loads((ROOT / "tools/build_default_model/checksums.json").read_text(encoding="utf-8"))
TEXTS = ["The girl eats a cake.", "A girl is eating dessert.", "Banks sold their shares.", ""]


def test_its_files_are_those_that_the_build_made() -> None:
    found = {
        str(file.relative_to(embedded.FOLDER)): storage.sha256(file)
        for file in embedded.FOLDER.rglob("*")
        if file.is_file()
    }
    assert found == PINNED["outputs"]


def test_it_is_small_enough() -> None:
    facts = embedded.to_dict()
    assert facts is not None
    assert facts["bytes"] <= 55_000_000
    assert facts["presets"] == ["default", "similarity", "small"]
    # A wheel is compressed: words that a source lacks have zeros there.
    files = [file for file in embedded.FOLDER.rglob("*") if file.is_file()]
    assert sum(len(zlib.compress(file.read_bytes(), 1)) for file in files) <= 40_000_000


@pytest.mark.parametrize("name", ["default", "similarity", "small"])
@pytest.mark.filterwarnings("ignore:1 of 4 texts")
def test_a_preset_encodes(name: str) -> None:
    encoder = noppa.load(name, verify=True)
    rows = encoder.encode(TEXTS)
    assert rows.shape == (4, encoder.dim)
    assert np.isfinite(rows).all()
    assert not rows[3].any()
    close, far = encoder.similarity(TEXTS[0], TEXTS[1]), encoder.similarity(TEXTS[0], TEXTS[2])
    assert close > far + 0.1


def test_unknown_words_have_pieces() -> None:
    encoder = noppa.load("similarity")
    assert "blorptastic" not in encoder.words
    assert encoder.encode("blorptastic").any()
    assert encoder.similarity("untranslatableness", "untranslatable") > 0.5


def test_every_kind_of_token_has_a_sane_probability() -> None:
    words = noppa.load().words
    found = dict(zip(words.words, words.needed_probabilities("this test").tolist(), strict=True))
    assert found["the"] > found["girl"] > found["quadruped"] > 0
    for token in (".", ",", "'s", "n't", "10", "a", "?"):
        assert 1e-5 < found[token] < 0.1, token


def test_it_loads_without_network_or_home(tmp_path: Path) -> None:
    program = "import noppa; print(noppa.load().encode('a cake').shape[0])"
    run = subprocess.run(
        ["unshare", "--net", "--map-root-user", sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"HOME": str(tmp_path / "none"), "PATH": "/usr/bin:/bin"},
    )
    if "unshare" in run.stderr:  # no right to: the network is there, and is not used
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.strip() == str(noppa.load().dim), run.stderr


def test_similarity_is_as_good_as_we_say(shared: Callable[..., Path]) -> None:
    folder = shared("senteval")
    candidate = Fixed(noppa.load("similarity"), "similarity")
    outcome = score(TASKS["STS-B"], read(folder, TASKS["STS-B"]), candidate)
    assert outcome.score > 78.2

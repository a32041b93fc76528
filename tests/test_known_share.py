"""Warn once per call if few words of a batch are known."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

import noppa
from noppa import _native
from noppa.serve.app import Application
from noppa.serve.models import Models
from noppa.serve.settings import Settings
from noppa.words.lexicon import Lexicon
from tests import oracle
from tests.command import run_command

RUSSIAN = "девочка ест торт"
GERMAN = [
    "das Mädchen isst heute einen Kuchen",
    "niemand spricht darüber, warum alles teurer wurde",
]
ENGLISH = [
    "sooo gooood!!! @someone u gotta see this lol #winning http://t.co/xyz",
    "teh movei was realy good, thanks to everybody who recommended it",
    "def read_rows(self, path: Path) -> Iterator[Row]: return iter(self._open(path).readlines())",
    "2023-01-05T10:22:01Z sshd[2211]: Failed password for invalid user admin from 10.0.0.7 port 22",
    "Xzqwy Brmfll",
    "",
]


@pytest.fixture(scope="module")
def model() -> noppa.Encoder:
    return noppa.load("small")


def warned(call: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in caught if one.category is noppa.UnknownWordsWarning]


@pytest.mark.parametrize(
    ("token", "known", "counts"),
    [
        ("cake", True, True), ("cak", True, False), ("cakx", False, True), ("McXyzw", False, False),
        ("XYZW", False, False), ("x1yz", False, False), ("snake_case", False, False), ("über", False, True),
        ("é", False, True), ("猫", False, True), ("...", True, False), ("2024", True, False), ("", False, False),
    ],
)  # fmt: skip
def test_what_counts_as_a_word(token: str, known: bool, counts: bool) -> None:
    assert oracle.counts_as_word(token, known) == counts


@given(
    st.lists(st.text(st.sampled_from("abcXYZ1_.'éДя猫ー\u0e01\u0301 "), max_size=9), max_size=7),
    st.sampled_from([1, 2]),
)
def test_native_counts_equal_the_oracle(texts: list[str], threads: int) -> None:
    lexicon = Lexicon.from_words(["abca", "aabb", "ДяДя", "猫", "abc"])
    arguments = (lexicon.text, lexicon.bounds)
    native = _native.Vocabulary(*arguments, _native.build_slots(*arguments)[0], 0, -1)
    plain = oracle.Vocabulary(*arguments, np.empty(0, np.uint64), 0, -1)
    counts = [[0, 0] for _ in range(4)]
    native.look_up(texts, threads, counts[0])
    plain.look_up(texts, threads, counts[1])
    tokens = [oracle.tokenize(text) for text in texts]
    native.look_up_tokens(tokens, counts[2])
    plain.look_up_tokens(tokens, counts[3])
    assert counts == [counts[0]] * 4


def test_english_with_typos_code_and_logs_is_not_reported(model: noppa.Encoder) -> None:
    for text in ENGLISH:
        assert not warned(lambda text=text: model.encode(["a cake", text]))
    assert not warned(lambda: model.encode(ENGLISH))
    assert not warned(lambda: model.encode([]))


@pytest.mark.parametrize(
    "texts", [RUSSIAN, GERMAN, "Tous les êtres humains naissent libres et égaux en dignité"]
)
def test_another_language_is_reported(model: noppa.Encoder, texts: Any) -> None:
    (message,) = warned(lambda: model.encode(texts))
    assert "longer words" in message
    assert "load word vectors of that language" in message


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.similarity(GERMAN[0], GERMAN[1]),
        lambda model: model.similarity(GERMAN, GERMAN),
        lambda model: list(model.encode_iter(GERMAN * 20, 2)),
        lambda model: model.encode(iter(GERMAN * 5000)),
        lambda model: noppa.Encoder(model.words, noppa.SIF()).fit(GERMAN * 5000),
        lambda model: noppa.deduplicate(GERMAN, model=model),
    ],
)  # fmt: skip
def test_it_comes_once_a_call(model: noppa.Encoder, call: Any) -> None:
    assert len(warned(lambda: call(model))) == 1


def test_one_line_on_the_command_line(tmp_path: Path) -> None:
    text = tmp_path / "lines.txt"
    text.write_text("\n".join([RUSSIAN] * 5000), encoding="utf-8")
    done = run_command(f"encode {text} -o {tmp_path / 'rows.npy'}")
    lines = [line for line in done.errors.splitlines() if "longer words" in line]
    assert len(lines) == 1
    assert lines[0].startswith("noppa: 0 of ")


def test_a_header_and_a_field_of_the_server(model: noppa.Encoder) -> None:
    settings = Settings()
    models = Models({"small": model}, settings)
    with TestClient(Application(settings, models), base_url="http://127.0.0.1") as client:
        embedded = client.post("/v1/embeddings", json={"input": RUSSIAN})
        assert embedded.headers["x-noppa-warning"].startswith("0 of 3 longer words")
        assert "x-noppa-warning" not in client.post("/embed", json={"inputs": "a cake"}).headers
        pair = {"a": RUSSIAN, "b": RUSSIAN}
        assert "0 of 6" in client.post("/similarity", json=pair).json()["warning"]
        assert "0 of 3" in client.post("/explain", json={"text": RUSSIAN}).json()["warning"]
        found = client.post("/search", json={"query": "a cake", "lines": ["a cake"]}).json()
        assert found["warning"] is None

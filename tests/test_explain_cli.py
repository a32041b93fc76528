"""The commands explain and figures, as processes: what they print, what they leave, how they end."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import noppa
from noppa import Encoder, NoPPA, WordVectors

from .conftest import made_texts, made_words
from .test_cli_files import MATRIX, WORDS, run


@pytest.fixture
def model(tmp_path: Path) -> Path:
    words = made_words()
    Encoder(words, NoPPA(k=1)).fit(made_texts(60, words)).save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    lines = [f"{word} {' '.join(map(str, row))}\n" for word, row in zip(WORDS, MATRIX, strict=True)]
    (tmp_path / "glove.txt").write_text("".join(lines))
    (tmp_path / "counts.txt").write_text("the 40\na 20\ngirl 5\neats 3\ncake 1\n")
    return tmp_path / "glove.txt"


def test_a_table_in_a_pipe(model: Path) -> None:
    done = run("explain", "the girl zzqx", "-m", model)
    assert done.returncode == 0, done.stderr
    head, *rows = (line.split("\t") for line in done.stdout.decode().splitlines())
    told = noppa.load(model).explain("the girl zzqx")
    assert head[:3] == ["token", "known", "place"]
    assert [row[:3] for row in rows[:3]] == [
        ["the", "yes", "0"],
        ["girl", "yes", "1"],
        ["zzqx", "no", "none"],
    ]
    assert [float(row[4]) for row in rows[:3]] == pytest.approx(told.shares, abs=1e-6)
    assert rows[3][0].startswith("# NoiseRemoval(k=1, variant='paper') took away")
    assert b"\x1b" not in done.stdout


def test_colours_on_a_terminal(model: Path) -> None:
    done = run("explain", "the girl zzqx", "-m", model, FORCE_COLOR="1", NO_COLOR="")
    assert done.returncode == 0, done.stderr
    assert "┃ token" in done.stdout.decode().replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert b"\x1b[" in done.stdout


def test_a_pair(model: Path) -> None:
    done = run("explain", "the girl", "--against", "a cake", "-m", model)
    lines = done.stdout.decode().splitlines()
    parts = [float(line.split("\t")[2]) for line in lines[1:5]]
    cosine = noppa.load(model).similarity("the girl", "a cake")
    assert sum(parts) == pytest.approx(cosine, abs=1e-4)
    assert lines[-1] == f"# cosine: {cosine:.4f}"


@pytest.mark.parametrize(
    ("name", "start"), [("it.png", b"\x89PNG"), ("it.svg", b"<?xml"), ("it.html", b"<!doctype")]
)
def test_pictures(model: Path, tmp_path: Path, name: str, start: bytes) -> None:
    for more in ([], ["--against", "a cake", "--dark"]):
        done = run("explain", "the girl eats", "-m", model, "-o", tmp_path / name, *more)
        said = f"noppa: {tmp_path / name} exists and will be replaced\n" if more else ""
        assert (done.returncode, done.stdout, done.stderr.decode()) == (0, b"", said)
        assert (tmp_path / name).read_bytes().startswith(start)


def test_weighted_attention_is_drawn_on_request(model: Path, tmp_path: Path) -> None:
    for more, title in ((["--weighted"], "Weighted attention in"), ([], "Attention in")):
        run("explain", "the girl", "-m", model, "-o", tmp_path / "it.html", *more)
        assert f"<h2>{title} “the girl”</h2>" in (tmp_path / "it.html").read_text("utf-8")


def test_everything_as_json(vectors: Path, tmp_path: Path) -> None:
    counts = tmp_path / "counts.txt"
    done = run(
        "explain", "the girl", "-v", vectors, "--counts", counts, "-p", "a=0.1", "-o", tmp_path / "it.json"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "it.json").read_text("utf-8"))
    words = WordVectors.load(vectors).with_counts(counts)
    wanted = Encoder(words, NoPPA(a=0.1, k=0)).encode("the girl")
    assert np.sum(told["contributions"], axis=0) == pytest.approx(wanted, abs=1e-5)


def test_figures(vectors: Path, tmp_path: Path) -> None:
    counts = tmp_path / "counts.txt"
    counts.write_text("the 40\na 20\ngirl 5\nfilm 3\n")
    done = run("figures", "-v", vectors, "--counts", counts, "-o", tmp_path / "new" / "figures")
    assert done.returncode == 0, done.stderr
    written = [Path(line) for line in done.stdout.decode().splitlines()]
    assert {path.stem for path in written} == {"figure1", "figure2", "figure3", "figure4", "index"}
    assert all(path.stat().st_size > 1000 for path in written)
    assert "figure5 is left out" in written[-1].read_text("utf-8")  # no word of it is known


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["", "-m", "MODEL"], "the text is empty: give at least one word"),
        (["a", "--against", " ", "-m", "MODEL"], "--against is empty: give at least one word"),
        (["a", "-m", "MODEL", "-o", "it.gif"], "it.gif ends in .gif: give a name in"),
        (["a", "-m", "MODEL", "-o", "no/it.png"], "no/it.png cannot be written: there is no folder no"),
        (["a", "-m", "nowhere"], "nowhere"),
        (["a", "-m", "MODEL", "-v", "GLOVE"], "give --model or --vectors, not both"),
        (["a", "-m", "MODEL", "--ranks"], "--ranks and -p belong to --vectors"),
        (["a", "-v", "GLOVE"], "give --counts, --ranks, or -p a=None for none"),
        (["a", "-v", "GLOVE", "--ranks", "-p", "k=2"], "k=2 has to be fitted"),
        (["a", "-v", "GLOVE", "--ranks", "-p", "tpyo=2"], "-p tpyo=2: give name=value"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(
    model: Path, vectors: Path, arguments: list[str], message: str
) -> None:
    names = {"MODEL": str(model), "GLOVE": str(vectors)}
    done = run("explain", *(names.get(argument, argument) for argument in arguments))
    assert done.returncode != 0
    told = " ".join(done.stderr.decode().replace("│", " ").split())
    assert message in told
    assert "Traceback" not in told


def test_figures_say_where_they_cannot_go(model: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    done = run("figures", "-m", model, "-o", tmp_path / "taken")
    assert done.returncode == 1
    assert b"is a file: give a folder for the figures" in done.stderr

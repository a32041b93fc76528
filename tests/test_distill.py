"""Distill a fake sentence transformer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import noppa
from noppa.cli import program
from noppa.distill import pipeline
from noppa.distill.pipeline import Fit, distill, distill_all, fit_words
from noppa.distill.teacher import Teacher, identity
from noppa.text.tokenizer import Tokenizer

#: A module that stands for sentence-transformers: each letter has a vector, and words weigh by their length.
MADE = """
import numpy as np

VOCABULARY = ["[PAD]", "[unused0]", "[CLS]", "[SEP]", "ba", "##da", "##do", "bi", "!", "##"]

class Tokenizer:
    cls_token_id, sep_token_id = 2, 3
    all_special_tokens = VOCABULARY[:1] + VOCABULARY[2:4]
    def get_vocab(self):
        return {name: at for at, name in enumerate(VOCABULARY)}

class SentenceTransformer:
    def __init__(self, path):
        if "none" in path:
            raise OSError("no such model")
        self.tokenizer = Tokenizer()
        if "other" in path:
            self.tokenizer.get_vocab = lambda: {"ba": 0, "di": 1}

    def encode(self, texts, show_progress_bar, batch_size, normalize_embeddings):
        letters = np.random.default_rng(0).normal(size=(256, 6))
        rows = np.array([sum((len(w) * letters[ord(c) % 256] for w in t.split() for c in w), np.zeros(6)) for t in texts])
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
"""
TORCH = "def set_num_threads(count): pass\n"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of made modules that new processes import, and the path of a made model."""
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "sentence_transformers.py").write_text(MADE)
    (modules / "torch.py").write_text(TORCH)
    monkeypatch.syspath_prepend(modules)  # new processes take over the path
    model = tmp_path / "other-model"
    model.mkdir()
    (model / "weights").write_text("1")
    return model


def made_sentences(count: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    words = ["ba", "bado", "bi", "dado", "kuku", "na", "solo", "the", "of", "ma"]
    return [" ".join(rng.choice(words, rng.integers(2, 9))) for _ in range(count)]


def test_answers_are_kept_and_asked_for_once(made: Path, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    texts = made_sentences(100)
    teacher = Teacher(str(made), tmp_path / "kept", 2, lambda *fact: told.append(fact))
    first = teacher.sentences(texts)
    assert first.shape == (100, 6)
    assert told == [("texts", 0, 100), ("texts", 100, 100)]
    assert (teacher.sentences(texts) == first).all()
    assert len(told) == 2
    assert not (teacher.sentences(texts[::-1])[0] == first[0]).all()


def test_the_number_of_processes_changes_nothing(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noppa.distill.teacher.SHARD", 16)
    texts = made_sentences(50)
    rows = [Teacher(str(made), tmp_path / str(jobs), jobs).sentences(texts) for jobs in (1, 3)]
    assert (rows[0] == rows[1]).all()


def test_a_damaged_answer_is_named(tmp_path: Path) -> None:
    teacher = Teacher("no model", tmp_path)
    teacher._file("texts", ["a"]).write_bytes(b"\x93NUMPY nothing")
    with pytest.raises(noppa.NoppaError, match=r"\.npy is damaged .*: delete it"):
        teacher.sentences(["a"])


def test_another_model_is_asked_anew(made: Path) -> None:
    before = identity(str(made))
    (made / "weights").write_text("2")
    assert identity(str(made)) != before
    assert identity("a-name") == "a-name"


def test_word_pieces_of_the_model(made: Path, tmp_path: Path) -> None:
    assert Teacher("model", tmp_path / "kept").known_pieces() == [
        "ba", "##da", "##do", "bi", "!", "##",
    ]  # fmt: skip
    assert Teacher(str(made), tmp_path / "kept").known_pieces() == []


def test_vocabulary() -> None:
    counts = pipeline.count_words(["The cake, the CAKE!", "it's cake"])
    assert counts["cake"] == 3
    assert counts["the"] == 2
    assert counts["'s"] == 1
    assert pipeline.most_frequent({"b": 2, "a": 2, "c": 3, "two words": 9, "it's": 8}, 2) == [
        "c",
        "a",
    ]
    french = Tokenizer.parse("fr")
    counts = pipeline.count_words(["L'homme d'aujourd'hui"], french)
    assert pipeline.most_frequent(counts, 9, french) == ["aujourd'hui", "d'", "homme", "l'"]
    assert pipeline.count_words(["IRMAK"], Tokenizer.parse("tr")) == {"ırmak": 1}
    with pytest.raises(noppa.NoppaError, match="there is none yet: give a vocabulary"):
        pipeline.count_words(["我喜欢音乐"], Tokenizer.parse("zh"))
    found = pipeline.needed_pieces(["ba", "##da", "!", "##", "##!", "bi"], ["ba"])
    assert found == ["##da", "bi"]


def test_principal_axes_keep_inner_products() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 7))
    axes = pipeline.principal_axes(rows, 2, block=64)
    assert np.allclose(axes.T @ axes, np.eye(2), atol=1e-6)
    assert np.allclose((rows @ axes) @ (rows @ axes).T, rows @ rows.T, atol=1e-4)


def loss_of_sums(sums: np.ndarray, targets: np.ndarray, pairs: float) -> float:
    students = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    apart = students @ students.T - targets @ targets.T
    return float((1 - (students * targets).sum(1)).mean() + pairs * (apart**2).mean())


@pytest.mark.parametrize("pairs", [0.0, 3.0])
def test_slopes_are_those_of_the_loss(pairs: float) -> None:
    """Compare with finite differences of the loss in float64."""
    rng = np.random.default_rng(0)
    words = rng.normal(size=(9, 4))
    begins = np.array([0, 2, 3, 7])
    targets = pipeline.with_length(rng.normal(size=(4, 4)).astype(np.float32)).astype(float)
    slopes = pipeline.slopes_of_sums(words, begins, targets, pairs)  # type: ignore[arg-type]
    sums = np.add.reduceat(words, begins)
    for at in np.ndindex(sums.shape):
        step = np.zeros_like(sums)
        step[at] = 1e-5
        rise = loss_of_sums(sums + step, targets, pairs) - loss_of_sums(sums - step, targets, pairs)
        assert slopes[at] == pytest.approx(rise / 2e-5, abs=1e-7)


def made_fit(count: int = 600) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return random start vectors, sentences, and targets computed from true vectors."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(30, 5)).astype(np.float32)
    lengths = rng.integers(1, 8, count)
    offsets = np.append(0, np.cumsum(lengths))
    ids = rng.integers(0, 30, offsets[-1]).astype(np.int32)
    sums = np.add.reduceat(truth[ids], offsets[:-1])
    ids[rng.random(len(ids)) < 0.05] = -1
    start = rng.normal(size=(30, 5)).astype(np.float32)
    return start, ids, offsets, pipeline.with_length(sums)


def test_the_fit_nears_the_teacher_and_repeats() -> None:
    start, ids, offsets, targets = made_fit()
    seen: list[float] = []
    fit = Fit(epochs=30, rate=0.05, batch=50, held_out=100, pairs=0.0, pull=0.0)
    first = fit_words(start, ids, offsets, targets, fit, lambda _, cosine: seen.append(cosine))
    assert seen[-1] > 0.9 > 0.2 > seen[0]
    assert (first == fit_words(start, ids, offsets, targets, fit)).all()
    assert not (first == start).all()


def test_words_that_are_pulled_stay_near_their_start() -> None:
    start, ids, offsets, targets = made_fit()
    free, tied = (
        fit_words(start, ids, offsets, targets, Fit(5, 0.05, 50, pull=pull, held_out=100))
        for pull in (0.0, 100.0)
    )
    assert np.linalg.norm(tied - start) < np.linalg.norm(free - start) / 2


def test_distilled_vectors_follow_the_teacher(made: Path, tmp_path: Path) -> None:
    texts = made_sentences(800)
    teacher = Teacher(str(made), tmp_path / "kept")
    words = pipeline.most_frequent(pipeline.count_words(texts), 50)
    seen: list[float] = []
    found = distill(teacher, words, texts, 6, progress=lambda _, cosine: seen.append(cosine))
    assert seen[-1] > seen[0]
    assert found.vectors.shape == (10, 6)
    assert found.pieces == 0
    assert found.probabilities.sum() == pytest.approx(1)
    with pytest.raises(noppa.NoppaError, match="dim=7, but the model's vectors have 6"):
        distill(teacher, words, texts, 7)


def test_columns_of_two_teachers_distill_all(made: Path, tmp_path: Path) -> None:
    texts = made_sentences(800)
    words = pipeline.most_frequent(pipeline.count_words(texts), 50)
    teachers = [Teacher(name, tmp_path / "kept") for name in (str(made), "model")]
    both = distill_all(teachers, words, texts, 4)
    alone = distill_all(teachers[:1], words, texts, 4)
    assert both.vectors.shape == (10, 8)
    assert both.words == alone.words  # the pieces are those of the first teacher
    left, right = both.vectors[:, :4], both.vectors[:, 4:]
    assert np.allclose(
        left * np.linalg.norm(alone.vectors), alone.vectors * np.linalg.norm(left), atol=1e-4
    )
    assert np.linalg.norm(left) == pytest.approx(np.linalg.norm(right), rel=1e-4)
    assert alone.word_vectors().ordered
    assert not both.word_vectors().ordered


def invoke(*arguments: str) -> Callable[[], str]:
    result = CliRunner().invoke(program(), ["distill", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output  # type: ignore[return-value]


def test_command_line(made: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(made_sentences(800)))
    out = tmp_path / "encoder"
    assert "10 words" in invoke(str(made), str(text), "-o", str(out), "--dim", "5")
    encoder = noppa.load(out)
    assert encoder.words.matrix.dtype == np.int8
    assert encoder.encode(["bado kuku", "ba"], dim=3).shape == (2, 3)
    assert not list(tmp_path.glob(".*"))
    invoke(str(made), str(text), "--beside", "model", "-o", str(out), "--dim", "5")
    assert noppa.load(out).dim == 10

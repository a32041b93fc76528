"""Topics: groups with names, outliers, a map; keywords; and the commands that show them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import noppa
from noppa.cli import program
from noppa.errors import InputError, ParameterError
from noppa.plot import topic_map, topic_page
from noppa.topics.find_topics import Topics, find_topics
from noppa.topics.groups import (
    group_plane,
    group_rows,
    largest_scores,
    outlier_scores,
)
from noppa.topics.keywords import Language, count_words_and_pairs, name_groups, select_diverse

THEMES = {
    "car": "engine wheel brake garage driver".split(),
    "food": "pizza cheese bread soup kitchen".split(),
    "sea": "ship wave beach fish sailor".split(),
    "law": "court judge lawyer trial crime".split(),
}


def made_lines(each: int = 25) -> list[str]:
    rng = np.random.default_rng(0)
    return [
        "the {} and the {} with a {}".format(*rng.choice(words, 3, replace=False))
        for words in THEMES.values()
        for _ in range(each)
    ]


@pytest.fixture(scope="module")
def found() -> Topics:
    return find_topics(made_lines())


def test_as_many_topics_as_differ(found: Topics) -> None:
    assert len(found.topics) == len(THEMES)
    assert sorted(topic.size for topic in found.topics) == [25] * 4
    for at, topic in enumerate(found.topics):
        (theme,) = [name for name, words in THEMES.items() if topic.words[0] in words]
        assert set(topic.words) <= set(THEMES[theme])
        assert all(found.labels[row] == at for row in topic.representatives)
    assert len(set(found.labels[:25].tolist())) == 1


def test_so_many_topics_as_asked() -> None:
    lines = made_lines(6)
    assert [len(find_topics(lines, count).topics) for count in (1, 2, 4)] == [1, 2, 4]
    assert len(find_topics(["a cake"], 5).topics) == 1


def test_names_tell_groups_apart() -> None:
    texts = [
        "the hotel pool",
        "a hotel bed",
        "hotel pool",
        "the hotel soup",
        "hotel bread",
        "a soup",
    ]
    names = name_groups(texts, [0, 0, 0, 1, 1, 1])
    assert names[0][0] == "pool"
    assert names[1][0] == "soup"
    assert "the" not in (*names[0], *names[1])
    assert name_groups(texts, [0, 0, -1, -1, 2, 2])[1] == ()
    assert name_groups([], []) == []
    assert name_groups(["...", "!"], [0, 0]) == [()]
    assert name_groups(texts, [0] * 6, words=1) == [("hotel",)]


def test_large_inputs_learn_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noppa.topics.groups.SAMPLE", 40)
    rows = np.repeat(np.eye(4, 6), 25, axis=0) + 0.05 * np.random.default_rng(0).normal(
        size=(100, 6)
    )
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert group_rows(rows.astype(np.float32), 4).sizes.tolist() == [25] * 4


def test_an_outlier_is_found() -> None:
    lines = [*made_lines(10)[:20], "quantum chromodynamics of gluons"]
    found = find_topics(lines, 2)
    assert found.outliers[0] == 20
    assert found.outlier_scores[20] > 1.5 * np.sort(found.outlier_scores)[-2]


def test_outlier_scores_are_one_minus_the_mean_of_the_nearest() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 5)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -2)
    wanted = 1 - np.sort(cosines, axis=1)[:, -10:].mean(axis=1)
    assert outlier_scores(rows) == pytest.approx(wanted, abs=2e-5)
    assert outlier_scores(rows[:1]).tolist() == [1.0]
    assert outlier_scores(rows[:0]).tolist() == []
    assert largest_scores(np.array([0.5, 0.9, 0.5]), 3).tolist() == [1, 0, 2]


def test_many_rows_are_compared_with_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noppa.topics.groups.LANDMARKS", 12)
    monkeypatch.setattr("noppa.topics.groups.BLOCK_VALUES", 60)
    rows = np.tile(np.eye(4, dtype=np.float32)[0], (50, 1))
    rows[17] = [0, 1, 0, 0]
    assert largest_scores(outlier_scores(rows), 1).tolist() == [17]


def test_the_map_has_the_topics_apart(found: Topics) -> None:
    points = group_plane(found.vectors, found.labels)
    means = np.array([points[found.labels == at].mean(axis=0) for at in range(4)])
    spread = max(points[found.labels == at].std(axis=0).max() for at in range(4))
    distances = np.linalg.norm(means[:, None] - means, axis=2) + 1e9 * np.eye(4)
    assert np.median(distances.min(axis=1)) > spread
    picture = topic_map(found)
    assert len(picture.texts) == len(found.texts)
    assert picture.groups == [f"{at}. {topic.name}" for at, topic in enumerate(found.topics, 1)]


def test_the_page_is_one_file(found: Topics) -> None:
    hostile = find_topics(["<script>alert(1)</script> cake", "a cake", "a lake"] * 3, 2)
    for topics in (found, hostile):
        page = topic_page(topics)
        assert "http" not in page.replace("http://www.w3.org", "")
        assert "<script>alert" not in page
        assert topics.topics[0].name in page


def test_it_prints(found: Topics) -> None:
    assert repr(found) == "Topics(4 topics of 100 texts)"
    lines = str(found).splitlines()
    assert lines[0] == "4 topics of 100 texts"
    assert lines[1].split() == ["25", *found.topics[0].name.split()]


def test_texts_without_a_word_print_as_such() -> None:
    found = find_topics(["", "  "])
    assert str(found).splitlines()[:2] == ["1 topic of 2 texts", "      2  (no words)"]
    assert found.topics[0].name == ""


def test_bad_arguments() -> None:
    with pytest.raises(InputError, match="a single text has no topics"):
        find_topics("a text")
    with pytest.raises(ParameterError, match="n must be a whole number of at least 1"):
        find_topics(["a"], 0)
    with pytest.raises(ParameterError, match="there are no texts"):
        topic_map(find_topics([]))


# Keywords

HOTEL = (
    "The hotel was lovely but the breakfast was cold, and the swimming pool was closed for repairs. "
    "We asked for a refund of our booking."
)


def test_keywords_of_a_text() -> None:
    found = noppa.keywords(HOTEL, 6)
    words = [one.text for one in found]
    assert {"hotel", "swimming pool"} <= set(words)
    assert not {"the", "was", "and", "of"} & set(words)
    cosine = noppa.load("similarity").similarity(HOTEL, words[0])
    assert found[0].similarity == pytest.approx(cosine, abs=1e-5)
    assert all(one.texts == 1 for one in found)


def test_keywords_of_a_group() -> None:
    dogs = ["a dog runs", "the dog barks at a cat", "two dogs play in the snow", "A dog sleeps."]
    found = noppa.keywords(dogs, 3)
    assert found[0].text == "dog"
    assert found[0].texts == 3


def test_maximal_marginal_relevance() -> None:
    vectors = np.array([[1, 0], [0.99, 0.14], [0, 1], [-1, 0]], float)
    nearness = np.array([0.9, 0.89, 0.3, -0.9])
    names = ["a b", "c", "d", "e"]
    assert select_diverse(vectors, nearness, 4, 0, names) == [0, 1, 2]
    assert select_diverse(vectors, nearness, 2, 0.5, names) == [0, 2]
    assert select_diverse(vectors, nearness, 3, 0.01, ["a b", "b", "d", "e"]) == [0, 2]
    assert select_diverse(vectors, nearness, 3, 0, ["a b", "b", "d", "e"]) == [0, 1, 2]


def test_pairs_do_not_cross_punctuation_or_frequent_words() -> None:
    counts = count_words_and_pairs(["red wine, green tea and black coffee isn't tea"], Language())
    assert {"red wine", "green tea", "black coffee"} <= counts.keys()
    assert not {"wine green", "tea black", "and", "n't", "n't tea"} & counts.keys()


def test_the_encoder_s_own_frequencies_say_what_is_common() -> None:
    words = noppa.WordVectors(
        ["ja", "hund", "katze"], np.eye(3), probabilities=[0.9, 0.0005, 0.0005]
    )
    encoder = noppa.Encoder(words, noppa.Average())
    found = noppa.keywords(["ja hund", "ja katze", "ja hund"], model=encoder)
    assert [one.text for one in found] == ["hund", "katze"]


def test_keywords_by_another_encoder() -> None:
    found = noppa.keywords("cake cake", model=lambda texts: np.ones((len(texts), 2)))
    assert [one.text for one in found] == ["cake"]


@pytest.mark.parametrize("empty", ["", "   ", [], ["", "…"], "the of and"])
def test_no_keywords(empty: object) -> None:
    assert noppa.keywords(empty) == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("a", 0), ParameterError, "n must be a whole number of at least 1"),
        ((3,), InputError, "neither a text nor a collection"),
    ],
)
def test_bad_arguments_of_keywords(
    arguments: tuple[object, ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        noppa.keywords(*arguments)  # type: ignore[arg-type]


# The command line


def run(*arguments: object, stdin: str | None = None) -> Result:
    words = [*map(str, arguments)]
    return CliRunner().invoke(program(words[0]), words, input=stdin)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["body"], *([line] for line in made_lines())])
    return path


def test_topics_of_a_file(table: Path, tmp_path: Path, found: Topics) -> None:
    result = run("topics", table, "--column", "body")
    assert result.exit_code == 0, result.output
    assert result.stdout.rstrip("\n") == str(found)
    for suffix in ("html", "json", "csv"):
        assert run("topics", table, "-c", "body", "-o", tmp_path / f"t.{suffix}").exit_code == 0
    assert (tmp_path / "t.html").read_text(encoding="utf-8") == topic_page(found)
    summary = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert [topic["name"] for topic in summary["topics"]] == [topic.name for topic in found.topics]
    first = summary["topics"][0]["representatives"][0]
    assert made_lines()[first["record"] - 1] == first["text"]
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["topic"]) - 1 for row in rows] == found.labels.tolist()
    assert [row["record"] for row in rows] == [str(number) for number in range(1, 101)]


def test_outliers_of_lines(tmp_path: Path) -> None:
    lines = "\n".join([*made_lines(10)[:20], "quantum chromodynamics of gluons"]) + "\n"
    result = run("topics", "--outliers", 2, stdin=lines)
    score, record, text = result.stdout.splitlines()[0].split("\t")
    assert (record, text) == ("21", "quantum chromodynamics of gluons")
    assert float(score) > 0.5
    assert len(result.stdout.splitlines()) == 2
    assert run("topics", "--outliers", 3, "-o", tmp_path / "o.jsonl", stdin=lines).exit_code == 0
    first = json.loads((tmp_path / "o.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert first["record"] == 21


def test_keywords_of_a_file_of_each_line_and_of_a_text(table: Path) -> None:
    together = run("keywords", table, "-c", "body", "-n", 3)
    assert len(together.stdout.splitlines()) == 3
    each = run("keywords", "--each", "-n", 1, stdin="the cat sleeps\n\nthe ship sails\n")
    assert each.stdout.splitlines() == ["cat sleeps", "", "ship sails"]
    one = run("keywords", "the cat sleeps on the sofa", "-n", 1)
    assert (
        one.stdout.split("\t")[2].strip() == noppa.keywords("the cat sleeps on the sofa", 1)[0].text
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["topics", "in.csv", "-c", "body", "-o", "t.png"], "end the name in .csv"),
        (["topics", "in.csv", "-c", "body", "-o", "in.csv"], "in.csv is an input"),
        (["topics", "none.txt"], "there are no texts"),
        (["topics", "gone.csv"], "gone.csv does not exist"),
        (["keywords", "gone.csv"], "gone.csv does not exist"),
    ],
)
@pytest.mark.filterwarnings("ignore:.* is empty")
def test_mistakes_are_one_sentence(
    table: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(table.parent)
    Path("none.txt").write_text("", encoding="utf-8")
    result = run(*arguments)
    assert result.exit_code != 0
    told = " ".join((result.stderr + str(result.exception)).replace("│", " ").split())
    assert message in told
    assert sorted(path.name for path in table.parent.iterdir()) == ["in.csv", "none.txt"]

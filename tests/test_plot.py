"""Draw pictures: file formats, values and errors."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import noppa
from noppa import plot
from noppa.errors import FileError, NoppaError, ParameterError
from noppa.paper import figures as paper
from noppa.paper.figures import counted, figure1, figures

from .conftest import made_texts, made_words

PNG = b"\x89PNG\r\n\x1a\n"
ODD = "pneumonoultramicroscopicsilicovolcanoconiosis سلام שלום 蛋糕 <b>&\"' \x01"


def model(**options: Any) -> noppa.Encoder:
    return noppa.Encoder(made_words(extra=5), noppa.NoPPA(k=0, **options))


def odd_model() -> noppa.Encoder:
    tokens = ODD.split()
    words = noppa.WordVectors(tokens, np.random.default_rng(0).normal(size=(len(tokens), 6)))
    return noppa.Encoder(words, noppa.NoPPA(a=None, k=0), tokenizer=str.split)


def pictures() -> dict[str, plot.Picture]:
    """Return one picture of every kind, with odd sizes and letters."""
    encoder, long = model(), " ".join(made_texts(9, made_words(), seed=3))
    explained, odd = encoder.explain("the girl unheard eats"), odd_model()
    texts = made_texts(30, made_words(), seed=2)
    return {
        "attention": plot.attention(explained),
        "weighted": plot.attention(explained, weighted=True),
        "cosines": plot.contributions(explained),
        "shares": plot.contributions(explained, "share"),
        "alignment": plot.alignment(encoder.explain_pair("the girl eats", "a boy unheard")),
        "weights": plot.weights(encoder.words, {"one": ["the", "a"], "other": ["cake"]}),
        "map": plot.sentence_map(encoder, texts, [text.split()[0] for text in texts]),
        "plain map": plot.sentence_map(encoder, texts),
        "one token": plot.attention(encoder.explain("cake")),
        "sixty": plot.attention(encoder.explain(" ".join(long.split()[:60]))),
        "unknown": plot.contributions(encoder.explain("unheard")),
        "odd": plot.attention(odd.explain(ODD)),
        "odd pair": plot.alignment(odd.explain_pair(ODD, "سلام nothing")),
    }


PICTURES = pictures()


@pytest.fixture(params=PICTURES)
def picture(request: pytest.FixtureRequest) -> Any:
    return PICTURES[request.param]


@pytest.mark.parametrize("dark", [False, True])
def test_files_are_what_their_names_say(picture: Any, dark: bool, tmp_path: Path) -> None:
    png, svg = (picture.save(tmp_path / f"it.{kind}", dark) for kind in ("png", "svg"))
    assert png.read_bytes().startswith(PNG)
    drawn = svg.read_text("utf-8")
    ElementTree.fromstring(drawn)
    assert "var(" not in drawn
    assert f'fill="{"#14181d" if dark else "#ffffff"}"' in drawn
    for name in getattr(picture, "names", getattr(picture, "rows", ())):
        assert html.escape(name[:20]).replace("\x01", "\ufffd") in drawn


def test_a_page_asks_nothing_of_the_network(picture: Any, tmp_path: Path) -> None:
    page = picture.save(tmp_path / "it.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert not re.search(r"https?:|//|src=|href=|@import|url\(", page.split("<body>")[0])
    assert not re.search(r"https?:|src=|href=|url\(", page)
    assert "prefers-color-scheme: dark" in page
    assert f'aria-label="{html.escape(picture.alt_text)}"' in page
    assert page.count("<figure>") == page.count("aria-live") == page.count("<details>") == 1


def hover_texts(picture: Any) -> list[str]:
    marks = re.findall(r'<g class="m"><title>(.*?)</title>', picture.draw().body)
    return [html.unescape(mark) for mark in marks]


def test_hover_values_are_those_of_the_explanation() -> None:
    explained = model().explain("the girl unheard eats")
    tokens, attention = explained.tokens, explained.attention
    assert hover_texts(plot.attention(explained)) == [
        f"{tokens[i]} → {tokens[j]}: {100 * attention[i, j]:.2f} %"
        for i in range(4)
        for j in range(4)
    ]
    expected = [f"{t}: {c:.4f}" for t, c in zip(tokens, explained.cosines, strict=True)]
    expected[2] += " (not in the vocabulary)"
    assert hover_texts(plot.contributions(explained)) == expected
    pair = model().explain_pair("the girl", "a cake")
    assert hover_texts(plot.alignment(pair))[3] == f"girl → cake: {pair.pairs[1, 1]:.4f}"
    lines = plot.weights(made_words(), {"some": ["the"]})
    assert hover_texts(lines)[4] == f"some, a = 0.01: {lines.curves['some'][4]:.4f}"
    points = PICTURES["map"]
    assert hover_texts(points)[0].endswith(f"{points.points[0, 0]:.4f}, {points.points[0, 1]:.4f}")


def test_the_table_holds_every_value(picture: Any) -> None:
    head, *rows = picture.table()
    assert all(len(row) == len(head) for row in rows)
    if isinstance(picture, plot.Heatmap):
        assert [row[1:] for row in rows] == [[*map(picture.format, row)] for row in picture.values]


def test_the_map_holds_the_most_variance() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 5)) * [0.1, 90, 0.2, 3, 0.1] + 7

    class Peer:
        def encode(self, texts: Any) -> Any:
            return rows

    drawn = plot.sentence_map(Peer(), ["text"] * 50)
    assert np.abs(np.corrcoef(drawn.points[:, 0], rows[:, 1])[0, 1]) > 0.99
    assert np.abs(np.corrcoef(drawn.points[:, 1], rows[:, 3])[0, 1]) > 0.99
    assert "(100 % of the variance)" in drawn.x_axis


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda to: PICTURES["map"].save(to / "it.gif"), ParameterError, "it.gif ends in .gif: give a name in .png"),
        (lambda to: PICTURES["map"].save(to / "it"), ParameterError, "it has no extension"),
        (lambda to: PICTURES["map"].save(to / "no" / "it.png"), FileError, "there is no folder"),
        (lambda to: plot.attention(noppa.Encoder(made_words(), noppa.Average()).explain("a")), ParameterError, r"Average\(\) has no attention"),
        (lambda to: plot.attention(model().explain("")), ParameterError, "has no attention for ''"),
        (lambda to: plot.contributions(model().explain("")), ParameterError, "has no tokens"),
        (lambda to: plot.contributions(model().explain("a"), "x"), ParameterError, "measure must be one of cosine, share, weight, not 'x'"),
        (lambda to: plot.sentence_map(model(), ["a"]), ParameterError, "a map needs at least 3 texts, and got 1"),
        (lambda to: plot.sentence_map(model(), ["a"] * 3, [1]), ParameterError, "3 texts need 3 labels, not 1"),
        (lambda to: plot.weights(made_words(), {"none": ["unheard"]}), ParameterError, "no word of the group 'none'"),
        (lambda to: plot.weights(noppa.WordVectors(["a"], [[1.0]]), {"g": ["a"]}), ParameterError, "needs word probabilities"),
    ],
)  # fmt: skip
def test_bad_input_is_named(make: Any, error: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=message):
        make(tmp_path)


# The paper's figures


def test_figure_1_to_every_printed_digit(shared: Any) -> None:
    """The paper's values are half the weight, over the words that its counts hold."""
    drawn = figure1(counted(shared("frequency", "enwiki_vocab_min200.txt")))
    assert tuple(drawn.x) == plot.A_VALUES
    stop, meaningful = drawn.curves.values()
    assert [f"{value:.6f}" for value in stop] == [f"{v:.6f}" for v in paper.WEIGHTS["stop words"]]
    printed = np.array(paper.WEIGHTS["meaningful words"])
    assert np.abs(meaningful - printed).max() < 0.000051  # one value ends in a 5
    assert "stop words: 11 of 13 words have a count; meaningful words: 16 of 16" in drawn.note


def test_figures_2_and_3_have_the_pattern_of_the_paper(glove: Any) -> None:
    """With other vectors than the paper's the order of words agrees, not the digits. These lack "a"."""
    encoder = noppa.Encoder(glove, noppa.NoPPA(k=0))
    first, second, third = (
        dict(zip(explained.tokens, explained.cosines, strict=True))
        for explained in map(encoder.explain, paper.CONTRIBUTIONS)
    )
    for cosines in (first, second, third):
        assert cosines["the"] < min(v for word, v in cosines.items() if word not in ("the", "a"))
    assert third["girl"] < first["girl"]
    assert second["eats"] < first["eats"]
    explained = encoder.explain(paper.BLEEDING)
    row = explained.attention[explained.tokens.index("bleeding")]
    best = [explained.tokens[at] for at in np.argsort(-row)[:3]]
    assert best == ["bleeding", "right", "injured"]
    assert row.sum() == pytest.approx(1)


def test_the_printed_row_is_weighted_by_half_the_weight_of_its_word(glove: Any) -> None:
    """Its 16 values add up to 99.19 %: the weight of "bleeding" for a = 0.001."""
    explained = noppa.Encoder(glove, noppa.NoPPA(k=0, a=1e-3)).explain(paper.BLEEDING)
    row = explained.weighted_attention[explained.tokens.index("bleeding")] / 2
    assert row.sum() == pytest.approx(0.9919, abs=5e-5)
    assert sum(paper.BLEEDING_ROW) == pytest.approx(99.19, abs=0.02)


def figure_model(method: Any) -> noppa.Encoder:
    texts = [*paper.CONTRIBUTIONS, paper.BLEEDING, paper.CRASHED, paper.TROUBLE]
    tokens = " ".join(texts).replace(",", " ,").lower().split()
    known = sorted({*tokens, *(word for group in paper.GROUPS.values() for word in group)})
    rng = np.random.default_rng(0)
    vectors, probabilities = rng.normal(size=(len(known), 8)), rng.dirichlet(np.ones(len(known)))
    return noppa.Encoder(noppa.WordVectors(known, vectors, probabilities), method)


def test_every_figure_is_drawn(tmp_path: Path) -> None:
    written = figures(figure_model(noppa.NoPPA(k=0)), tmp_path / "figures")
    names = {*(f"figure{number}.svg" for number in range(1, 6)), "index.html"}
    assert {path.name for path in written} == names
    assert {path.name for path in (tmp_path / "figures").iterdir()} == names
    page = (tmp_path / "figures" / "index.html").read_text("utf-8")
    for number in range(1, 6):
        assert f"Figure {number}" in page
    for value in ("0.4700", "55.2500", "0.3406"):
        assert f"(the paper: {value})" in page
    assert "4.65 % in the paper, here" in page


def test_a_method_without_attention_leaves_figures_out(tmp_path: Path) -> None:
    written = figures(figure_model(noppa.Average()), tmp_path)
    assert {path.stem for path in written} == {"figure1", "figure2", "index"}
    page = (tmp_path / "index.html").read_text("utf-8")
    assert "figure3 is left out: Average() has no attention" in page
    bare = noppa.Encoder(noppa.WordVectors(["zz"], [[1.0]]), noppa.Average())
    with pytest.raises(ParameterError, match="no figure can be drawn"):
        figures(bare, tmp_path)
    with pytest.raises(NoppaError, match="is a file: give a folder"):
        figures(bare, tmp_path / "index.html")

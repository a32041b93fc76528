"""Check what notebooks and consoles show: short reprs, escaped HTML, frames and progress bars."""

from __future__ import annotations

import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import noppa
from noppa import display
from noppa.topics.find_topics import find_topics

HOSTILE = '<script>alert("1")</script> & <b>good</b> film \ud800'
TEXTS = ["a fine film", "a lovely story", "dull and long", HOSTILE] * 3
LABELS = ["good", "good", "<i>bad</i>", "<i>bad</i>"] * 3


@pytest.fixture(scope="module")
def objects():
    """Return one object of each public kind, built from hostile text."""
    similar = noppa.load("similarity")
    model = noppa.Classifier().fit(TEXTS, LABELS)
    index = noppa.Index()
    index.add([HOSTILE * 9, "a train"], metadata=[{"<u>": "</td><script>"}, {"year": 2019}])
    hits = index.search("fine film <script>")
    found = noppa.deduplicate(TEXTS)
    topics = find_topics(TEXTS, 2)
    explanation = noppa.load().explain(HOSTILE * 20)
    decision = model.explain(HOSTILE)
    coverage = similar.words.coverage([HOSTILE, "zzqx <script>"])
    made = [
        similar, noppa.load(), similar.words, explanation, similar.explain_pair(HOSTILE, HOSTILE), model, noppa.Classifier(),
        decision, model.report(), index, hits, hits[0], hits[0].explain(), hits[0].context, index.get(hits[0].id), found,
        found.removed[0], found.compared, topics, topics.topics[0], coverage, model.contents, model.training_, decision.sides[0],
        decision.ngrams[0], similar.fitted, similar.words.word_probabilities,
        noppa.Encoder(similar.words, noppa.NoPPA(), [noppa.Whitening(), noppa.Normalize()]),
        noppa.Moments.from_rows(np.ones((3, 9))),
    ]  # fmt: skip
    return {f"{at} {type(one).__name__}": one for at, one in enumerate(made)}


def test_every_repr_is_short_and_on_one_line(objects):
    for name, one in objects.items():
        assert len(repr(one)) <= display.LONGEST, name
        assert "\n" not in repr(one), name


class Balanced(HTMLParser):
    """Track the open tags and all tags."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.met: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.met.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_is_whole_and_nothing_of_a_user_is_markup(objects):
    shown = [one for one in objects.values() if isinstance(one, display.Displayed)]
    assert len({type(one) for one in shown}) == 8
    for one in shown:
        html = one._repr_html_()
        page = Balanced()
        page.feed(html)
        page.close()
        assert page.open == []
        assert page.met <= {"p", "b", "table", "tr", "th", "td"}, type(one)
        html.encode()  # notebook files are UTF-8
        assert len(html) < 100_000
        assert len(str(one)) < 4_000
    assert "&lt;/td&gt;&lt;script&gt;" in objects["10 Hits"]._repr_html_()


def test_frames(objects):
    explanation, pair = objects["3 Explanation"], objects["4 PairExplanation"]
    frame = explanation.to_pandas()
    assert frame["token"].tolist() == list(explanation.tokens)
    assert np.allclose(frame["share"], explanation.shares)
    assert pair.to_pandas().to_numpy().sum() == pytest.approx(pair.cosine)
    hits, topics = objects["10 Hits"].to_pandas(), objects["18 Topics"]
    assert hits.columns.tolist() == [
        "id",
        "score",
        "cosine",
        "bm25",
        "overlap",
        "text",
        "<u>",
        "year",
    ]
    assert len(topics.to_pandas()) == len(TEXTS)
    assert topics.to_pandas()["topic"].tolist() == topics.labels.tolist()
    decision = objects["7 Decision"]
    assert decision.to_pandas().sum().to_numpy() == pytest.approx(decision.logits)
    assert objects["15 DeduplicationResult"].to_pandas()["row"].tolist() == [*range(4, 12)]
    assert "<" in objects["20 Coverage"].to_pandas()["word"].tolist()
    assert objects["8 TrainingReport"].to_pandas().columns[0] == "row"


# Batches and progress


@pytest.mark.parametrize("size", [1, 7, 97, 5000])
def test_batches_and_bars_change_no_byte(size, capfd):
    model = noppa.load("similarity")
    texts = [f"a girl eats {at} cakes" for at in range(97)]
    whole = model.encode(texts)
    assert model.encode(texts, batch_size=size).tobytes() == whole.tobytes()
    barred = model.encode(texts, batch_size=size, show_progress_bar=True)
    assert barred.tobytes() == whole.tobytes()
    assert model.encode(iter(texts), show_progress_bar=True).tobytes() == whole.tobytes()
    assert capfd.readouterr().err == ""  # neither a terminal nor a notebook


def test_a_bar_on_a_terminal(monkeypatch):
    """rich draws on anything that claims to be a terminal."""
    import io

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    noppa.load("similarity").encode(["a cake"] * 9, batch_size=2, show_progress_bar=True)
    assert "encoding" in sys.stderr.getvalue()
    assert "9/9" in sys.stderr.getvalue()

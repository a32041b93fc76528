"""`noppa.Index`: what it finds by meaning, by words and by both, after any history; filters; explanations; bad input."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noppa
from noppa import _native
from noppa.errors import NoppaError
from noppa.explain import MOST_TOKENS
from noppa.methods.k_means import interrupt
from noppa.search import segment, vectors
from noppa.search.hits import MODES, WORD_WEIGHT, Collection
from noppa.search.index import Index
from noppa.search.terms import COMPARED, K1, MOST_WORDS, B, terms_of_tokens
from tests.conftest import made_texts, made_words

WORDS = made_words(dim=8, extra=40)
TEXTS = [*made_texts(60, WORDS, seed=3), "xyzzy plugh", "", "the girl eats a delicious cake"]
#: The encoder knows none, some, or all of their words.
QUERIES = ["a girl eats cake", "w3 w4", "w3 w4 unheard", "the", "xyzzy", "eats xyzzy"]


def split_terms(text: str) -> list[str]:
    return terms_of_tokens(_native.tokenize(text))


def encoder() -> noppa.Encoder:
    return noppa.Encoder(WORDS, noppa.Average())


def made_index(texts: list[str] = TEXTS, **options: Any) -> Index:
    index = Index(encoder(), dtype="float32", **options)
    index.add(texts)
    return index


def bm25_of(query: str, texts: list[str]) -> np.ndarray:
    """BM25 straight from its formula, in float64."""
    split = [Counter(split_terms(text)) for text in texts]
    lengths = np.array([counts.total() for counts in split])
    scores = np.zeros(len(texts))
    for term, weight in weights_of(query, texts).items():
        counts = np.array([own[term] for own in split])
        scores += weight * counts / (counts + K1 * (1 - B + B * lengths / lengths.mean()))
    return scores


def weights_of(query: str, texts: list[str]) -> dict[str, float]:
    """What each term of a query is worth."""
    split = [set(split_terms(text)) for text in texts]
    weights: dict[str, float] = {}
    for term in split_terms(query):
        holding = sum(term in own for own in split)
        worth = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
        weights[term] = weights.get(term, 0.0) + worth
    return weights


def unsure_of(weights: dict[str, float], best: float) -> float:
    """How little sure the meaning is, where `best` is the largest cosine."""
    known = sum(weights[term] for term in weights if term in WORDS and term.isalpha())
    return 1 - best * (known / sum(weights.values())) ** 2


def nearness(a: str, b: str) -> float:
    """1 for the same word, the cosine of two that are no numbers, and nothing otherwise."""
    if a == b:
        return 1.0
    if a not in WORDS or b not in WORDS or re.search(r"\d", a + b):
        return 0.0
    x, y = (np.asarray(WORDS[word], np.float64) for word in (a, b))
    return max(0.0, float(x @ y / np.sqrt((x @ x) * (y @ y))))


def overlap_of(weights: dict[str, float], text: str) -> float:
    """The overlap straight from its formula, in float64."""
    own = [*dict.fromkeys(split_terms(text))]
    if not own:
        return 0.0
    known = [np.linalg.norm(WORDS[word]) for word in own if word in WORDS]
    lengths = [
        np.linalg.norm(WORDS[word]) if word in WORDS else np.mean(known or [1.0]) for word in own
    ]
    asked = sum(weight * max(nearness(a, b) for b in own) for a, weight in weights.items())
    told = sum(
        length * max(nearness(a, b) for a in weights)
        for b, length in zip(own, lengths, strict=True)
    )
    return float(asked / sum(weights.values()) + told / sum(lengths))


def ranked(scores: np.ndarray) -> list[str]:
    order = np.lexsort((np.arange(len(scores)), -scores.round(6)))
    return [str(row) for row in order if abs(scores[row]) > 1e-9]


@pytest.mark.filterwarnings("ignore::noppa.errors.NoppaWarning")
@pytest.mark.parametrize("query", QUERIES)
def test_the_scores_are_those_of_the_formulas(query: str) -> None:
    index = made_index()
    cosines = encoder().similarity([query], TEXTS)[0]
    bm25 = bm25_of(query, TEXTS)
    weights = weights_of(query, TEXTS)
    unsure = unsure_of(weights, cosines.max())
    both = cosines + WORD_WEIGHT * unsure**2 / sum(weights.values()) ** 0.5 * bm25
    overlaps = np.zeros(len(TEXTS))
    if cosines.any():
        for row in np.lexsort((np.arange(len(both)), -both.round(6)))[:COMPARED]:
            overlaps[row] = overlap_of(weights, TEXTS[row])
        both = both + unsure * overlaps
    for mode, scores in {"meaning": cosines, "words": bm25, "hybrid": both}.items():
        hits = index.search(query, 20, mode=mode)
        if mode == "hybrid" and not cosines.any():
            scores = np.where(bm25 > 0, scores, 0)
        wanted = ranked(scores)[:20]
        assert [hit.score for hit in hits] == pytest.approx(
            [scores[int(id)] for id in wanted], abs=1e-5
        )
        assert hits.ids == wanted
        for hit in hits:
            assert hit.text == TEXTS[int(hit.id)]
            if mode != "words" and cosines.any():
                assert hit.cosine == pytest.approx(cosines[int(hit.id)], abs=1e-6)
            if mode != "meaning":
                assert hit.bm25 == pytest.approx(bm25[int(hit.id)], abs=1e-5)
            if mode == "hybrid" and cosines.any():
                assert hit.overlap == pytest.approx(overlaps[int(hit.id)], abs=1e-5)


@pytest.mark.parametrize("texts", [TEXTS, TEXTS * 2])
def test_the_first_hits_are_the_same_however_many_are_asked_for(texts: list[str]) -> None:
    """Some are compared word by word and the others follow them, so that the scores never rise."""
    index = made_index(texts)
    for query in QUERIES:
        every = index.search(query, len(texts))
        for count in (1, 7, COMPARED, COMPARED + 1):
            found = index.search(query, count)
            # Texts without a known word take a place and are no hits: the two of TEXTS, or twice as many.
            assert len(found) >= min(count, len(every)) - 2 * (len(texts) // len(TEXTS))
            assert found.ids == every.ids[: len(found)]
            assert [hit.score for hit in found] == [hit.score for hit in every[: len(found)]]
        scores = [hit.score for hit in every]
        assert scores == sorted(scores, reverse=True)
        assert all(hit.overlap == 0 for hit in every[COMPARED:]) or math.isnan(every[0].overlap)


def test_long_texts_overlap_by_their_first_words_and_long_queries_by_their_rarest() -> None:
    rest = [f"u{number}" for number in range(MOST_WORDS)]
    index = made_index(["girl " + " ".join(rest), " ".join(rest) + " girl", "cake " * 300])
    first, second = (index.search("a girl eats", mode="hybrid")[at] for at in (0, 1))
    assert (first.id, second.id) == ("0", "1")
    assert first.overlap > second.overlap
    assert len(first.explain().nearest) == len(split_terms("a girl eats")) + MOST_WORDS
    assert index.search("cake " + " ".join(rest))[0].explain().to_dict()["overlap weight"] > 0
    long = index.search(" ".join(["cake", *rest, "girl"]))[0]
    assert len(long.explain().nearest) == 2 * MOST_WORDS
    assert sum(one.share for one in long.explain().nearest) == pytest.approx(long.overlap, abs=1e-5)


def test_a_term_after_the_last_one_is_not_found() -> None:
    index = made_index(["b ba"])  # stored as "bba"
    assert len(index.search("bba", mode="words")) == 0
    assert index.search("ba", mode="words").ids == ["0"]


def test_terms_are_tokens_in_lower_case_without_punctuation() -> None:
    assert split_terms("It's 3.50, ISN'T it? — Ünï-code U.S. 東京 ...") == [
        "it", "'s", "3.50", "is", "n't", "it", "ünï-code", "u.s.", "東", "京",
    ]  # fmt: skip


def changed(index: Index, seed: int) -> dict[str, tuple[str, dict[str, Any]]]:
    """A random history; gives what must be there after it, in order."""
    rng = np.random.default_rng(seed)
    there: dict[str, tuple[str, dict[str, Any]]] = {}
    for step in range(25):
        action = rng.choice(["add", "add", "delete", "update", "compact"])
        some = [*rng.permutation([*there])[: rng.integers(1, 6)].tolist()]
        if action == "add":
            texts = made_texts(int(rng.integers(1, 12)), WORDS, seed=step)
            facts = [{"step": step, "even": len(text) % 2 == 0} for text in texts]
            there.update(
                zip(index.add(texts, metadata=facts), zip(texts, facts, strict=True), strict=True)
            )
        elif action == "delete" and some:
            index.delete(some)
            for id in some:
                del there[id]
        elif action == "update" and some:
            texts = made_texts(len(some), WORDS, seed=100 + step)
            index.update(some, texts)
            for id, text in zip(some, texts, strict=True):
                there[id] = (text, there.pop(id)[1])
        elif action == "compact":
            index.compact()
    return there


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_any_history_finds_what_a_new_index_finds(tmp_path: Path, seed: int, dtype: str) -> None:
    encoder().save(tmp_path / "model")
    saved = noppa.load(tmp_path / "model")
    history = [Index(saved, dtype=dtype), Index.open(tmp_path / "index", saved, dtype=dtype)]
    for index in history:
        there = changed(index, seed)
    fresh = Index(saved, dtype=dtype)
    rows = [*there.values()]
    fresh.add([text for text, _ in rows], [*there], [facts for _, facts in rows])
    again = Index.open(tmp_path / "index")
    for index in (*history, again):
        assert len(index) == len(there)
        assert [(row.text, row.metadata) for row in index.get([*there])] == rows
        for mode in MODES:
            for where in (None, {"even": True, "step": {">": 3}}):
                for query in QUERIES[:2]:
                    found = index.search(query, 7, where, mode)
                    wanted = fresh.search(query, 7, where, mode)
                    assert found.ids == wanted.ids
                    assert [hit.score for hit in found] == [hit.score for hit in wanted]


@pytest.mark.parametrize("count", [1, 3, 10, 4000])
def test_comparing_some_rows_finds_what_comparing_all_does(count: int) -> None:
    texts = made_texts(2000, WORDS, seed=9)
    index = Index(encoder())
    index.add(texts[:1500])
    index.add(texts[1500:])
    index.delete([str(row) for row in range(0, 2000, 7)])
    collection = Collection(index._state)
    for query in made_texts(20, WORDS, seed=10):
        vector = encoder().encode(query, normalize=True)
        bm25 = collection.bm25(query.split())[1]
        for weight in (0.02, 0.1, 0.5):
            bonus = bm25 * np.float32(weight)
            wanted = collection.nearest(vector, count, 2, bonus=bonus)
            for more in (0, 50):
                near = collection.nearest(vector, count + more, 2)
                found = collection.nearest_with_bonus(bonus, vector, near, count, 2)
                assert found[0].tolist() == wanted[0].tolist()
                assert found[1].tobytes() == wanted[1].tobytes()


def test_equal_texts_come_in_the_order_they_were_added() -> None:
    index = made_index(["the cake"] * 5000)
    for mode in MODES:
        assert index.search("cake", 4, mode=mode).ids == ["0", "1", "2", "3"]


def test_several_queries_at_once_find_what_each_finds_alone() -> None:
    index = made_index()
    for hits, query in zip(index.search(QUERIES, 5), QUERIES, strict=True):
        assert str(hits) == str(index.search(query, 5))
    assert index.search([]) == []


@pytest.mark.parametrize("mode", ["meaning", "hybrid"])
def test_cells_find_nearly_all_by_meaning(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    monkeypatch.setattr(segment, "EXACT", 1000)
    texts = made_texts(4000, WORDS, seed=5)
    indexes = [Index(encoder()), Index(encoder(), threads=1)]
    for index in indexes:
        index.add(texts)
        assert index._state.parts[0].segment.cells is not None
        index.delete([str(row) for row in range(0, 4000, 3)])
    queries = made_texts(30, WORDS, seed=6)
    found, same = (index.search(queries, 10, mode=mode) for index in indexes)
    exact = indexes[0].search(queries, 10, mode=mode, exact=True)
    assert [hits.ids for hits in found] == [hits.ids for hits in same]
    shared = [len({*a.ids} & {*b.ids}) for a, b in zip(found, exact, strict=True)]
    assert np.mean(shared) > (9 if mode == "meaning" else 9.99)
    assert not {id for hits in found for id in hits.ids} & set(map(str, range(0, 4000, 3)))


def test_a_hit_says_why() -> None:
    hit = made_index().search("a girl eats cake", 1)[0]
    why = hit.explain()
    assert hit.text == "the girl eats a delicious cake"
    assert sum(why.terms.values()) == pytest.approx(hit.bm25, abs=1e-5)
    assert {*why.terms} == {"a", "girl", "eats", "cake"}
    assert why.pair is not None
    total = why.pair.pairs.sum() + sum(why.pair.remainders.values())
    assert total == pytest.approx(hit.cosine, abs=1e-5)
    assert [pair[2] for pair in why.aligned] == sorted((p[2] for p in why.aligned), reverse=True)
    assert "cake~cake" in str(why)
    assert "BM25" in str(why)
    assert sum(match.share for match in why.nearest) == pytest.approx(hit.overlap, abs=1e-5)
    assert {match.word for match in why.nearest} == set("the a girl eats delicious cake".split())
    assert "cake→cake" in str(why)
    parts = hit.context.word_weight * hit.bm25 + hit.context.overlap_weight * hit.overlap
    assert hit.score == pytest.approx(hit.cosine + parts, abs=1e-5)
    assert why.to_dict()["terms"] == why.terms
    by_words = made_index().search("a girl eats cake", 1, mode="words")[0].explain()
    assert by_words.pair is None
    assert by_words.aligned == []


def test_a_hit_of_too_many_tokens_for_a_table_of_pairs_is_explained_by_its_words() -> None:
    long = "the girl eats " * (MOST_TOKENS // 3 + 1)
    with pytest.raises(NoppaError, match="explain a part"):
        encoder().explain(long)
    why = made_index([long]).search("a girl eats cake")[0].explain()
    assert why.pair is None
    assert why.terms.keys() == {"girl", "eats"}
    assert sum(one.share for one in why.nearest) == pytest.approx(why.hit.overlap, abs=1e-5)
    assert "word by word" in str(why)


def test_hits_print_and_go_to_json() -> None:
    index = Index(encoder())
    index.add(["the girl\nand the cake " * 20], ids=["x"], metadata=[{"year": 2021}])
    hits = index.search("girl")
    assert "year=2021" in str(hits)
    assert "\n" not in str(hits)
    assert len(str(hits)) < 150
    assert hits[0].to_dict()["metadata"] == {"year": 2021}
    assert set(index.search("girl", mode="words").to_dict()["hits"][0]) == {
        "id", "score", "bm25", "text", "metadata",
    }  # fmt: skip
    assert hits[:1] == [hits[0]]
    assert index.to_dict()["fields"] == ["year"]
    assert "1 texts of 8 dimensions" in repr(index)


@pytest.mark.parametrize(
    ("query", "mode", "note"),
    [
        ("", "hybrid", "the query is empty"),
        (" \n", "words", "the query is empty"),
        ("unheard", "meaning", "no word of 'unheard' is known"),
        ("unheard", "hybrid", "no word of 'unheard' is known"),
        ("unheard", "words", "no text contains a word of 'unheard'"),
        ("...", "words", "no text contains"),
    ],
)
def test_a_query_that_finds_nothing_says_why(query: str, mode: str, note: str) -> None:
    hits = made_index().search(query, mode=mode)
    assert len(hits) == 0
    assert note in hits.note
    assert note in str(hits)


class Stopped(Exception):
    pass


@pytest.mark.parametrize("after", [0, 3, 5, 11])
def test_whoever_waits_can_stop_a_search(after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between terms, and between steps of the pass over the rows."""
    monkeypatch.setattr(vectors, "BLOCK", 8)
    index, calls = made_index(), Counter[str]()

    def check() -> None:
        calls["check"] += 1
        if calls["check"] > after:
            raise Stopped

    token = interrupt.set(check)
    try:
        with pytest.raises(Stopped):
            index.search("a girl eats cake")  # four terms, and eight steps
    finally:
        interrupt.reset(token)


@pytest.mark.parametrize("where", [None, {"kind": {">": 1}}])
@pytest.mark.parametrize("mode", MODES)
def test_a_pass_in_steps_finds_the_same(
    mode: str, where: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for rows in (1, 7, 1000):
        monkeypatch.setattr(vectors, "BLOCK", rows)
        index = Index(encoder(), dtype="int8")
        index.add(TEXTS, metadata=[{"kind": at % 4} for at in range(len(TEXTS))])
        index.delete(["0", "9"])
        found.append([hit.to_dict() for hit in index.search("a girl eats cake", 40, where, mode)])
    assert found[0] == found[1] == found[2] != []


def test_nothing_to_search() -> None:
    assert Index(encoder()).search("cake").note == "the index is empty"
    index = Index(encoder())
    index.add(["a cake"], metadata=[{"year": 2, "lang": "en"}])
    assert index.search("cake", where={"year": 1}).note == "no text satisfies where"
    assert (
        index.search("cake", where={"yeear": 1}).note
        == "no text has the field 'yeear' of where: the fields are 'lang', 'year'"
    )


def test_running_numbers_pass_over_ids_that_users_chose() -> None:
    index = made_index(["a cake"])
    index.add(["the girl", "a boy", "the sea"], ids=[5, "7", 4])
    assert index.add(["a cake"] * 3) == ["6", "8", "9"]
    index.delete("9")
    assert index.add("the end") == ["10"]


def test_any_encoder_in_memory() -> None:
    peer = noppa.external(lambda texts: [[text.count("a"), 1.0] for text in texts])
    index = Index(peer)
    index.add(["a a a", "b"])
    hit = index.search("a a", 1)[0]
    assert hit.id == "0"
    assert hit.explain().pair is None
    with pytest.raises(NoppaError, match="is only in memory"):
        Index.open("unsaved", peer)


def test_vectors_that_are_known_already() -> None:
    index, rows = Index(encoder()), np.eye(3, 8, dtype=np.float32) * 5
    index.add(["x", "y", "z"], vectors=rows)
    found = index._state.parts[0].segment.vectors
    assert np.array_equal(found, rows / 5)
    with pytest.raises(NoppaError, match=r"2 texts need vectors \(2, 8\), not float32 \(3, 8\)"):
        index.add(["x", "y"], vectors=rows)
    with pytest.raises(NoppaError, match="finite"):
        index.add(["x", "y", "z"], vectors=np.full((3, 8), np.nan))


@pytest.mark.parametrize(
    ("encode", "message"),
    [
        (lambda texts: np.eye(len(texts)), r"need vectors \(2, 1\), not float32 \(2, 2\)"),
    ],
)
def test_an_encoder_that_keeps_no_promise(encode: Any, message: str) -> None:
    with pytest.raises(NoppaError, match=message):
        Index(encode).add(["x", "y"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda i: i.add(["x"], ids=["1"]), "the id '1' is already in the index"),
        (lambda i: i.add(["x", "y"], ids=["n", "n"]), "the id 'n' is given twice"),
        (lambda i: i.add(["x"], ids=[1.5]), "an id must be a string or an integer, not 1.5"),
        (lambda i: i.add(["x"], ids=["a\nb"]), "an id must consist of printable"),
        (lambda i: i.add(["x", None]), "is missing .NoneType.: fill it, or leave it out"),
        (lambda i: i.add(["x"], metadata=[{}, {}]), "there are 1 texts and 2 dicts"),
        (lambda i: i.add(["x"], metadata={"a": [1]}), "metadata must be a list with one dict"),
        (
            lambda i: i.add(["x"], metadata=[{"a": [[[[[[[[[1]]]]]]]]]}]),
            "nested too deeply: at most 8",
        ),
        (lambda i: i.add(["x"], metadata=[{"a": [1, -math.inf]}]), "finite number"),
        (lambda i: i.add(["x"], metadata=[{"a": 1 << 70}]), "'a' of metadata 0 is"),
        (lambda i: i.add(["x"], metadata=[{str(n): 1 for n in range(1001)}]), "1001 different"),
        (lambda i: i.delete(["1", "99"]), "there is no text with the id '99'"),
        (lambda i: i.update(["1"], ["x", "y"]), "there are 1 ids and 2 texts"),
        (lambda i: i.search("x", 0), "n must be a whole number of at least 1"),
        (lambda i: i.search("x", mode="both"), "mode must be one of"),
        (lambda i: Index(5), "5 cannot encode: give the name or path"),
        (lambda i: i.add(["x"], metadata=[{"": 2}]), "a name must be a non-empty string"),
        (lambda i: Index(dtype="float64"), "dtype must be one of"),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing(call: Any, message: str) -> None:
    index = made_index(["the cake", "a girl"])
    before = str(index.search("cake girl", 9))
    with pytest.raises(NoppaError, match=message) as raised:
        call(index)
    assert "\n" not in str(raised.value)
    assert len(index) == 2
    assert str(index.search("cake girl", 9)) == before


def test_single_texts_ids_and_numbers() -> None:
    index = Index(encoder(), first_id=1)
    assert index.add("the cake") == ["1"]
    assert index.add("a girl", ids=7) == ["7"]
    assert index.add([]) == []
    assert index.add(["a boy"]) == ["3"]
    assert "7" in index
    assert "8" not in index
    index.delete(7)
    assert index.get("1").text == "the cake"
    index.update("1", metadata=[{"a": 1}])
    assert index.get(["1"])[0].metadata == {"a": 1}
    assert index.search("cake", 1)[0].text == "the cake"
    index.delete(["1", "3"])
    assert len(index) == 0
    index.compact()
    assert index.search("cake").note == "the index is empty"


def test_short_pieces_of_unknown_words_mean_nothing() -> None:
    """The embedded model makes a vector of any letters, which is near to arbitrary texts; long pieces mean something."""
    index = noppa.Index()
    index.add(["the girl eats a cake", "a film by qqqzzz"])
    assert len(index.search("qqqzzz", mode="meaning")) == 0
    assert [hit.text for hit in index.search("qqqzzz")] == ["a film by qqqzzz"]
    assert len(index.search("qqqzzz cake", mode="meaning")) == 2
    assert "misdelivered" not in index.encoder.words
    assert len(index.search("misdelivered", mode="meaning")) == 2


def test_terms_are_those_of_the_encoders_tokenizer() -> None:
    words = noppa.WordVectors(["我", "喜欢", "音乐", "看", "书"], np.eye(5), tokenizer="zh")
    index = noppa.Index(noppa.Encoder(words, noppa.Average()))
    index.add(["我喜欢音乐", "我看书", "音 乐"])
    found = index.search("音乐", mode="words")
    assert [hit.text for hit in found] == ["我喜欢音乐"]
    assert found[0].explain().terms.keys() == {"音乐"}
    index.compact()
    assert [hit.text for hit in index.search("音乐", mode="words")] == ["我喜欢音乐"]

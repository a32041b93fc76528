"""`noppa.keywords`: words and pairs of words that stand for a text or a group."""

from __future__ import annotations

import numpy as np
import pytest

import noppa
from noppa.errors import InputError, ParameterError
from noppa.topics.groups import spread
from noppa.topics.keywords import Language, count_words_and_pairs, select_diverse

HOTEL = (
    "The hotel was lovely but the breakfast was cold, and the swimming pool was closed for repairs. "
    "We asked for a refund of our booking."
)


def test_of_a_text() -> None:
    found = noppa.keywords(HOTEL, 6)
    words = [one.text for one in found]
    assert {"hotel", "swimming pool"} <= set(words)
    assert not {"the", "was", "and", "of"} & set(words)
    cosine = noppa.load("similarity").similarity(HOTEL, words[0])
    assert found[0].similarity == pytest.approx(cosine, abs=1e-5)
    assert all(one.texts == 1 for one in found)


def test_of_a_group() -> None:
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


def test_an_encoder_from_elsewhere() -> None:
    found = noppa.keywords("cake cake", model=lambda texts: np.ones((len(texts), 2)))
    assert [one.text for one in found] == ["cake"]


@pytest.mark.parametrize("empty", ["", "   ", [], ["", "…"], "the of and"])
def test_nothing_to_say(empty: object) -> None:
    assert noppa.keywords(empty) == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("a", 0), ParameterError, "n must be a whole number of at least 1"),
        ((3,), InputError, "neither a text nor a collection"),
    ],
)
def test_bad_arguments(arguments: tuple[object, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        noppa.keywords(*arguments)  # type: ignore[arg-type]


def test_spread() -> None:
    assert spread(0, 5) == []
    assert spread(3, 5) == [0, 1, 2]
    assert spread(101, 3) == [0, 50, 100]

"""gensim: vectors go over and come back; its counts never become frequencies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors, Word2Vec

import noppa
from noppa.errors import InputError
from noppa.integrations.gensim import keyed_vectors, word_vectors
from tests.conftest import made_texts, made_words


def test_there_and_back_with_probabilities() -> None:
    words = made_words()
    keyed = keyed_vectors(words)
    assert keyed.index_to_key == words.words
    np.testing.assert_array_equal(keyed.vectors, words.matrix)
    again = word_vectors(keyed)
    np.testing.assert_array_equal(again.probabilities, words.probabilities)
    texts = made_texts(20, words)
    method = noppa.NoPPA(k=0)
    np.testing.assert_array_equal(
        noppa.Encoder(again, method).encode(texts), noppa.Encoder(words, method).encode(texts)
    )


def test_neighbours_are_ours() -> None:
    words = noppa.load("similarity").words
    keyed = keyed_vectors(noppa.load("similarity"))
    assert len(keyed) == words.lexicon.whole_words
    found = [word for word, _ in keyed.most_similar("cake", topn=5)]
    assert found == [word for word, _ in words.nearest("cake", 5)]


def test_their_counts_are_no_frequencies(tmp_path: Path) -> None:
    """A file read by gensim has counts that are ranks turned round, and a trained model real ones: neither is taken."""
    keyed_vectors(made_words()).save_word2vec_format(str(tmp_path / "v.txt"))
    read = KeyedVectors.load_word2vec_format(str(tmp_path / "v.txt"))
    assert read.get_vecattr("the", "count") == len(read)
    assert word_vectors(read).probabilities is None
    trained = Word2Vec([["a", "girl", "eats"]] * 10, vector_size=5, min_count=1, workers=1).wv
    assert word_vectors(trained).probabilities is None
    with pytest.raises(noppa.NoppaError, match="with_counts"):
        noppa.Encoder(word_vectors(trained), noppa.NoPPA(k=0))


def test_options_of_load_hold() -> None:
    keyed = keyed_vectors(made_words())
    some = word_vectors(keyed, keep=["cake", "girl"], dtype="int8")
    assert some.words == ["girl", "cake"]
    assert some.matrix.dtype == np.int8
    whole = made_words()
    rows = [whole.words.index(word) for word in some.words]
    np.testing.assert_allclose(some.probabilities, whole.probabilities[rows])
    assert word_vectors(keyed, limit=3).words == whole.words[:3]


def test_what_is_wrong_is_one_sentence() -> None:
    model = Word2Vec([["a", "girl"]] * 5, vector_size=3, min_count=1, workers=1)
    with pytest.raises(InputError, match=r"give its vectors, model\.wv"):
        word_vectors(model)
    with pytest.raises(InputError, match="neither a path nor a gensim KeyedVectors"):
        word_vectors(3)
    with pytest.raises(InputError, match="has no word vectors"):
        keyed_vectors(noppa.external(lambda texts: [[1.0]] * len(texts)))
    with pytest.warns(noppa.NoppaWarning, match="more than once"):
        twice = noppa.WordVectors(["a", "b", "a"], np.eye(3))
    with pytest.raises(InputError, match="'a' occurs twice"):
        keyed_vectors(twice)

"""spaCy: a component on a blank pipeline; vectors of docs, spans and tokens; pipelines to disk, to bytes and to processes."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.tokens import DocBin

import noppa
from noppa.errors import ParameterError

TEXTS = ["the girl eats a cake", "a girl is eating", "stock prices fell"]


def pipeline(**config: Any) -> spacy.Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("noppa", config=config)
    return nlp


@pytest.fixture
def small() -> noppa.Encoder:
    words = noppa.WordVectors(["a", "cake"], [[0.1, 0.2], [0.3, 0.4]], [0.9, 0.1])
    return noppa.Encoder(words, noppa.NoPPA(k=0))


def test_the_component_is_found_by_its_name_alone() -> None:
    program = (
        "import sys, noppa; assert 'spacy' not in sys.modules; import spacy; "
        "nlp = spacy.blank('en'); nlp.add_pipe('noppa'); print(nlp('a cake').vector.shape)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.strip() == "(320,)", run.stderr


def test_a_doc_has_the_vector_of_its_text() -> None:
    expected = noppa.load("similarity").encode(TEXTS)
    doc = pipeline()(TEXTS[0])
    np.testing.assert_array_equal(doc.vector, expected[0])
    assert doc.has_vector
    assert doc.vector_norm == pytest.approx(np.linalg.norm(expected[0]), rel=1e-6)
    np.testing.assert_array_equal(
        pipeline(model="default")(TEXTS[0]).vector, noppa.load().encode(TEXTS[0])
    )


def test_similarity_of_docs_spans_and_tokens_is_our_cosine() -> None:
    nlp, encoder = pipeline(), noppa.load("similarity")
    doc, other = nlp(TEXTS[0]), nlp(TEXTS[1])
    span, token, lexeme = doc[1:3], doc[4], nlp.vocab["eating"]
    things = [doc, other, span, token, lexeme]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # spaCy's own, about pipelines without word vectors
        for thing in things[:-1]:
            cosines = [thing.similarity(item) for item in things]
            expected = encoder.similarity(thing.text, [item.text for item in things])
            np.testing.assert_allclose(cosines, expected, atol=1e-6)
            np.testing.assert_array_equal(thing.vector, encoder.encode(thing.text))
            assert thing.has_vector
    assert span.vector_norm == pytest.approx(np.linalg.norm(encoder.encode("girl eats")), rel=1e-6)
    assert doc.similarity(doc) == pytest.approx(1, abs=1e-12)


def test_a_preset_is_written_by_its_name(tmp_path: Path) -> None:
    nlp = pipeline(model="default")
    nlp.to_disk(tmp_path)
    assert [file.name for file in (tmp_path / "noppa").iterdir()] == ["preset"]
    again = spacy.load(tmp_path)
    np.testing.assert_array_equal(again(TEXTS[0]).vector, nlp(TEXTS[0]).vector)
    other = pipeline().from_bytes(nlp.to_bytes())
    np.testing.assert_array_equal(other(TEXTS[0]).vector, nlp(TEXTS[0]).vector)


def test_an_encoder_of_ones_own_travels_with_the_pipeline(
    small: noppa.Encoder, tmp_path: Path
) -> None:
    small.save(tmp_path / "encoder")
    nlp = pipeline(model=str(tmp_path / "encoder"))
    nlp.to_disk(tmp_path / "pipeline")
    packed = nlp.to_bytes()
    (tmp_path / "encoder").rename(tmp_path / "elsewhere")
    expected = small.encode("a cake")
    read = spacy.load(tmp_path / "pipeline")
    np.testing.assert_array_equal(read("a cake").vector, expected)
    read.to_disk(tmp_path / "pipeline")  # onto the files that it has open
    np.testing.assert_array_equal(spacy.load(tmp_path / "pipeline")("a cake").vector, expected)
    unpacked = pipeline().from_bytes(packed)
    np.testing.assert_array_equal(unpacked("a cake").vector, expected)
    assert unpacked.get_pipe("noppa").to_bytes() == nlp.get_pipe("noppa").to_bytes()
    read.get_pipe("noppa").encoder = "similarity"
    read.to_disk(tmp_path / "pipeline")
    assert [file.name for file in (tmp_path / "pipeline" / "noppa").iterdir()] == ["preset"]


def test_an_encoder_of_others_encodes_but_is_not_saved(tmp_path: Path) -> None:
    nlp = pipeline()
    nlp.get_pipe("noppa").encoder = noppa.external(lambda texts: [[len(text), 1] for text in texts])
    assert nlp("a cake").vector.tolist() == [6, 1]
    with pytest.raises(ParameterError, match="cannot be saved with a pipeline"):
        nlp.to_disk(tmp_path)


def test_docs_that_were_pickled_or_went_through_bytes() -> None:
    nlp = pipeline()
    doc = nlp(TEXTS[0])
    pickled = pickle.loads(pickle.dumps(doc))
    np.testing.assert_array_equal(pickled.vector, doc.vector)
    assert pickled.similarity(doc) == doc.similarity(doc)
    packed = DocBin(docs=[doc], store_user_data=True).to_bytes()
    (read,) = DocBin().from_bytes(packed).get_docs(nlp.vocab)
    np.testing.assert_array_equal(read._.noppa_vector, doc.vector)
    assert not read.has_vector
    np.testing.assert_array_equal(nlp.get_pipe("noppa")(read).vector, doc.vector)


def test_docs_of_other_processes_keep_their_vectors() -> None:
    docs = list(pipeline().pipe(TEXTS, n_process=2, batch_size=1))
    rows = np.stack([doc._.noppa_vector for doc in docs])
    np.testing.assert_array_equal(rows, noppa.load("similarity").encode(TEXTS))

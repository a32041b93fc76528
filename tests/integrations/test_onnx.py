"""ONNX: onnxruntime computes the same vectors and probabilities."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import noppa
from noppa.distill.teacher import Teacher
from noppa.errors import ParameterError
from noppa.export import export
from noppa.integrations.onnx import classifier_inputs, padded
from tests.conftest import made_texts, made_words


def run(encoder: noppa.Encoder, texts: list[str], path: Path) -> np.ndarray:
    export(encoder, "onnx", path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(["vectors"], {"ids": padded(*encoder.look_up(texts))})[0]


METHODS = {
    "average": (noppa.Average(), None),
    "sif": (noppa.SIF(), noppa.Normalize()),
    "usif": (noppa.USIF(a=0.01), [noppa.CommonComponents(2, centred=True), noppa.Normalize()]),
    "word": (noppa.NoPPA(k=2, parts=("word",)), noppa.Whitening(5)),
    "sent2vec": (noppa.Sent2Vec(buckets=0, epochs=1), None),
}


@pytest.mark.filterwarnings("ignore::noppa.NoppaWarning")
@pytest.mark.parametrize("name", METHODS)
def test_every_mean_with_its_refinements(name: str, tmp_path: Path) -> None:
    words = made_words()
    encoder = noppa.Encoder(words, *METHODS[name]).fit(made_texts(80, words))
    texts = [*made_texts(30, words, longest=40, seed=5), "cake", "zzz", "", "zzz the zzz girl zzz"]
    found = run(encoder, texts, tmp_path / "m.onnx")
    np.testing.assert_allclose(found, encoder.encode(texts), atol=2e-5, rtol=2e-4)
    assert not found[-3].any()


@pytest.mark.parametrize("dtype", ["float16", "int8", "4 bits"])
def test_tables_as_they_are_stored(dtype: str, tmp_path: Path) -> None:
    words = made_words(extra=500)
    if dtype == "4 bits":
        words = words.quantized([4, 8], [4, 3])
    else:
        words.save(tmp_path / "words")
        words = noppa.WordVectors.load(tmp_path / "words", dtype=dtype)
    encoder = noppa.Encoder(words, noppa.Average())
    texts = made_texts(20, words)
    found = run(encoder, texts, tmp_path / "m.onnx")
    np.testing.assert_allclose(found, encoder.encode(texts), atol=2e-5)
    tables = {tuple(t.dims): t.data_type for t in onnx.load(tmp_path / "m.onnx").graph.initializer}
    stored = onnx.TensorProto.FLOAT16 if dtype == "float16" else onnx.TensorProto.INT8
    assert tables[len(words), words.dim] == stored


@pytest.mark.filterwarnings("ignore::noppa.NoppaWarning")
def test_the_embedded_model(tmp_path: Path) -> None:
    encoder = noppa.load("similarity")
    texts = ["the girl eats a cake", "", "an unbelievablest 3.50 dollars, isn't it?", "cake"]
    found = run(encoder, texts, tmp_path / "m.onnx")
    np.testing.assert_allclose(found, encoder.encode(texts), atol=2e-5)
    lines = (tmp_path / "m.vocab.txt").read_bytes().decode().removesuffix("\n").split("\n")
    assert lines == encoder.words.words
    facts = {p.key: p.value for p in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert facts["unknown words"] == "pieces"
    assert facts["pieces"] == str(encoder.words.pieces)


def test_a_batch_of_nothing(tmp_path: Path) -> None:
    encoder = noppa.Encoder(made_words(), noppa.Average())
    assert run(encoder, [], tmp_path / "m.onnx").shape == (0, encoder.dim)


@pytest.mark.parametrize("words_of", [{}, {"unknown": "zero"}])
def test_what_a_graph_cannot_hold(words_of: dict[str, str], tmp_path: Path) -> None:
    method = noppa.Average() if words_of else noppa.DCT()
    encoder = noppa.Encoder(made_words(**words_of), method)
    with pytest.raises(ParameterError, match=r"unknown='zero'|not a weighted mean"):
        export(encoder, "onnx", tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []


def made_teacher(folder: Path) -> Path:
    """A sentence transformer of one look-up as an ONNX graph, with a tokenizer of whole words and pieces."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    names = ["[CLS]", "[SEP]", "[UNK]", "a", "girl", "eats", "##ing", "cake"]
    vocabulary = {name: at for at, name in enumerate(names)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 1)]
    )
    (folder / "onnx").mkdir(parents=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    table = np.random.default_rng(0).normal(size=(len(names), 6)).astype(np.float32)
    ids, mask = (
        helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "tokens"])
        for name in ("input_ids", "attention_mask")
    )
    states = helper.make_tensor_value_info(
        "last_hidden_state", TensorProto.FLOAT, ["n", "tokens", 6]
    )
    gather = helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])
    graph = helper.make_graph(
        [gather], "teacher", [ids, mask], [states], [numpy_helper.from_array(table, "table")]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(folder / "onnx" / "model.onnx"))
    return folder


def test_a_graph_teaches_without_torch(tmp_path: Path) -> None:
    teacher = Teacher(str(made_teacher(tmp_path / "made")), tmp_path / "kept", 1)
    rows = teacher.sentences(["a girl", "a girl eats a cake", "cake"]).astype(float)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-3)
    assert np.allclose(rows[2], teacher.pieces(["cake"])[0].astype(float), atol=1e-3)
    assert teacher.known_pieces() == ["a", "girl", "eats", "##ing", "cake"]
    unknown, text = teacher.pieces(["##girl"])[0], teacher.sentences(["girl"])[0]
    assert np.allclose(unknown.astype(float), text.astype(float), atol=1e-3)


GOOD, BAD = ["lovely", "bright", "fine", "warm"], ["dull", "grey", "poor", "cold"]
REVIEWS = [f"a {word} film, a {word} story" for word in GOOD + BAD] * 4
TOPICS = {
    "two": ["good"] * 4 + ["bad"] * 4,
    "three": ["good"] * 4 + ["bad"] * 2 + ["cold"] * 2,
    "several": [["good"]] * 4 + [["bad"]] * 2 + [["bad", "cold"]] * 2,
}


@pytest.mark.parametrize("labels", TOPICS)
@pytest.mark.parametrize("encoder", ["similarity", False, "zero-shot"])
def test_a_classifier_gives_our_probabilities(labels: str, encoder: object, tmp_path: Path) -> None:
    if encoder == "zero-shot":
        model = noppa.Classifier.zero_shot(
            ["fine weather", "dull work", "cold food"][: 2 + (labels != "two")]
        )
    else:
        model = noppa.Classifier(encoder, folds=2).fit(REVIEWS, TOPICS[labels] * 4)
    export(model, "onnx", tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(
        str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"]
    )
    texts = ["a lovely dull film", "unheardofword", "", "a grey story, a grey story"]
    logits, p = session.run(None, classifier_inputs(model, texts))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", noppa.NoppaWarning)
        np.testing.assert_allclose(p, model.predict_proba(texts), atol=1e-4)
    assert logits.shape == p.shape
    ngrams = (tmp_path / "m.ngrams.txt").read_text().splitlines()
    assert ngrams == model.contents.features.ngram_names
    with pytest.raises(ParameterError, match="export it to onnx"):
        export(model, "word2vec", tmp_path / "m.bin")

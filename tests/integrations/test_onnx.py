"""ONNX: onnxruntime gives our vectors, for every method that has a graph."""

from __future__ import annotations

import subprocess
import sys
import warnings
from dataclasses import replace
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
    "default": noppa.NoPPA(k=0),
    "noise": noppa.NoPPA(k=3),
    "reference": noppa.NoPPA(k=3, noise="reference", position="reference", a=None),
    "parts": noppa.NoPPA(
        k=0, parts=("max", "ordered", "std", "product", "dct2", "min", "context", "word")
    ),
    "columns": noppa.NoPPA(
        k=0, parts=("product", "word", "context", "ordered"), pair_columns=(1, 4)
    ),
    "alone": noppa.NoPPA(k=0, attend_self=False, position=None),
    "absolute": noppa.NoPPA(k=0, kernel="abs", unknown_takes_position=True),
    "square": noppa.NoPPA(k=0, kernel="square", parts=("ordered",)),
    "word": noppa.NoPPA(k=0, parts=("word", "dct1")),
    "average": noppa.Average(),
    "sif": noppa.SIF(),
    "usif": noppa.USIF(a=0.01),
    "usif-dimension": noppa.USIF(a=0.01, normalize="dimension"),
    "tfidf": noppa.TfIdf(),
    "dct": noppa.DCT(k=4),
    "fastsent": noppa.FastSent(epochs=1),
    "sent2vec": noppa.Sent2Vec(buckets=0, epochs=1),
}


@pytest.mark.filterwarnings("ignore::noppa.NoppaWarning")
@pytest.mark.parametrize("unknown", ["skip", "zero"])
@pytest.mark.parametrize("name", METHODS)
def test_every_method(name: str, unknown: str, tmp_path: Path) -> None:
    words = made_words(unknown=unknown)
    encoder = noppa.Encoder(words, METHODS[name]).fit(made_texts(80, words))
    texts = [
        *made_texts(30, words, longest=40, seed=5),
        "cake",
        "zzz",
        "",
        "zzz the zzz zzz girl zzz",
        "the girl " * 150,
    ]
    wanted = encoder.encode(texts)
    np.testing.assert_allclose(
        run(encoder, texts, tmp_path / "m.onnx"), wanted, atol=2e-5, rtol=2e-4
    )


class Half(noppa.Method):
    """A user's method without a graph of its own, which declares itself a mean."""

    mean_obstacle = ""

    def pool(self, vectors: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return vectors.mean(axis=0) / 2


def test_a_declared_mean_needs_no_graph_of_its_own(tmp_path: Path) -> None:
    words = made_words()
    texts = made_texts(30, words)
    refine = [noppa.NoiseRemoval(2), noppa.Normalize()]
    encoder = noppa.Encoder(words, Half(), refine).fit(texts)
    np.testing.assert_allclose(
        run(encoder, texts, tmp_path / "m.onnx"), encoder.encode(texts), atol=2e-5, rtol=2e-4
    )


@pytest.mark.parametrize(
    "refine",
    [
        noppa.Whitening(5),
        [noppa.CommonComponents(2, centred=True), noppa.Normalize()],
        [noppa.NoiseRemoval(2), noppa.Whitening(strength=0.5, centred=False)],
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::noppa.NoppaWarning")
def test_every_step(refine: object, tmp_path: Path) -> None:
    words = made_words()
    encoder = noppa.Encoder(words, noppa.NoPPA(k=0), refine).fit(made_texts(80, words))
    texts = [*made_texts(20, words, seed=5), "zzz"]
    found = run(encoder, texts, tmp_path / "m.onnx")
    np.testing.assert_allclose(found, encoder.encode(texts), atol=1e-4, rtol=1e-3)
    assert not found[-1].any()


@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_tables_as_they_are_stored(dtype: str, tmp_path: Path) -> None:
    made_words(extra=500).save(tmp_path / "words")
    words = noppa.WordVectors.load(tmp_path / "words", dtype=dtype)
    encoder = noppa.Encoder(words, noppa.NoPPA(k=0))
    texts = made_texts(20, words)
    np.testing.assert_allclose(
        run(encoder, texts, tmp_path / "m.onnx"), encoder.encode(texts), atol=2e-5
    )
    tables = {tuple(t.dims): t.data_type for t in onnx.load(tmp_path / "m.onnx").graph.initializer}
    stored = {"float16": onnx.TensorProto.FLOAT16, "int8": onnx.TensorProto.INT8}
    assert tables[words.matrix.shape] == stored[dtype]


@pytest.mark.parametrize("unknown", ["skip", "zero"])
def test_packed_tables_are_widened_to_8_bits(unknown: str, tmp_path: Path) -> None:
    words = made_words(extra=500, unknown=unknown).quantized([4, 8], [4, 3])
    encoder = noppa.Encoder(words, noppa.NoPPA(k=0))
    texts = made_texts(20, words)
    found = run(encoder, texts, tmp_path / "m.onnx")
    np.testing.assert_allclose(found, encoder.encode(texts), atol=2e-5)


@pytest.mark.filterwarnings("ignore::noppa.NoppaWarning")
@pytest.mark.parametrize("preset", ["default", "similarity"])
def test_the_embedded_model(preset: str, tmp_path: Path) -> None:
    encoder = noppa.load(preset)
    texts = ["the girl eats a cake", "", "an unbelievablest 3.50 dollars, isn't it?", "cake"]
    np.testing.assert_allclose(
        run(encoder, texts, tmp_path / "m.onnx"), encoder.encode(texts), atol=2e-5
    )
    lines = (tmp_path / "m.vocab.txt").read_bytes().decode().removesuffix("\n").split("\n")
    assert lines == encoder.words.words
    facts = {p.key: p.value for p in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert facts["unknown words"] == "pieces"
    assert facts["pieces"] == str(encoder.words.pieces)


def test_a_batch_of_nothing(tmp_path: Path) -> None:
    encoder = noppa.Encoder(made_words(), noppa.NoPPA(k=0))
    assert run(encoder, [], tmp_path / "m.onnx").shape == (0, encoder.dim)


@pytest.mark.parametrize(
    ("method", "why"),
    [
        (noppa.GEM(k=3, h=2), "GEM has no graph"),
        (noppa.VLAWE(k=2), "VLAWE has no graph"),
        (noppa.S3E(k=2), "S3E has no graph"),
        (noppa.Sent2Vec(epochs=1), "hash of word pairs"),
        (noppa.NoPPA(k=0, max_tokens=9), "leaves to its caller"),
    ],
    ids=repr,
)
def test_what_has_no_graph_says_why(method: object, why: str, tmp_path: Path) -> None:
    words = made_words()
    texts = made_texts(80, words, longest=8)
    encoder = noppa.Encoder(words, method).fit(texts)
    with pytest.raises(ParameterError, match=why):
        export(encoder, "onnx", tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []
    export(encoder, "onnx", tmp_path / "m.onnx", words_only=True)
    plain = noppa.Encoder(words, noppa.Average())
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    found = session.run(None, {"ids": padded(*plain.look_up(texts))})[0]
    np.testing.assert_allclose(found, plain.encode(texts), atol=1e-5)


def test_a_name_and_a_place_that_cannot_be(tmp_path: Path) -> None:
    encoder = noppa.Encoder(made_words(), noppa.Average())
    with pytest.raises(ParameterError, match=r"must end in \.onnx"):
        export(encoder, "onnx", tmp_path / "m.bin")
    with pytest.raises(noppa.NoppaError, match="does not exist"):
        export(encoder, "onnx", tmp_path / "nowhere" / "m.onnx")
    with pytest.raises(noppa.NoppaError, match="fit"):
        export(noppa.Encoder(made_words(), noppa.NoPPA()), "onnx", tmp_path / "m.onnx")
    broken = noppa.WordVectors(["a", "b\nc"], np.eye(2))
    with pytest.raises(noppa.NoppaError, match="line break"):
        export(noppa.Encoder(broken, noppa.Average()), "onnx", tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []


def test_the_command_line(tmp_path: Path) -> None:
    words = made_words()
    method = replace(noppa.NoPPA(), k=2)
    noppa.Encoder(words, method).fit(made_texts(40, words)).save(tmp_path / "model")
    done = subprocess.run(
        [sys.executable, "-c", "from noppa.cli import main; main()", "export", "model", "--to", "onnx", "-o", "m.onnx"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "m.onnx: onnx, 18 words, 14 dimensions\n"
    onnx.checker.check_model(str(tmp_path / "m.onnx"))


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
@pytest.mark.parametrize("encoder", [None, False, "zero-shot"])
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

"""Encoders and classifiers as ONNX graphs, from ids (texts, tokens), padded with -1, to vectors or probabilities.

Texts become ids outside the graph: with `noppa.integrations.onnx`, or with any program that reads the words in
`.vocab.txt` and the n-grams in `.ngrams.txt` next to the file, where an id is a line number.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noppa import Encoder
from noppa.classify.classifier import Classifier
from noppa.errors import ParameterError
from noppa.export.means import ends_in_unit, mean_words
from noppa.extras import needs
from noppa.io.atomic import atomic_file
from noppa.words.formats.write import vocabulary
from noppa.words.word_vectors import WordVectors

OPSET, IR_VERSION = 17, 8
#: A protobuf message holds at most 2 GiB.
LIMIT = (1 << 31) - (1 << 24)


class Graph:
    """An ONNX graph under construction; each `add` returns the name of its result."""

    def __init__(self) -> None:
        with needs("onnx", "export to onnx"):
            import onnx
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: ArrayLike, dtype: Any = np.float32) -> str:
        """Add an array; a dtype of None keeps its own."""
        array = np.ascontiguousarray(values, dtype).reshape(np.shape(values))
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def integers(self, *values: int) -> str:
        """Add an array of int64."""
        return self.constant(np.array(values, np.int64), None)

    def add(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add an operator."""
        name = output or f"n{len(self.nodes)}_{kind.lower()}"
        node = self.onnx.helper.make_node(kind, list(inputs), [name], **attributes)
        self.nodes.append(node)
        return name

    def real(self, name: str) -> str:
        """Convert to float32."""
        return self.add("Cast", name, to=self.onnx.TensorProto.FLOAT)

    def sum(self, name: str, axis: int) -> str:
        """Add up over an axis."""
        return self.add("ReduceSum", name, self.integers(axis), keepdims=0)

    def unit(self, rows: str) -> str:
        """Scale rows to length one; zeros stay zeros."""
        lengths = self.add("ReduceL2", rows, axes=[1], keepdims=1)
        is_positive = self.add("Greater", lengths, self.constant(0.0))
        return self.add("Div", rows, self.add("Where", is_positive, lengths, self.constant(1.0)))

    def model(
        self,
        inputs: Mapping[str, tuple[Any, list[Any]]],
        outputs: Mapping[str, tuple[Any, list[Any]]],
        facts: Mapping[str, str],
    ) -> Any:
        """Return the checked `onnx.ModelProto`, with inputs and outputs as name: (dtype, shape)."""
        helper = self.onnx.helper
        tensors = [
            [
                helper.make_tensor_value_info(
                    name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape
                )
                for name, (dtype, shape) in named.items()
            ]
            for named in (inputs, outputs)
        ]
        graph = helper.make_graph(self.nodes, "noppa", *tensors, self.constants)
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opset, producer_name="noppa")
        model.ir_version = IR_VERSION
        helper.set_model_props(model, dict(facts))
        self.onnx.checker.check_model(model)
        return model


def write_encoder(encoder: Encoder, path: Path) -> None:
    """Write a graph from `ids` (texts, tokens) to `vectors` (texts, dim), and its words in `.vocab.txt`."""
    graph = Graph()
    facts = add_vectors(graph, encoder)
    inputs = {"ids": (np.int64, ["texts", "tokens"])}
    model = graph.model(inputs, {"vectors": (np.float32, ["texts", encoder.dim])}, facts)
    _write(path, model, {".vocab.txt": vocabulary(encoder.words)})


def write_classifier(classifier: Classifier, path: Path) -> None:
    """Write a graph with `logits` and `probabilities`, words in `.vocab.txt` and n-grams in `.ngrams.txt`."""
    features = classifier.contents.features
    words = b"" if features.encoder is None else vocabulary(features.encoder.words)
    names = "".join(f"{name}\n" for name in features.ngram_names).encode()
    _write(path, classifier_graph(classifier), {".vocab.txt": words, ".ngrams.txt": names})


def _write(path: Path, model: Any, lists: Mapping[str, bytes]) -> None:
    contents = {path.with_suffix(suffix): content for suffix, content in lists.items()}
    with ExitStack() as stack:
        for target, content in {**contents, path: model.SerializeToString()}.items():
            stack.enter_context(atomic_file(target)).write_bytes(content)


def classifier_graph(classifier: Classifier) -> Any:
    """Return a model from `ids` (texts, tokens), `ngrams` and `counts` (texts, slots) to logits and probabilities."""
    contents = classifier.contents
    features, labels, model = contents.features, contents.labels, contents.model
    if features.paired:
        raise ParameterError("a classifier of pairs of texts cannot be exported to onnx")
    graph = Graph()
    inputs: dict[str, tuple[Any, list[Any]]] = {}
    facts = {"classes": "\n".join(map(str, labels.classes.tolist()))}
    logits = graph.constant(model.biases[None])
    if features.encoder is not None:
        facts |= add_vectors(graph, features.encoder)
        vectors = graph.unit("vectors") if features.unit else "vectors"
        logits = graph.add("Add", graph.add("MatMul", vectors, graph.constant(model.dense)), logits)
        inputs["ids"] = (np.int64, ["texts", "tokens"])
    if features.ngrams is not None:
        logits = graph.add("Add", _ngram_logits(graph, features.ngrams.idf, model.ngrams), logits)
        inputs["ngrams"] = (np.int64, ["texts", "slots"])
        inputs["counts"] = (np.float32, ["texts", "slots"])
    if labels.exclusive and len(labels.classes) == 2:
        logits = graph.add("Concat", graph.add("Neg", logits), logits, axis=1)
    graph.add("Identity", logits, output="logits")
    attributes = {"axis": 1} if labels.softmax else {}
    kind = "Softmax" if labels.softmax else "Sigmoid"
    graph.add(kind, logits, output="probabilities", **attributes)
    shape = ["texts", len(labels.classes)]
    outputs = dict.fromkeys(("logits", "probabilities"), (np.float32, shape))
    return graph.model(inputs, outputs, facts)


def add_vectors(graph: Graph, encoder: Encoder) -> dict[str, str]:
    """Add the operators from `ids` to `vectors`; return what the file records about the encoder."""
    words = mean_words(encoder)
    is_known = graph.add("GreaterOrEqual", "ids", graph.integers(0))
    ids = graph.add("Where", is_known, "ids", graph.integers(0))
    mask = graph.add("Unsqueeze", graph.real(is_known), graph.integers(2))
    count = graph.sum(mask, 1)
    total = graph.sum(graph.add("Mul", _gather(graph, words, ids), mask), 1)
    rows = graph.add("Div", total, graph.add("Max", count, graph.constant(np.ones((1, 1)))))
    if ends_in_unit(encoder):
        rows = graph.unit(rows)
    has_words = graph.add("Greater", count, graph.constant(np.zeros((1, 1))))
    graph.add("Where", has_words, rows, graph.constant(np.zeros(())), output="vectors")
    return {
        "method": repr(encoder.method),
        "unknown words": words.unknown,
        "case": words.case,
        "pieces": str(words.pieces),
        "words": str(words.lexicon.whole_words),
    }


def _gather(graph: Graph, words: WordVectors, ids: str) -> str:
    """Add the lookup of word vectors, from the table as it is stored; returns float32 (texts, tokens, dim)."""
    if words.unknown == "zero":
        raise ParameterError(
            "unknown='zero' counts unknown words, which an ONNX graph cannot",
            "load the words with unknown='skip' or 'pieces'",
        )
    if words.matrix.nbytes > LIMIT:
        raise ParameterError(
            f"the word vectors have {words.matrix.nbytes / 1e9:.1f} GB, and an ONNX file holds 2 GB",
            "load fewer words with limit=, or with dtype='int8'",
        )
    table = words.rows.unpacked()  # ONNX has no operators for 4 bits
    rows = graph.add("Gather", graph.constant(table.values, None), ids)
    if table.values.dtype != np.float32:
        rows = graph.real(rows)
    if table.scales is None:
        return rows
    factors = graph.add("Gather", graph.constant(table.scales), ids)
    if table.blocks:
        columns = np.repeat(np.arange(len(table.blocks)), table.blocks)
        factors = graph.add("Gather", factors, graph.integers(*columns.tolist()), axis=2)
    else:
        factors = graph.add("Unsqueeze", factors, graph.integers(2))
    return graph.add("Mul", rows, factors)


def _ngram_logits(graph: Graph, idf: Any, weights: Any) -> str:
    """Add TF-IDF of n-grams, (1 + log count) idf scaled to length one, times their weights; the id -1 is padding."""
    is_known = graph.add("GreaterOrEqual", "ngrams", graph.integers(0))
    ids = graph.add("Where", is_known, "ngrams", graph.integers(0))
    counts = graph.add("Where", is_known, "counts", graph.constant(1.0))
    values = graph.add("Add", graph.add("Log", counts), graph.constant(1.0))
    values = graph.add("Mul", values, graph.add("Gather", graph.constant(idf), ids))
    values = graph.unit(graph.add("Mul", values, graph.real(is_known)))
    rows = graph.add("Gather", graph.constant(weights), ids)
    return graph.sum(graph.add("Mul", rows, graph.add("Unsqueeze", values, graph.integers(2))), 1)

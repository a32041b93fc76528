"""A classifier as an ONNX graph: from ids of words and counts of n-grams to probabilities.

Texts become both outside of it: by `noppa.integrations.onnx.classifier_inputs`, or by any program that reads the words and the
n-grams beside the file, where an id is a line. The graph holds the encoder, TF-IDF, and the weights.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from noppa.classify.classifier import Classifier
from noppa.errors import ParameterError
from noppa.export.graph import Graph
from noppa.export.onnx_file import add_vectors
from noppa.extras import needs
from noppa.io.atomic import atomic_file
from noppa.words.formats.vector_writer import vocabulary


def write_classifier(classifier: Classifier, path: Path) -> None:
    """The graph, and beside it the words in `.vocab.txt` and the n-grams in `.ngrams.txt`; all or none."""
    with needs("onnx", "export to onnx"):
        import onnx
    model = classifier_graph(classifier)
    onnx.checker.check_model(model)
    features = classifier.contents.features
    words = b"" if features.encoder is None else vocabulary(features.encoder.words)
    names = "".join(f"{name}\n" for name in features.ngram_names).encode()
    with (
        atomic_file(path.with_suffix(".vocab.txt")) as vocab_file,
        atomic_file(path.with_suffix(".ngrams.txt")) as ngram_file,
        atomic_file(path) as new,
    ):
        vocab_file.write_bytes(words)
        ngram_file.write_bytes(names)
        new.write_bytes(model.SerializeToString())


def classifier_graph(classifier: Classifier) -> Any:
    """An `onnx.ModelProto`: `ids` (texts, tokens), `ngrams` and `counts` (texts, slots) to `logits` and `probabilities`."""
    with needs("onnx", "export to onnx"):
        from onnx import helper
    contents = classifier.contents
    features, labels, model = contents.features, contents.labels, contents.model
    if features.paired:
        raise ParameterError("a classifier of pairs has no graph here: export one of single texts")
    graph, inputs, facts = (
        Graph(helper),
        [],
        {"classes": "\n".join(map(str, labels.classes.tolist()))},
    )
    logits = graph.constant(model.biases[None])
    if features.encoder is not None:
        facts |= add_vectors(graph, features.encoder)
        vectors = _unit(graph) if features.unit else "vectors"
        logits = graph.add("Add", graph.add("MatMul", vectors, graph.constant(model.dense)), logits)
        inputs.append(graph.tensor("ids", np.int64, ["texts", "tokens"]))
    if features.ngrams is not None:
        share = _ngram_logits(graph, features.ngrams.idf, model.ngrams)
        logits = graph.add("Add", share, logits)
        inputs.append(graph.tensor("ngrams", np.int64, ["texts", "slots"]))
        inputs.append(graph.tensor("counts", np.float32, ["texts", "slots"]))
    if labels.exclusive and len(labels.classes) == 2:
        logits = graph.add("Concat", graph.add("Neg", logits), logits, axis=1)
    graph.add("Identity", logits, output="logits")
    kind = {"axis": 1} if labels.softmax else {}
    graph.add("Softmax" if labels.softmax else "Sigmoid", logits, output="probabilities", **kind)
    shape: list[str | int] = ["texts", len(labels.classes)]
    outputs = [graph.tensor(name, np.float32, shape) for name in ("logits", "probabilities")]
    return graph.model(inputs, outputs, facts)


def _unit(graph: Graph) -> str:
    lengths = graph.add("ReduceL2", "vectors", axes=[1], keepdims=1)
    return graph.add("Div", "vectors", graph.or_one(lengths))


def _ngram_logits(graph: Graph, idf: Any, weights: Any) -> str:
    """What n-grams give: (1 + log count) idf, each text of length one, times their weights; the id -1 is padding."""
    known = graph.add("GreaterOrEqual", "ngrams", graph.numbers(0))
    ids = graph.add("Where", known, "ngrams", graph.numbers(0))
    counts = graph.add("Where", known, "counts", graph.constant(1.0))
    values = graph.add("Add", graph.add("Log", counts), graph.constant(1.0))
    values = graph.add("Mul", values, graph.add("Gather", graph.constant(idf), ids))
    values = graph.add("Mul", values, graph.real(known))
    lengths = graph.add("ReduceL2", values, axes=[1], keepdims=1)
    values = graph.add("Div", values, graph.or_one(lengths))
    rows = graph.add("Gather", graph.constant(weights), ids)
    return graph.total(graph.add("Mul", rows, graph.add("Unsqueeze", values, graph.numbers(2))), 1)

"""An encoder as an ONNX graph: from ids (texts, tokens), padded with -1, to vectors (texts, dim).

Text is tokenized outside of it: by `Encoder.look_up`, or by any program that reads the vocabulary beside the file, where
a word's id is its line. The graph holds the word vectors as stored, the method, and the refinement steps.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from noppa import Encoder
from noppa.errors import ParameterError
from noppa.export.graph import LIMIT, Graph
from noppa.export.means import mean_words, obstacle_of
from noppa.export.onnx_methods import GRAPHS
from noppa.extras import needs
from noppa.io.atomic import atomic_file
from noppa.methods import Average
from noppa.methods.registry import own_of
from noppa.refine import Map, Remove, Unit
from noppa.words.formats.vector_writer import vocabulary


def write(encoder: Encoder, path: Path) -> None:
    """The graph, and beside it its vocabulary in `.vocab.txt`; both or neither."""
    with needs("onnx", "export to onnx"):
        import onnx
    model = model_of(encoder)
    onnx.checker.check_model(model)
    names = vocabulary(encoder.words)
    with atomic_file(path.with_suffix(".vocab.txt")) as words, atomic_file(path) as new:
        words.write_bytes(names)
        new.write_bytes(model.SerializeToString())


def model_of(encoder: Encoder) -> Any:
    """An `onnx.ModelProto` with the input `ids` (texts, tokens) and the output `vectors` (texts, dim)."""
    with needs("onnx", "export to onnx"):
        from onnx import helper
    graph = Graph(helper)
    facts = add_vectors(graph, encoder)
    ids = graph.tensor("ids", np.int64, ["texts", "tokens"])
    return graph.model([ids], [graph.tensor("vectors", np.float32, ["texts", encoder.dim])], facts)


def add_vectors(graph: Graph, encoder: Encoder) -> dict[str, str]:
    """The operators from `ids` to `vectors`; gives what the file says of the encoder."""
    method, words, steps = encoder.method, encoder.words, encoder.fitted.steps
    build = GRAPHS.get(type(method))
    if build is None:
        if obstacle_of(method):
            known = ", ".join(kind.__name__ for kind in GRAPHS)
            raise ParameterError(
                f"{type(own_of(method)).__name__} has no graph here: export to onnx knows {known}, and methods that "
                "declare themselves means of words; the word vectors alone go with words_only (--words-only)"
            )
        words, build = mean_words(encoder, "onnx"), GRAPHS[Average]
        steps = tuple(step for step in steps if isinstance(step, Unit))
    if words.matrix.nbytes > LIMIT:
        raise ParameterError(
            f"the word vectors have {words.matrix.nbytes / 1e9:.1f} GB and a file of ONNX holds 2: load fewer words with "
            "limit=, or with dtype='int8'"
        )
    texts = graph.texts(words, "ids")
    rows = build(graph, texts, method, words, encoder.fitted.learnt)
    for step in steps:
        rows = STEPS[type(step)](graph, rows, step)
    zeros = graph.constant(np.zeros((), np.float32))
    graph.add("Where", texts.any, rows, zeros, output="vectors")
    return {
        "method": repr(method),
        "unknown words": words.unknown,
        "case": words.case,
        "pieces": str(words.pieces),
        "words": str(words.lexicon.whole_words),
    }


def _remove(graph: Graph, rows: str, step: Remove) -> str:
    amounts = graph.add("MatMul", rows, graph.constant(step.left.T))
    amounts = graph.add("Sub", amounts, graph.constant(step.bias))
    return graph.add("Sub", rows, graph.add("MatMul", amounts, graph.constant(step.right)))


def _map(graph: Graph, rows: str, step: Map) -> str:
    mapped = graph.add("MatMul", rows, graph.constant(step.matrix))
    return graph.add("Add", mapped, graph.constant(step.bias))


def _unit(graph: Graph, rows: str, step: Unit) -> str:
    length = graph.add("ReduceL2", rows, axes=[1], keepdims=1)
    return graph.add("Div", rows, graph.or_one(length))


#: The kinds of step that refinements are made of.
STEPS: dict[type[Any], Callable[[Graph, str, Any], str]] = {
    Remove: _remove,
    Map: _map,
    Unit: _unit,
}

"""An encoder as a graph of ONNX: from padded ids (texts, tokens), -1 where there is none, to vectors (texts, dim).

Text becomes ids outside of it: by `Encoder.look_up`, or by any program that reads the vocabulary beside the file, where a
word's id is its line. Inside are the rows as they are stored, the method, and the steps after it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from noppa import Encoder
from noppa.errors import ParameterError
from noppa.export.graph import LIMIT, Graph
from noppa.export.onnx_methods import POOLED
from noppa.extras import needs
from noppa.io.atomic import whole_file
from noppa.refine import Map, Remove, Step, Unit
from noppa.words.formats.vector_writer import vocabulary


def write(encoder: Encoder, path: Path) -> None:
    """The graph, and beside it its vocabulary in `.vocab.txt`; both or neither."""
    with needs("onnx", "export to onnx"):
        import onnx
    model = model_of(encoder)
    onnx.checker.check_model(model)
    names = vocabulary(encoder.words)
    with whole_file(path.with_suffix(".vocab.txt")) as words, whole_file(path) as new:
        words.write_bytes(names)
        new.write_bytes(model.SerializeToString())


def model_of(encoder: Encoder) -> Any:
    """An `onnx.ModelProto` with the input `ids` (texts, tokens) and the output `vectors` (texts, dim)."""
    with needs("onnx", "export to onnx"):
        from onnx import helper
    method, words, state = encoder.method, encoder.words, encoder.fitted
    if type(method) not in POOLED:
        known = ", ".join(kind.__name__ for kind in POOLED)
        raise ParameterError(
            f"{type(method).__name__} has no graph here: export to onnx knows {known}; the word vectors alone go with "
            "words_only (--words-only)"
        )
    if words.matrix.nbytes > LIMIT:
        raise ParameterError(
            f"the word vectors have {words.matrix.nbytes / 1e9:.1f} GB and a file of ONNX holds 2: load fewer words with "
            "limit=, or with dtype='int8'"
        )
    graph = Graph(helper)
    texts = graph.texts(words, "ids")
    rows = POOLED[type(method)](graph, texts, method, words, state.learnt)
    for step in state.steps:
        rows = _step(graph, rows, step)
    zeros = graph.constant(np.zeros((), np.float32))
    graph.add("Where", texts.any, rows, zeros, output="vectors")
    facts = {
        "method": repr(method),
        "unknown words": words.unknown,
        "case": words.case,
        "pieces": str(words.pieces),
        "words": str(words.lexicon.whole_words),
    }
    return graph.model(encoder.dim, facts)


def _step(graph: Graph, rows: str, step: Step) -> str:
    if isinstance(step, Remove):
        seen = graph.add("MatMul", rows, graph.constant(step.left.T))
        seen = graph.add("Sub", seen, graph.constant(step.bias))
        return graph.add("Sub", rows, graph.add("MatMul", seen, graph.constant(step.right)))
    if isinstance(step, Map):
        mapped = graph.add("MatMul", rows, graph.constant(step.matrix))
        return graph.add("Add", mapped, graph.constant(step.bias))
    if isinstance(step, Unit):
        length = graph.add("ReduceL2", rows, axes=[1], keepdims=1)
        return graph.add("Div", rows, graph.or_one(length))
    raise ParameterError(f"{type(step).__name__} has no graph here: leave that refinement out")

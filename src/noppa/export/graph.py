"""An ONNX graph under construction: constants, operators, and the lookup that every method starts from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noppa.words.word_vectors import WordVectors

OPSET, IR_VERSION = 17, 8
#: A protobuf message holds 2 GiB.
LIMIT = (1 << 31) - (1 << 24)


@dataclass(frozen=True)
class Texts:
    """Names of the tensors of a batch of ids (texts, tokens), all float32 but the first two.

    ids: padding replaced by 0. any: whether a text has a known word, (texts, 1). mask: 1 for a known word, (texts, tokens,
    1). count: known words, at least 1, (texts, 1). rows: word vectors, zeros for padding, (texts, tokens, dim).
    """

    ids: str
    any: str
    mask: str
    count: str
    rows: str


class Graph:
    """Operators in order; each `add` returns the name of its result.

    within: for the body of a loop, the graph around it, which holds the constants.
    """

    def __init__(self, helper: Any, within: Graph | None = None) -> None:
        self.helper = helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = [] if within is None else within.constants
        self.prefix = "n" if within is None else "inner"

    def constant(self, values: ArrayLike, dtype: Any = np.float32) -> str:
        """An array in the graph; a dtype of None keeps its own."""
        from onnx import numpy_helper

        array = np.ascontiguousarray(values, dtype).reshape(np.shape(values))
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def numbers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64), None)

    def add(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        name = output or f"{self.prefix}{len(self.nodes)}_{kind.lower()}"
        self.nodes.append(self.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def real(self, name: str, double: bool = False) -> str:
        """As float32, or float64."""
        kind = self.helper.np_dtype_to_tensor_dtype(np.dtype(np.float64 if double else np.float32))
        return self.add("Cast", name, to=kind)

    def total(self, name: str, axis: int, keep: bool = False) -> str:
        return self.add("ReduceSum", name, self.numbers(axis), keepdims=int(keep))

    def or_one(self, name: str) -> str:
        """1 where there is 0, so that it can be divided by."""
        zero, one = self.constant(0.0), self.constant(1.0)
        return self.add("Where", self.add("Greater", name, zero), name, one)

    def texts(self, words: WordVectors, ids: str) -> Texts:
        """The rows of the ids, from the table as it is stored, 4 bits widened to 8."""
        is_known = self.add("GreaterOrEqual", ids, self.numbers(0))
        lookup_ids = self.add("Where", is_known, ids, self.numbers(0))
        mask = self.add("Unsqueeze", self.real(is_known), self.numbers(2))
        known = self.total(mask, 1)
        one = self.constant(np.ones((1, 1)))
        stored = words.rows.unpacked()  # ONNX has no operators for 4 bits
        rows = self.table(stored.values, stored.scales, stored.blocks, lookup_ids, words)
        return Texts(
            lookup_ids,
            self.add("Greater", known, self.constant(np.zeros((1, 1)))),
            mask,
            self.add("Max", known, one),
            self.add("Mul", rows, mask),
        )

    def table(
        self,
        values: NDArray[Any],
        scales: NDArray[np.float32] | None,
        blocks: tuple[int, ...],
        ids: str,
        words: WordVectors,
    ) -> str:
        """Rows of a table, as float32, (texts, tokens, dim)."""
        if words.unknown == "zero":  # its id is one past the last row
            values = np.concatenate([values, np.zeros((1, values.shape[1]), values.dtype)])
            scales = None if scales is None else np.concatenate([scales, np.zeros_like(scales[:1])])
        rows = self.add("Gather", self.constant(values, None), ids)
        rows = rows if values.dtype == np.float32 else self.real(rows)
        if scales is None:
            return rows
        factors = self.add("Gather", self.constant(scales), ids)
        if blocks:
            column = np.repeat(np.arange(len(blocks)), blocks)
            factors = self.add("Gather", factors, self.numbers(*column.tolist()), axis=2)
        else:
            factors = self.add("Unsqueeze", factors, self.numbers(2))
        return self.add("Mul", rows, factors)

    def weights(self, values: NDArray[np.float64] | None, texts: Texts) -> str:
        """The weight of each token, 0 for padding, (texts, tokens, 1); `values` are those of the words and the zero word."""
        if values is None:
            return texts.mask
        weights = self.add("Gather", self.constant(values), texts.ids)
        return self.add("Mul", self.add("Unsqueeze", weights, self.numbers(2)), texts.mask)

    def places(self, texts: Texts, dropped_too: bool = False) -> str:
        """Positions 0, 1, … of the known tokens of each text, or of all tokens, in float64, (texts, tokens, 1)."""
        counted = texts.mask
        if dropped_too:
            counted = self.add(
                "Add", self.add("Mul", counted, self.constant(0.0)), self.constant(1.0)
            )
        after = self.add("CumSum", self.real(counted, double=True), self.constant(1, np.int64))
        return self.add("Sub", after, self.constant(1.0, np.float64))

    def tensor(self, name: str, dtype: Any, shape: Sequence[str | int]) -> Any:
        """An input or an output of the whole."""
        kind = self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.helper.make_tensor_value_info(name, kind, shape)

    def model(self, inputs: list[Any], outputs: list[Any], facts: Mapping[str, str]) -> Any:
        """The whole file."""
        helper = self.helper
        graph = helper.make_graph(self.nodes, "noppa", inputs, outputs, self.constants)
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opset, producer_name="noppa")
        model.ir_version = IR_VERSION
        helper.set_model_props(model, dict(facts))
        return model

"""The methods in ONNX operators, each from a batch of texts to pooled rows (texts, width)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import ParameterError
from noppa.export.graph import Graph, Texts
from noppa.methods import DCT, SIF, USIF, Average, FastSent, NoPPA, Sent2Vec, TfIdf, equations
from noppa.methods.numpy_form import Learnt
from noppa.methods.trained import trained_matrix
from noppa.methods.usif import lengths_of
from noppa.words.word_vectors import WordVectors

#: Stands for infinity in masks: infinity times zero is no number.
MASKED = 1e30


def mean(
    graph: Graph,
    texts: Texts,
    values: NDArray[np.float64] | None,
    divisor: str = "tokens",
    scaled: bool = False,
) -> str:
    """`mean_terms`, added up."""
    rows, weights = texts.rows, graph.weights(values, texts)
    if scaled:
        norms = graph.add("ReduceL2", rows, axes=[1], keepdims=1)
        rows = graph.add("Div", rows, graph.or_one(norms))
    total = graph.total(graph.add("Mul", rows, weights), 1)
    if divisor == "one":
        return total
    amount = texts.count if divisor == "tokens" else graph.or_one(graph.total(weights, 1))
    return graph.add("Div", total, amount)


def average(graph: Graph, texts: Texts, method: Any, words: WordVectors, learnt: Learnt) -> str:
    return mean(graph, texts, None)


def sif(graph: Graph, texts: Texts, method: SIF, words: WordVectors, learnt: Learnt) -> str:
    return mean(graph, texts, method.weights(words, learnt))


def usif(graph: Graph, texts: Texts, method: USIF, words: WordVectors, learnt: Learnt) -> str:
    weights = method.weights(words, learnt)
    if method.normalize == "word":
        weights = weights / lengths_of(words)
    return mean(graph, texts, weights, scaled=method.normalize == "dimension")


def tfidf(graph: Graph, texts: Texts, method: TfIdf, words: WordVectors, learnt: Learnt) -> str:
    return mean(graph, texts, np.asarray(learnt["idf"]), "weights")


def fastsent(
    graph: Graph, texts: Texts, method: FastSent, words: WordVectors, learnt: Learnt
) -> str:
    return mean(graph, trained(graph, texts, words, learnt), None, "one")


def sent2vec(
    graph: Graph, texts: Texts, method: Sent2Vec, words: WordVectors, learnt: Learnt
) -> str:
    if method.buckets:
        raise ParameterError(
            f"Sent2Vec(buckets={method.buckets}) needs the hash of word pairs, which ONNX lacks: train it with buckets=0"
        )
    return mean(graph, trained(graph, texts, words, learnt), None)


def trained(graph: Graph, texts: Texts, words: WordVectors, learnt: Learnt) -> Texts:
    """The same texts with rows of the trained table in place of the word vectors."""
    rows = graph.table(trained_matrix(words, learnt), None, (), texts.ids, words)
    return replace(texts, rows=graph.add("Mul", rows, texts.mask))


def dct(graph: Graph, texts: Texts, method: DCT, words: WordVectors, learnt: Learnt) -> str:
    """`DCT.terms`."""
    length = graph.add("Max", texts.count, graph.constant(float(method.k)))
    parts = []
    for order in range(method.k):
        terms = graph.add("Mul", texts.rows, waves(graph, texts, order, length))
        scale = graph.add("Sqrt", graph.add("Div", graph.constant(2.0 if order else 1.0), length))
        parts.append(graph.add("Mul", graph.total(terms, 1), scale))
    return graph.add("Concat", *parts, axis=1)


def waves(graph: Graph, texts: Texts, order: int, length: str) -> str:
    """cos(pi (2t + 1) order / 2 length) of each token, (texts, tokens, 1), as a shifted sine: onnxruntime has no float64 cosine."""
    twice = graph.add("Mul", graph.places(texts), graph.constant(2.0, np.float64))
    odd = graph.add("Add", twice, graph.constant(1.0, np.float64))
    span = graph.add("Unsqueeze", graph.real(length, double=True), graph.numbers(2))
    share = graph.add(
        "Div", graph.add("Mul", odd, graph.constant(np.pi * order / 2, np.float64)), span
    )
    return graph.real(
        graph.add("Sin", graph.add("Add", share, graph.constant(np.pi / 2, np.float64)))
    )


def noppa(graph: Graph, texts: Texts, method: NoPPA, words: WordVectors, learnt: Learnt) -> str:
    """Equations 9 to 13; pairs are summed one row of the attention at a time, so that no n×n×d tensor is made."""
    if method.max_tokens is not None:
        raise ParameterError(
            f"NoPPA(max_tokens={method.max_tokens}) bounds the tokens of a text, which a graph leaves to its caller: "
            "make the encoder without max_tokens"
        )
    weights = graph.weights(method.weights(words, learnt), texts)
    shared = graph.add("Div", weights, graph.add("Unsqueeze", texts.count, graph.numbers(2)))
    paired = [part for part in method.parts if part in equations.PAIR_PARTS]
    outputs: dict[str, str] = {}
    if paired:
        start, stop = method.pair_columns or (0, words.dim)
        edges = graph.numbers(start), graph.numbers(stop), graph.numbers(2)
        compared = graph.add("Slice", texts.rows, *edges) if method.pair_columns else texts.rows
        positional = positions(graph, texts, method, compared, stop - start)
        shares = attention(graph, texts, positional, stop - start, method.attend_self)
        factors = graph.add("Mul", shares, shared)
        if "product" in paired:
            others = graph.add("MatMul", factors, positional)
            outputs["product"] = graph.total(graph.add("Mul", positional, others), 1)
        kinds = [part for part in paired if part != "product"]
        outputs |= pairs(graph, positional, factors, kinds, method.kernel)
    for part in method.parts:
        if part not in outputs:
            outputs[part] = single(graph, texts, part, shared)
    return graph.add("Concat", *[outputs[part] for part in method.parts], axis=1)


def positions(graph: Graph, texts: Texts, method: NoPPA, rows: str, dim: int) -> str:
    """Equations 10 and 11: v' of rows (texts, tokens, dim); sines in float64, a cosine as one shifted by a quarter period."""
    if method.position is None:
        return rows
    index = np.arange(dim)
    exponent = 2 * (index // 2) / dim if method.position == "paper" else 2 * index / dim
    place = graph.places(texts, method.unknown_takes_position)
    angle = graph.add("Mul", place, graph.constant(np.power(10000.0, -exponent), np.float64))
    quarter = graph.constant(np.where(index % 2, np.pi / 2, 0), np.float64)
    sines = graph.real(graph.add("Sin", graph.add("Add", angle, quarter)))
    return graph.add("Add", rows, graph.add("Mul", sines, texts.mask))


def attention(graph: Graph, texts: Texts, positional: str, dim: int, attend_self: bool) -> str:
    """Equation 13, (texts, tokens, tokens), with a zero diagonal: every kernel is 0 there."""
    turned = graph.add("Transpose", positional, perm=[0, 2, 1])
    scores = graph.add("MatMul", positional, turned)
    scores = graph.add("Mul", scores, graph.constant(dim**-0.5))
    seen = graph.add("Transpose", texts.mask, perm=[0, 2, 1])
    hidden = graph.add("Mul", graph.add("Sub", graph.constant(1.0), seen), graph.constant(MASKED))
    tokens = graph.add("Gather", graph.add("Shape", scores), graph.numbers(1))
    square = graph.add("Concat", tokens, tokens, axis=0)
    ones = graph.add("Expand", graph.constant(1.0), square)
    same = graph.add("EyeLike", ones)
    if not attend_self:
        hidden = graph.add("Add", hidden, graph.add("Mul", same, graph.constant(MASKED)))
    shares = graph.add("Softmax", graph.add("Sub", scores, hidden), axis=2)
    others = graph.add("Sub", graph.constant(1.0), same)
    return graph.add("Mul", graph.add("Mul", shares, seen), others)


#: Equation 12 and its cheaper variants, of a difference.
KERNELS: dict[str, Callable[[Graph, str], str]] = {
    "log2": lambda graph, x: graph.add(
        "Mul",
        graph.add("Log", graph.add("Add", graph.add("Mul", x, x), graph.constant(1.0))),
        graph.constant(1 / np.log(2)),
    ),
    "abs": lambda graph, x: graph.add("Abs", x),
    "square": lambda graph, x: graph.add("Mul", x, x),
}


def pairs(
    graph: Graph, positional: str, factors: str, kinds: list[str], kernel: str
) -> dict[str, str]:
    """Sums over pairs by `Loop`, which adds token i against all others in iteration i; each (texts, columns)."""
    if not kinds:
        return {}
    helper, real = graph.helper, graph.helper.np_dtype_to_tensor_dtype(np.dtype(np.float32))
    body = Graph(helper, within=graph)
    mine = body.add("Gather", positional, "i", axis=1)
    difference = body.add("Sub", positional, body.add("Unsqueeze", mine, body.numbers(1)))
    values = KERNELS[kernel](body, difference)
    own = body.add("Unsqueeze", body.add("Gather", factors, "i", axis=1), body.numbers(1))
    sums = []
    for kind in kinds:
        each, by = values, own
        if kind == "ordered":
            each = body.add("Mul", values, body.add("Sign", difference))
            tokens = body.add("Gather", body.add("Shape", factors), body.constant(2, np.int64))
            places = body.add(
                "Range", body.constant(0, np.int64), tokens, body.constant(1, np.int64)
            )
            later = body.real(body.add("Sign", body.add("Sub", places, "i")))
            by = body.add("Mul", own, later)
        summed = body.add("Squeeze", body.add("MatMul", by, each), body.numbers(1))
        sums.append(body.add("Add", f"{kind}_before", summed, output=f"{kind}_after"))
    body.add("Identity", "go_on", output="go_on_after")
    truth = helper.np_dtype_to_tensor_dtype(np.dtype(np.bool_))
    whole = helper.np_dtype_to_tensor_dtype(np.dtype(np.int64))
    inputs = [
        helper.make_tensor_value_info("i", whole, []),
        helper.make_tensor_value_info("go_on", truth, []),
        *(helper.make_tensor_value_info(f"{kind}_before", real, None) for kind in kinds),
    ]
    outputs = [
        helper.make_tensor_value_info("go_on_after", truth, []),
        *(helper.make_tensor_value_info(name, real, None) for name in sums),
    ]
    inner = helper.make_graph(body.nodes, "token_i", inputs, outputs)
    tokens = graph.add("Gather", graph.add("Shape", positional), graph.constant(1, np.int64))
    start = graph.add("Mul", graph.total(positional, 1), graph.constant(0.0))
    go_on = graph.constant(np.array(True), None)
    results = [f"sum_{kind}" for kind in kinds]
    graph.nodes.append(
        helper.make_node("Loop", [tokens, go_on, *[start] * len(kinds)], results, body=inner)
    )
    return dict(zip(kinds, results, strict=True))


def single(graph: Graph, texts: Texts, part: str, shared: str) -> str:
    """A part that is no sum over pairs, (texts, dim); `shared` is the weight of each token divided by their number."""
    if part in ("max", "min"):
        sign = 1.0 if part == "max" else -1.0
        away = graph.add(
            "Mul", graph.add("Sub", texts.mask, graph.constant(1.0)), graph.constant(MASKED)
        )
        turned = graph.add("Add", graph.add("Mul", texts.rows, graph.constant(sign)), away)
        most = graph.add("ReduceMax", turned, axes=[1], keepdims=0)
        return graph.add("Mul", most, graph.constant(sign))
    if part == "std":
        count = graph.add("Unsqueeze", texts.count, graph.numbers(2))
        middle = graph.add("Div", graph.total(texts.rows, 1, keep=True), count)
        apart = graph.add("Mul", graph.add("Sub", texts.rows, middle), texts.mask)
        squares = graph.total(graph.add("Mul", apart, apart), 1)
        return graph.add("Sqrt", graph.add("Div", squares, texts.count))
    factors = shared
    if part != "word":
        order = int(part.removeprefix("dct"))
        factors = graph.add("Mul", shared, waves(graph, texts, order, texts.count))
    return graph.add(
        "Squeeze",
        graph.add("MatMul", graph.add("Transpose", factors, perm=[0, 2, 1]), texts.rows),
        graph.numbers(1),
    )


Builder = Callable[[Graph, Texts, Any, WordVectors, Learnt], str]

#: The methods that have a graph of their own; a method that declares itself a mean of words needs none.
GRAPHS: dict[type[Any], Builder] = {
    NoPPA: noppa,
    Average: average,
    SIF: sif,
    USIF: usif,
    TfIdf: tfidf,
    DCT: dct,
    FastSent: fastsent,
    Sent2Vec: sent2vec,
}

"""Pass hostile values to every parameter: the result is finite, or a NoppaError is raised."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import noppa
from noppa import METHODS, plot, refine
from noppa.encoder.encoder import Encoder
from noppa.errors import NoppaError, ParameterError
from noppa.export import export
from noppa.methods import registry
from noppa.methods.k_means import k_means
from noppa.paper import TASKS, Fixed, Row, score

TEXTS = ["a b c", "b c d e", "a d", "c e a b", "e", "d d a"]

HOSTILE: list[Any] = [
    2**62,
    10**5000,
    -1,
    0,
    2,
    1e-320,
    1e308,
    float("nan"),
    float("inf"),
    "false",
    "dct99999999999",
    True,
    None,
    np.float16(0.5),
    np.int64(3),
    np.array([1, 2]),
    np.array(["paper", "word"]),
    Decimal("sNaN"),
    Fraction(1, 3),
    1j,
    [],
    ["word", 3],
    ("dct99999999999",),
    object(),
]


@pytest.fixture(scope="module")
def words() -> noppa.WordVectors:
    rows = np.random.default_rng(0).normal(size=(5, 4))
    return noppa.WordVectors([*"abcde"], rows, [0.3, 0.3, 0.2, 0.1, 0.1])


def _fields(kinds: Any) -> list[Any]:
    return [
        pytest.param(kind, field.name, id=f"{kind.__name__}-{field.name}")
        for kind in kinds
        for field in fields(kind)
    ]


def _small(kind: type[Any]) -> dict[str, Any]:
    """Return parameters that allow a fit on a few words."""
    small = {"k": 2, "h": 1, "m": 1, "components": 1, "buckets": 16, "epochs": 1, "negatives": 2, "a": 0.1}  # fmt: skip
    return {field.name: small[field.name] for field in fields(kind) if field.name in small}


@pytest.mark.filterwarnings("ignore::noppa.errors.NoppaWarning")
@pytest.mark.parametrize(
    ("kind", "name"), _fields([*METHODS.values(), *refine.REFINEMENTS.values()])
)
def test_every_field_of_a_method_and_of_a_refinement(
    words: noppa.WordVectors, kind: type[Any], name: str
) -> None:
    accepted = 0
    for value in (*HOSTILE, getattr(kind(), name)):
        try:
            part = kind(**{**_small(kind), name: value})
            json.dumps(registry.to_dict(part))
            parts = (part,) if isinstance(part, noppa.Method) else (noppa.Average(), part)
            encoder = Encoder(words, *parts).fit(TEXTS, threads=1)
        except NoppaError:
            continue
        vectors = encoder.encode(TEXTS, threads=1)
        assert np.isfinite(vectors).all(), (kind, name, value)
        assert np.isfinite(encoder.explain("a b zzz").vector).all(), (kind, name, value)
        accepted += 1
    assert 0 < accepted <= len(HOSTILE)


def test_vectors_longer_than_any_are_refused_before_anything_is_learnt() -> None:
    words = noppa.WordVectors(["a"], np.ones((1, 1000)))
    with pytest.raises(
        ParameterError,
        match=r"DCT\(k=1000\) makes vectors of 1000000 dimensions from words of 1000",
    ):
        Encoder(words, noppa.DCT(k=1000))
    with pytest.raises(ParameterError, match="at most 32768 are possible"):
        Encoder(words, noppa.DCT(k=100), refine.Whitening(2)).fit(["a"])


def _int8(**options: Any) -> noppa.WordVectors:
    return noppa.WordVectors([*"abc"], np.full((3, 2), 127, np.int8), **options)


@pytest.mark.parametrize(
    "scale", [np.nan, np.inf, -np.inf, 1e15, -1e14, 1e300, 10**400, None, "x", 1j]
)
def test_scales_are_finite_and_keep_values_in_bounds(scale: Any) -> None:
    with pytest.raises(ParameterError, match="scale"):
        _int8(scales=[1.0, scale, 1.0])
    with pytest.raises(ParameterError, match="scale"):
        _int8(scales=[1.0, 1.0, 1.0]).with_scales([1.0, scale, 1.0])


@pytest.mark.parametrize(
    "matrix",
    [
        [[1e300], [1]],
        [[np.nan], [1]],
        [[1j], [1]],
        [["1"], ["2"]],
        [[1], [1, 2]],
        np.float16([[np.inf], [1]]),
        np.ma.masked_array([[1.0], [2.0]], [[1], [0]]),
        np.array([["2020-01-01"], ["2020-01-02"]], "M8[D]"),
    ],
    ids=str,
)
def test_a_matrix_that_holds_no_vectors(matrix: Any) -> None:
    with pytest.raises(ParameterError):
        noppa.WordVectors(["a", "b"], matrix)


@pytest.mark.parametrize(
    "matrix",
    [
        [[Decimal("0.5")], [1]],
        np.array([[0.5], [1]], ">f8"),
        np.float16([[0.5], [1]]),
        np.ma.array([[0.5], [1]]),
    ],
    ids=lambda matrix: type(matrix).__name__,
)
def test_a_matrix_of_any_numbers(matrix: Any) -> None:
    words = noppa.WordVectors(["a", "b"], matrix)
    assert words["a"].tolist() == [0.5]
    assert Encoder(words, noppa.Average()).encode("a b").tolist() == [0.75]


def test_a_folder_loads_in_the_type_asked_for(tmp_path: Any) -> None:
    _int8(scales=[0.5, 1, 2]).save(tmp_path / "words")
    assert noppa.WordVectors.load(tmp_path / "words").matrix.dtype == np.int8
    real = noppa.WordVectors.load(tmp_path / "words", dtype="float32")
    assert (real.matrix.dtype, real.scales) == (np.float32, None)
    assert real["c"].tolist() == [254.0, 254.0]


def test_a_word_with_half_of_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"the word 'a\\ud800' holds half of a surrogate pair"):
        noppa.WordVectors(["?", "a\ud800"], [[1.0], [2.0]])


def test_the_nearest_words_leave_out_the_word_itself_alone() -> None:
    both = noppa.WordVectors(["Cake", "cake", "pie"], [[1.0, 0], [1, 0.1], [0, 1]])
    assert [word for word, _ in both.nearest("Cake")] == ["cake", "pie"]
    assert [word for word, _ in both.nearest("CAKE", 1)] == ["Cake"]
    for count in (0, -1, "2", 1.5, None):
        with pytest.raises(ParameterError, match="n must be a whole number"):
            both.nearest("cake", count)  # type: ignore[arg-type]
    assert len(both.nearest("pie", 10**18)) == 2


@pytest.fixture(scope="module")
def encoder(words: noppa.WordVectors) -> Encoder:
    return Encoder(words, noppa.Average(), refine.Whitening()).fit(TEXTS)


EIGHT_BITS = np.ones((1, 1), np.int8)
IDS, OFFSETS = np.array([0, 1], np.int32), np.array([0, 2])

ROWS = {"all": [Row(("ab"[row % 2],), row % 2) for row in range(40)]}

#: Public calls, by the parameter that gets a hostile value.
CALLS: dict[str, Callable[[noppa.WordVectors, Encoder, Any], Any]] = {
    "encode(texts)": lambda w, e, v: e.encode(v),
    "encode([text])": lambda w, e, v: e.encode([v]),
    "encode(dim)": lambda w, e, v: e.encode("a b", dim=v),
    "encode(threads)": lambda w, e, v: e.encode("a b", threads=v),
    "encode(normalize)": lambda w, e, v: e.encode("a b", normalize=v),
    "encode(on_error)": lambda w, e, v: e.encode(["a b"], on_error=v),
    "encode_tokens(lists)": lambda w, e, v: e.encode_tokens(v),
    "encode_tokens([list])": lambda w, e, v: e.encode_tokens([v]),
    "encode_tokens([[token]])": lambda w, e, v: e.encode_tokens([[v]]),
    "encode_ids(ids)": lambda w, e, v: e.encode_ids(v, OFFSETS)[0],
    "encode_ids(offsets)": lambda w, e, v: e.encode_ids(IDS, v)[0],
    "encode_iter(texts)": lambda w, e, v: list(e.encode_iter(v)),
    "encode_iter(block)": lambda w, e, v: list(e.encode_iter(["a"], block=v)),
    "look_up": lambda w, e, v: e.look_up(v),
    "similarity(a)": lambda w, e, v: e.similarity(v, ["a"]),
    "similarity(b)": lambda w, e, v: e.similarity("a", v),
    "explain": lambda w, e, v: e.explain(v).vector,
    "explain_pair": lambda w, e, v: e.explain_pair("a", v).pairs,
    "fit(texts)": lambda w, e, v: Encoder(w, noppa.SIF()).fit(v),
    "fit(threads)": lambda w, e, v: Encoder(w, noppa.SIF()).fit(TEXTS, v),
    "Encoder(words)": lambda w, e, v: Encoder(v, noppa.Average()),
    "Encoder(method)": lambda w, e, v: Encoder(w, v),
    "Encoder(refine)": lambda w, e, v: Encoder(w, noppa.Average(), v),
    "Encoder([refine])": lambda w, e, v: Encoder(w, noppa.Average(), [v]),
    "Encoder(tokenizer)": lambda w, e, v: Encoder(w, noppa.Average(), None, v),
    "WordVectors(words)": lambda w, e, v: noppa.WordVectors(v, [[1.0]]),
    "WordVectors([word])": lambda w, e, v: noppa.WordVectors([v], [[1.0]]),
    "WordVectors(matrix)": lambda w, e, v: noppa.WordVectors(["a"], v),
    "WordVectors(probabilities)": lambda w, e, v: noppa.WordVectors(["a"], [[1.0]], v),
    "WordVectors([probability])": lambda w, e, v: noppa.WordVectors(["a"], [[1.0]], [v]),
    "WordVectors(scales)": lambda w, e, v: noppa.WordVectors(["a"], EIGHT_BITS, scales=v),
    "WordVectors(unknown)": lambda w, e, v: noppa.WordVectors(["a"], [[1.0]], unknown=v),
    "WordVectors(case)": lambda w, e, v: noppa.WordVectors(["a"], [[1.0]], case=v),
    "WordVectors(pieces)": lambda w, e, v: noppa.WordVectors(
        ["a", "##b"], [[1.0], [2.0]], pieces=v
    ),
    "words[word]": lambda w, e, v: w[v],
    "word in words": lambda w, e, v: v in w,
    "vectors(rows)": lambda w, e, v: w.vectors(v),
    "vectors([row])": lambda w, e, v: w.vectors([v]),
    "columns(start)": lambda w, e, v: w.columns(v, 4),
    "columns(stop)": lambda w, e, v: w.columns(0, v),
    "with_counts(counts)": lambda w, e, v: w.with_counts(v),
    "with_counts({word: count})": lambda w, e, v: w.with_counts({"a": v, "b": 1}),
    "with_counts(missing)": lambda w, e, v: w.with_counts({"a": 1}, missing=v),
    "with_counts(on_error)": lambda w, e, v: w.with_counts("no such file", on_error=v),
    "with_corpus(texts)": lambda w, e, v: w.with_corpus(v),
    "with_corpus(missing)": lambda w, e, v: w.with_corpus(TEXTS, missing=v),
    "coverage(texts)": lambda w, e, v: w.coverage(v),
    "nearest(word)": lambda w, e, v: w.nearest(v),
    "k_means(k)": lambda w, e, v: k_means(np.ones((4, 2)), v),
    "Moments.from_rows": lambda w, e, v: refine.Moments.from_rows(v).total,
    "WordVectors.load(path)": lambda w, e, v: noppa.WordVectors.load(v),
    "load": lambda w, e, v: noppa.load(v),
    "external": lambda w, e, v: noppa.external(v),
    "score(seed)": lambda w, e, v: score(TASKS["MR"], ROWS, Fixed(e, ""), seed=v).score,
    "export(to)": lambda w, e, v: export(e, v, "nowhere"),
    "plot.weights(a)": lambda w, e, v: plot.weights(w, {"x": ["a"]}, [v]),
    "plot.sentence_map(texts)": lambda w, e, v: plot.sentence_map(e, v),
    "plot.contributions(measure)": lambda w, e, v: plot.contributions(e.explain("a"), v),
}


@pytest.mark.filterwarnings("ignore::noppa.errors.NoppaWarning")
@pytest.mark.filterwarnings("ignore:Warning. converting a masked element")
@pytest.mark.parametrize("name", CALLS)
def test_every_parameter_of_a_public_call(
    words: noppa.WordVectors, encoder: Encoder, name: str
) -> None:
    refused = 0
    for value in HOSTILE:
        try:
            found = CALLS[name](words, encoder, value)
        except NoppaError:
            refused += 1
            continue
        if isinstance(found, np.ndarray) and name != "Moments.from_rows":
            assert np.isfinite(found).all(), name
    assert refused or name == "word in words"


@pytest.mark.parametrize(
    "tokenizer", [5, "a", [], object(), lambda text: 3, lambda text: [3], lambda text: text]
)
def test_a_tokenizer_that_is_none(words: noppa.WordVectors, tokenizer: Any) -> None:
    for use in (
        words.with_corpus,
        words.coverage,
        lambda texts, t: Encoder(words, noppa.Average(), None, t).encode(texts),
    ):
        with pytest.raises(NoppaError, match=r"token"):
            use(TEXTS, tokenizer)


class InBytes:
    def __fspath__(self) -> bytes:
        return b"model"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (5, "a path must be a str or a pathlib.Path, not 5"),
        (InBytes(), "a path must be a str or a pathlib.Path, not "),
        ("a\0b", "a null character"),
    ],
    ids=["number", "bytes", "null character"],
)
@pytest.mark.parametrize(
    "use",
    [noppa.load_classifier, noppa.Index.open, lambda path: noppa.load("small").save(path)],
    ids=["load_classifier", "Index.open", "save"],
)
def test_what_is_no_path(use: Any, path: Any, told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        use(path)

"""Hostile parameters of what stands on top of an encoder: evaluation, distillation, pictures, export."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noppa
from noppa import plot
from noppa.distill.teacher import Teacher
from noppa.errors import FileError, NoppaError
from noppa.export import export
from noppa.paper import TASKS, Fixed, Row, score

from .test_hostile_parameters import HOSTILE


@pytest.fixture(scope="module")
def model() -> noppa.Encoder:
    words = noppa.WordVectors(["a", "b"], [[1.0, 2.0], [3.0, 4.0]], [0.5, 0.5])
    return noppa.Encoder(words, noppa.Average())


ROWS = {"all": [Row(("ab"[row % 2],), row % 2) for row in range(40)]}
CALLS: dict[str, Any] = {
    "score(seed)": lambda model, value: score(TASKS["MR"], ROWS, Fixed(model, ""), seed=value),
    "export(to)": lambda model, value: export(model, value, "nowhere"),
    "weights(a)": lambda model, value: plot.weights(model.words, {"x": ["a"]}, [value]),
    "sentence_map(texts)": lambda model, value: plot.sentence_map(model, value),
    "contributions(measure)": lambda model, value: plot.contributions(model.explain("a"), value),
}


@pytest.mark.filterwarnings("ignore::noppa.errors.NoppaWarning")
@pytest.mark.parametrize("name", CALLS)
def test_every_parameter(model: noppa.Encoder, name: str) -> None:
    refused = 0
    for value in HOSTILE:
        try:
            CALLS[name](model, value)
        except NoppaError:
            refused += 1
    assert refused


def test_an_answer_that_is_damaged_is_named(tmp_path: Any) -> None:
    teacher = Teacher("no model", tmp_path)
    path = teacher._file("texts", ["a"])
    path.write_bytes(b"\x93NUMPY nothing")
    with pytest.raises(FileError, match=r"\.npy is damaged .*: delete it"):
        teacher.sentences(["a"])
    np.save(path, np.ones((1, 2), np.float16))
    assert teacher.sentences(["a"]).shape == (1, 2)

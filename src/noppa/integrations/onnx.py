"""ONNX: inputs for models that `noppa.export.export` wrote; noppa's tokenizer turns texts into ids.

>>> import noppa
>>> from noppa.integrations.onnx import padded
>>> padded(*noppa.load().look_up(["a cake", "cake"])).shape
(2, 2)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import Classifier
from noppa.words.texts import texts_of


def padded(ids: NDArray[Any], offsets: NDArray[Any]) -> NDArray[np.int64]:
    """Return the ids of `Encoder.look_up` as the graph takes them, (texts, tokens), padded with -1."""
    lengths = np.diff(offsets)
    table = np.full((len(lengths), max(int(lengths.max(initial=0)), 1)), -1, np.int64)
    table[np.arange(table.shape[1]) < lengths[:, None]] = ids
    return table


def classifier_inputs(classifier: Classifier, texts: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return the inputs of a classifier's graph: `ids` of words, and `ngrams` with their `counts`, padded with -1."""
    features = classifier.contents.features
    items = texts_of(texts)
    inputs: dict[str, NDArray[Any]] = {}
    if features.encoder is not None:
        inputs["ids"] = padded(*features.encoder.look_up(items))
    if features.ngrams is not None:
        rows = features.ngrams.counted(items, features.tokenizer, 1)
        inputs["ngrams"] = padded(rows.ids, rows.offsets)
        counts = np.zeros(inputs["ngrams"].shape, np.float32)
        counts[inputs["ngrams"] >= 0] = rows.values
        inputs["counts"] = counts
    return inputs

"""ONNX: what `noppa export --to onnx` wrote, run with onnxruntime; text becomes ids by our own tokenizer.

>>> import noppa
>>> from noppa.integrations.onnx import padded
>>> padded(*noppa.load().look_up(["a cake", "cake"])).shape
(2, 2)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import Classifier
from noppa.words.texts import texts_of


def padded(ids: NDArray[Any], offsets: NDArray[Any]) -> NDArray[np.int64]:
    """What `Encoder.look_up` gives as the graph takes it: ids (texts, tokens), -1 after the end of a text."""
    lengths = np.diff(offsets)
    table = np.full((len(lengths), max(int(lengths.max(initial=0)), 1)), -1, np.int64)
    table[np.arange(table.shape[1]) < lengths[:, None]] = ids
    return table


def classifier_inputs(classifier: Classifier, texts: Any) -> dict[str, NDArray[Any]]:
    """What the graph of a classifier takes for texts: `ids` of words, and `ngrams` with their `counts`, padded with -1."""
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

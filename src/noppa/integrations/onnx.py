"""ONNX: what `noppa export --to onnx` wrote, run with onnxruntime; text becomes ids by our own tokeniser.

>>> import noppa
>>> from noppa.integrations.onnx import padded
>>> padded(*noppa.load().look_up(["a cake", "cake"])).shape
(2, 2)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def padded(ids: NDArray[Any], offsets: NDArray[Any]) -> NDArray[np.int64]:
    """What `Encoder.look_up` gives as the graph takes it: ids (texts, tokens), -1 after the end of a text."""
    lengths = np.diff(offsets)
    table = np.full((len(lengths), max(int(lengths.max(initial=0)), 1)), -1, np.int64)
    table[np.arange(table.shape[1]) < lengths[:, None]] = ids
    return table

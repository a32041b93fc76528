"""The default preset as a graph of ONNX, run by onnxruntime, beside our own kernels: time and difference.

    python bench/onnx_speed.py SentEval/data

A thousand sentences of SICK on one thread, in batches of several sizes; texts become ids by our look-up in both.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

import noppa
from noppa.export import export
from noppa.integrations.onnx import padded
from noppa.paper import TASKS
from noppa.paper.results import surroundings
from noppa.paper.task_files import read

RESULTS = Path(__file__).parent / "results" / "onnx.jsonl"
TEXTS, BATCHES, TIMES = 1000, (1, 8, 32), 5


def least(call: Callable[[], NDArray[np.float32]]) -> tuple[float, NDArray[np.float32]]:
    """Seconds of CPU of the quickest of several runs, and what it gave."""
    seconds = []
    for _ in range(TIMES):
        begun = time.process_time()
        rows = call()
        seconds.append(time.process_time() - begun)
    return round(min(seconds), 4), rows


def main() -> None:
    rows = read(Path(sys.argv[1]), TASKS["SICK-R"])["test"]
    texts = [row.texts[0] for row in rows[:TEXTS]]
    model = noppa.load()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        export(model, "onnx", path)
        size = path.stat().st_size
        session = onnxruntime.InferenceSession(str(path), options)

    def run(batch: int) -> NDArray[np.float32]:
        starts = range(0, len(texts), batch)
        ids = (padded(*model.look_up(texts[at : at + batch], 1)) for at in starts)
        return np.concatenate([session.run(None, {"ids": some})[0] for some in ids])

    own, expected = least(lambda: model.encode(texts, threads=1))
    seconds, difference = {}, 0.0
    for batch in BATCHES:
        seconds[batch], vectors = least(lambda batch=batch: run(batch))
        difference = max(difference, float(np.abs(vectors - expected).max()))
    record = {
        "texts": TEXTS,
        "noppa_seconds": own,
        "onnxruntime_seconds": seconds,
        "largest_difference": difference,
        "file_bytes": size,
        "onnxruntime": onnxruntime.__version__,
        **surroundings(),
    }
    print(record)
    RESULTS.write_text(json.dumps(record) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""One model in a fresh process: what its start costs, the memory that it takes, and its speed. bench/embedded_model.py runs it.

    python bench/embedded_process.py KIND ARGUMENT TEXTS

Nothing but the standard library is imported before the clock starts, so that a cold start is the model's own.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Encode = Callable[[list[str]], Any]

TIMES, THREADS = 4, 2


def noppa_preset(preset: str) -> Encode:
    import noppa

    encoder = noppa.load(preset)
    return lambda texts: encoder.encode(texts, threads=THREADS)


def word_llama(_: str) -> Encode:
    """As bench/word_llama.py loads it, without noppa."""
    import wordllama

    inside = Path(wordllama.__file__).parent  # a cache folder that already has the weights
    return wordllama.WordLlama.load(cache_dir=inside, disable_download=True).embed  # type: ignore[no-any-return]


def averaged(data: str) -> Encode:
    """model2vec over word2vec's 300 dimensions."""
    from corpora import word2vec
    from speed import static_model

    model = static_model(word2vec(Path(data)))
    return lambda texts: model.encode(texts, use_multiprocessing=False)


def averaged_by_processes(data: str) -> Encode:
    from corpora import word2vec
    from speed import static_model

    return static_model(word2vec(Path(data))).encode  # type: ignore[no-any-return]


def transformer(folder: str) -> Encode:
    """A sentence transformer as an ONNX graph, one session a thread."""
    from concurrent.futures import ThreadPoolExecutor

    from noppa.distill.onnx_model import OnnxModel

    sessions = [OnnxModel(Path(folder)) for _ in range(THREADS)]
    pool = ThreadPoolExecutor(THREADS)

    def encode(texts: list[str]) -> list[Any]:
        parts = [texts[at::THREADS] for at in range(THREADS)]
        run = [pool.submit(each.sentences, part) for each, part in zip(sessions, parts) if part]  # noqa: B905
        return [each.result() for each in run]

    return encode


KINDS = {
    "noppa": noppa_preset,
    "wordllama": word_llama,
    "model2vec": averaged,
    "model2vec processes": averaged_by_processes,
    "transformer": transformer,
}


def resident() -> int:
    """Bytes of memory that the process has now, mapped files included."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    (line,) = (line for line in lines if line.startswith("VmRSS:"))
    return 1024 * int(line.split()[1])


def measured(kind: str, argument: str, file: str) -> dict[str, float]:
    start = time.process_time()
    encode = KINDS[kind](argument)
    encode(["a girl eats cake"])
    figures = {"cold_start": time.process_time() - start, "memory_first": resident()}
    texts = Path(file).read_text(encoding="utf-8").splitlines()
    clock, cpu = [], []
    for _ in range(TIMES):
        begin = time.perf_counter(), time.process_time()
        encode(texts)
        clock.append(time.perf_counter() - begin[0])
        cpu.append(time.process_time() - begin[1])
    each = {"seconds": min(clock) / len(texts), "cpu_seconds": min(cpu) / len(texts)}
    return figures | each | {"memory_after": resident()}


if __name__ == "__main__":
    print(json.dumps(measured(*sys.argv[1:])))

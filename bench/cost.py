"""Measure cold start, memory, size and speed of the presets, model2vec, WordLlama and MiniLM.

    pip install model2vec wordllama onnxruntime tokenizers && pip download --no-deps wordllama
    python bench/cost.py --wheel noppa-*.whl --wordllama wordllama-*.whl --minilm FOLDER -o bench/results/cost.jsonl

Each model runs in its own processes, in turns. Cold start (import, load, first vector) and memory are medians; speed on SICK is the best of
all rounds. `ratio` and `cpu_ratio` are speeds relative to model2vec.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

Encode = Callable[[list[str]], Any]
ROUNDS, TIMES, THREADS = 5, 4, 2
#: Texts for a transformer, which is slow.
FEW = 256


class Model(NamedTuple):
    name: str
    kind: str
    argument: str
    size: int | None = None


# Inside the process of one model. Only the standard library is imported before the clock starts.


def load_preset(preset: str) -> Encode:
    import noppa

    encoder = noppa.load(preset)
    return lambda texts: encoder.encode(texts, threads=THREADS)


def load_wordllama(_: str) -> Encode:
    import wordllama

    package = Path(wordllama.__file__).parent  # contains the weights
    return wordllama.WordLlama.load(cache_dir=package, disable_download=True).embed  # type: ignore[no-any-return]


def load_model2vec(data: str) -> Encode:
    from runner import static_model, vectors

    model = static_model(vectors(Path(data)))
    return lambda texts: model.encode(texts, use_multiprocessing=False)


def load_transformer(folder: str) -> Encode:
    """Load a sentence transformer as an ONNX graph, one session per thread."""
    from concurrent.futures import ThreadPoolExecutor

    from noppa.distill.teacher import OnnxModel

    sessions = [OnnxModel(Path(folder)) for _ in range(THREADS)]
    pool = ThreadPoolExecutor(THREADS)

    def encode(texts: list[str]) -> list[Any]:
        parts = [texts[at::THREADS] for at in range(THREADS)]
        runs = [
            pool.submit(s.sentences, part) for s, part in zip(sessions, parts, strict=True) if part
        ]
        return [run.result() for run in runs]

    return encode


LOADERS = {
    "noppa": load_preset,
    "wordllama": load_wordllama,
    "model2vec": load_model2vec,
    "transformer": load_transformer,
}


def measure(kind: str, argument: str, file: str) -> dict[str, float]:
    """Measure one model in this process."""
    start = time.process_time()
    encode = LOADERS[kind](argument)
    encode(["a girl eats cake"])
    cold_start = time.process_time() - start
    from runner import memory, timed

    first = memory()
    texts = Path(file).read_text(encoding="utf-8").splitlines()
    clock, cpu = zip(*(timed(lambda: encode(texts)) for _ in range(TIMES)), strict=True)
    return {
        "cold_start": cold_start,
        "memory_first": first * 2**20,
        "seconds": min(clock) / len(texts),
        "cpu_seconds": min(cpu) / len(texts),
        "memory_after": memory() * 2**20,
    }


# The driver


def saved_size(preset: str) -> int:
    """Return the bytes of a preset that is saved alone."""
    import noppa

    with tempfile.TemporaryDirectory() as folder:
        noppa.load(preset).save(Path(folder, "saved"))
        return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def main() -> None:
    from runner import arguments, record, sick

    import noppa
    from noppa.paper.records import surroundings

    parser = arguments(__doc__)
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("--wordllama", type=Path, required=True, help="its wheel, for its size")
    parser.add_argument("--minilm", type=Path, required=True, help="folder of the ONNX graph")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    wheel = options.wheel.stat().st_size
    graph = (options.minilm / "onnx" / "model.onnx").stat().st_size
    presets = [Model(name, "noppa", name, wheel) for name in ("default", "similarity", "small")]
    models = [
        Model("model2vec", "model2vec", str(options.data)),
        *presets,
        Model("WordLlama 256", "wordllama", "", options.wordllama.stat().st_size),
        Model("all-MiniLM-L6-v2", "transformer", str(options.minilm), graph),
    ]
    runs: dict[Model, list[dict[str, float]]] = {model: [] for model in models}
    with tempfile.TemporaryDirectory() as folder:
        texts = sick(options.data)
        for name, part in (("all", texts), ("few", texts[:: len(texts) // FEW])):
            Path(folder, name).write_text("\n".join(part) + "\n", encoding="utf-8")
        for _ in range(ROUNDS):
            for model in models:
                file = Path(folder, "few" if model.kind == "transformer" else "all")
                command = [
                    sys.executable,
                    __file__,
                    "--inside",
                    model.kind,
                    model.argument,
                    str(file),
                ]
                runs[model].append(json.loads(subprocess.check_output(command)))
    figures = {
        model: {
            key: (min if key.endswith("seconds") else median)(run[key] for run in own)
            for key in own[0]
        }
        for model, own in runs.items()
    }
    peer = figures[models[0]]
    for model, own in figures.items():
        row = {
            "model": model.name,
            "edition": model.kind == "noppa" or None,
            "bytes": model.size,
            **own,
        }
        row |= {
            "ratio": peer["seconds"] / own["seconds"],
            "cpu_ratio": peer["cpu_seconds"] / own["cpu_seconds"],
        }
        if model in presets:
            row |= {"saved_bytes": saved_size(model.name), "dim": noppa.load(model.name).dim}
        record(options.output, row | surroundings(), 12)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        print(json.dumps(measure(*sys.argv[2:])))
    else:
        main()

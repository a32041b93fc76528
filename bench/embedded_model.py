"""What the embedded model costs, edition against edition: bytes, cold start, memory, and speed on SICK beside model2vec.

    pip install model2vec wordllama onnxruntime tokenizers
    pip download --no-deps wordllama
    python bench/embedded_model.py --first FIRST.whl --second SECOND.whl --wordllama WORDLLAMA.whl --minilm FOLDER \\
        -o bench/results/embedded.jsonl

Every model runs in processes of its own, each edition from its own wheel, in turns, so that a busy machine is busy for
all. Cold start (import, load, first vector) is the median of CPU seconds, speed the best by the clock on two threads, and
`ratio` against the faster way of model2vec to average 300 dimensions. `cpu_ratio` compares CPU time, which other work
on the machine changes less.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from corpora import arguments, sick

import noppa
from noppa.paper import records

ROUNDS = 5
#: Texts of a transformer, which is slow.
FEW = 256


@dataclass(frozen=True)
class Model:
    """A row: how a process runs it (`embedded_process.KINDS`), the edition whose wheel it imports, its bytes on disk."""

    name: str
    kind: str
    argument: str
    edition: str = "second"
    size: int | None = None


def size_of(path: Path) -> int:
    files = [path] if path.is_file() else [*path.rglob("*")]
    return sum(file.stat().st_size for file in files if file.is_file())


def saved_size(preset: str) -> int:
    """Bytes of a preset saved on its own, as a program would ship it."""
    with tempfile.TemporaryDirectory() as folder:
        noppa.load(preset).save(Path(folder, "saved"))
        return size_of(Path(folder, "saved"))


def run(model: Model, wheels: Path, texts: Path) -> dict[str, float]:
    """One process of a model."""
    paths = [str(wheels / model.edition), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"}
    program = Path(__file__).with_name("embedded_process.py")
    command = [sys.executable, str(program), model.kind, model.argument, str(texts)]
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return {name: float(value) for name, value in json.loads(output.stdout).items()}


def summary(runs: list[dict[str, float]]) -> dict[str, float]:
    """Of the rounds: the best time, and the median of the rest."""
    columns = {name: [each[name] for each in runs] for name in runs[0]}
    best = {"seconds", "cpu_seconds"}
    return {name: (min if name in best else median)(column) for name, column in columns.items()}


def write(output: Path, runs: dict[Model, list[dict[str, float]]], about: records.Record) -> None:
    """Append a row for each model."""
    figures = {model: summary(each) for model, each in runs.items()}
    peers = [figures[model] for model in runs if model.kind.startswith("model2vec")]
    fastest = min(peer["seconds"] for peer in peers)
    for model, each in figures.items():
        row = {"model": model.name, "edition": model.edition if model.kind == "noppa" else None}
        row |= {"bytes": model.size, **each, "ratio": fastest / each["seconds"]}
        if row["edition"] == "second":
            row |= {"saved_bytes": saved_size(model.name), "dim": noppa.load(model.name).dim}
        # CPU time of other processes is not counted.
        row["cpu_ratio"] = peers[0]["cpu_seconds"] / each["cpu_seconds"]
        records.append(output, row | about)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--first", type=Path, required=True, help="the first edition's wheel")
    parser.add_argument("--second", type=Path, required=True, help="the wheel of today")
    parser.add_argument("--wordllama", type=Path, required=True, help="its wheel, for its size")
    parser.add_argument("--minilm", type=Path, required=True, help="folder of the ONNX graph")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    about = records.surroundings()  # first: it fails where noppa is not installed
    sizes = {"first": size_of(options.first), "second": size_of(options.second)}
    presets = (("first", "default"), ("first", "similarity"))
    presets += (("second", "default"), ("second", "similarity"), ("second", "small"))
    minilm = size_of(options.minilm / "onnx" / "model.onnx")
    models = [
        Model("model2vec", "model2vec", str(options.data)),
        Model("model2vec, its processes", "model2vec processes", str(options.data)),
        *(Model(name, "noppa", name, edition, sizes[edition]) for edition, name in presets),
        Model("WordLlama 256", "wordllama", "", size=size_of(options.wordllama)),
        Model("all-MiniLM-L6-v2", "transformer", str(options.minilm), size=minilm),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for edition in sizes:
            zipfile.ZipFile(getattr(options, edition)).extractall(Path(folder, edition))
        texts = sick(options.data)
        for name, part in (("all", texts), ("few", texts[:: len(texts) // FEW])):
            Path(folder, name).write_text("\n".join(part) + "\n", encoding="utf-8")
        runs: dict[Model, list[dict[str, float]]] = {model: [] for model in models}
        for _ in range(ROUNDS):
            for model in models:
                few = model.kind == "transformer"
                runs[model].append(run(model, Path(folder), Path(folder, "few" if few else "all")))
                print(model.edition, model.name, runs[model][-1], flush=True)
    write(options.output, runs, about)


if __name__ == "__main__":
    main()

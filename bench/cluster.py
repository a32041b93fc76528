"""Measure Dask and Spark against one process: time, CPU seconds, and whether the bytes are the same.

    python bench/cluster.py [--sentences 5000000] [--preset similarity]

The sentences are those of the eight tasks and STS-B in the shared data (`--data`), repeated with one word replaced each
time. One JSON record per run goes to bench/results/cluster.jsonl.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import count, islice
from pathlib import Path
from threading import Event, Thread

import numpy as np
import psutil
from corpora import ROOT, arguments

import noppa
from noppa.files import Input, Job
from noppa.integrations.cluster import run_parts
from noppa.paper import records
from noppa.paper import tasks as files
from noppa.paper.tasks import CLASSIFICATION, TASKS

RESULTS = ROOT / "bench" / "results" / "cluster.jsonl"
FILES = 16


def sentences(data: Path) -> Iterator[str]:
    """Yield every sentence of the shared tasks, again and again; from the second round with one word replaced."""
    texts = [
        text.replace("\n", " ")
        for task in dict.fromkeys((*CLASSIFICATION, "STS-B"))
        for rows in files.read(data / "senteval", TASKS[task]).values()
        for row in rows
        for text in row.texts
    ]
    words = sorted({word for text in texts for word in text.split(" ")})
    random = np.random.default_rng(0)
    yield from texts
    for _ in count():
        drawn, places = random.integers(len(words), size=len(texts)), random.random(len(texts))
        for text, word, place in zip(texts, drawn.tolist(), places.tolist(), strict=True):
            tokens = text.split(" ")
            tokens[int(place * len(tokens))] = words[word]
            yield " ".join(tokens)


def write_corpus(folder: Path, data: Path, total: int) -> list[str]:
    """Write the sentences to files; return their paths."""
    folder.mkdir()
    texts = islice(sentences(data), total)
    paths = [folder / f"{number:02d}.txt" for number in range(FILES)]
    for number, path in enumerate(paths):
        size = total * (number + 1) // FILES - total * number // FILES
        with path.open("w", encoding="utf-8", newline="") as file:
            file.writelines(f"{text}\n" for text in islice(texts, size))
    return [str(path) for path in paths]


class Meter(Thread):
    """Measure the CPU seconds of this process and its descendants; of ended ones, what was last seen."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seen: dict[int, float] = {}
        self.over = Event()

    def run(self) -> None:
        while not self.over.wait(0.2):
            self.look()

    def look(self) -> None:
        this = psutil.Process()
        for process in [this, *this.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                used = process.cpu_times()
                self.seen[process.pid] = used.user + used.system

    def __enter__(self) -> Meter:
        self.look()
        self.first = self.seen[os.getpid()]
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.look()
        self.over.set()
        self.join()
        self.seconds = sum(self.seen.values()) - self.first


def digest_of(folder: Path) -> str:
    """Return the checksum of all parts, in order."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("part-*.parquet")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sentences", type=int, default=5_000_000)
    parser.add_argument("--preset", default="similarity")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    make_job = partial(Job, noppa.load(options.preset), threads=1)
    with tempfile.TemporaryDirectory() as temporary:
        paths = write_corpus(Path(temporary, "in"), options.data, options.sentences)
        expected = ""
        for engine in ("single", "dask", "spark"):
            folder = Path(temporary, engine)
            folder.mkdir()
            start = time.perf_counter()
            with Meter() as meter:
                if engine == "single":
                    for number, path in enumerate(paths):
                        target = folder / f"part-{number:05d}.parquet"
                        make_job(source=Input([path]), target=str(target)).run()
                else:
                    run_parts(make_job, Input(paths), folder, engine=engine)
            seconds = time.perf_counter() - start
            expected = expected or digest_of(folder)
            record = {
                "figure": "encode",
                "engine": engine,
                "workers": 1 if engine == "single" else os.cpu_count(),
                "seconds": round(seconds, 2),
                "cpu_seconds": round(meter.seconds, 2),
                "rows": options.sentences,
                "byte_identical": digest_of(folder) == expected,
                "preset": options.preset,
                "machine": records.machine(),
                "commit": records.commit(),
            }
            print(record, flush=True)
            with options.output.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()

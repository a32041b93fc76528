"""Many sentences on Dask and on Spark against one process: the same bytes, the time, and what the engines cost.

    python bench/cluster.py [--sentences 5000000] [--preset similarity] [--workers 2]

The sentences are those of the eight tasks and STS-B in the shared data (`--data`), again and again, each time with
another word in the place of one of theirs. One record of JSON a figure goes to bench/results/cluster.jsonl; the output is
removed as soon as it has been compared.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from itertools import count, islice
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import psutil
import pyarrow.parquet as parquet
from corpora import ROOT, arguments

import noppa
from noppa import cluster
from noppa.cluster import ENGINES
from noppa.paper import records
from noppa.paper import tasks as files
from noppa.paper.tasks import CLASSIFICATION, TASKS

RESULTS = ROOT / "bench" / "results" / "cluster.jsonl"
FILES = 8
NOTHING = 1000


def sentences(data: Path) -> Iterator[str]:
    """Every sentence of the shared tasks, for ever, from the second round on with one word changed."""
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


def write_corpus(folder: Path, data: Path, total: int) -> str:
    """The sentences in files, and the checksum of them all."""
    folder.mkdir()
    every = islice(sentences(data), total)
    digest = hashlib.sha256()
    for at in range(FILES):
        size = total * (at + 1) // FILES - total * at // FILES
        with (folder / f"{at}.txt").open("w", encoding="utf-8", newline="") as file:
            for text in islice(every, size):
                line = text + "\n"
                digest.update(line.encode())
                file.write(line)
    return digest.hexdigest()


def lines_of(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("*.txt")):
        with path.open(encoding="utf-8", newline="\n") as file:
            yield from (line.removesuffix("\n") for line in file)


class Meter(Thread):
    """Processor seconds of this process and of all that it starts, the ended ones as they were last seen."""

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


def encoder_alone(folder: Path, preset: str) -> tuple[str, dict[str, Any]]:
    """The checksum of all vectors from the library on one thread, and the time that it took without any file."""
    model, digest, rows = noppa.load(preset), hashlib.sha256(), 0
    texts = lines_of(folder)
    wall = cpu = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while block := list(islice(texts, 1 << 16)):
            start, before = time.perf_counter(), time.process_time()
            vectors = model.encode(block, 1)
            wall, cpu = wall + time.perf_counter() - start, cpu + time.process_time() - before
            digest.update(vectors)
            rows += len(vectors)
    return digest.hexdigest(), {"seconds": wall, "cpu_seconds": cpu, "rows": rows}


def digest_of(output: Path) -> tuple[str, str, int]:
    """The checksums of all vectors and of all texts of the parts, in order, and how many rows there are."""
    vectors, texts, rows = hashlib.sha256(), hashlib.sha256(), 0
    for part in sorted(output.glob("part-*.parquet")):
        for batch in parquet.ParquetFile(part).iter_batches(1 << 15):
            vectors.update(np.asarray(batch.column("embedding").flatten()))
            for text in batch.column("text").to_pylist():
                texts.update(f"{text}\n".encode())
            rows += batch.num_rows
    return vectors.hexdigest(), texts.hexdigest(), rows


class Nothing:
    """A job that does nothing: what is left is the engine."""

    def run(self, shard: int) -> dict[str, int]:
        return {"number": shard}


def engine_alone(engine: str, workers: int) -> dict[str, float]:
    """Seconds to start an engine and to end it, and tasks a second that it can hand out and collect."""
    start = time.perf_counter()
    with ENGINES[engine](None, workers) as run:
        list(run(Nothing(), list(range(workers)), lambda: None))
        ready = time.perf_counter()
        assert len(list(run(Nothing(), list(range(NOTHING)), lambda: None))) == NOTHING
        done = time.perf_counter()
    return {"start_s": ready - start, "tasks_per_s": NOTHING / (done - ready), "stop_s": time.perf_counter() - done}  # fmt: skip


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sentences", type=int, default=5_000_000)
    parser.add_argument("--preset", default="similarity")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--megabytes", type=float, default=2, help="of text of a shard")
    parser.add_argument("--engines", nargs="+", default=["single", "dask", "spark"])
    parser.add_argument(
        "--folder", type=Path, help="where the files go; a temporary one where not given"
    )
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    facts = {
        "sentences": options.sentences, "preset": options.preset, "dim": noppa.load(options.preset).dim,
        "machine": records.machine(), "commit": records.commit(),
    }  # fmt: skip

    def tell(**figure: Any) -> None:
        record = {**figure, **facts, "load": round(os.getloadavg()[0], 1)}
        record = {k: round(v, 4) if isinstance(v, float) else v for k, v in record.items()}
        print({k: v for k, v in record.items() if "shard_" not in k}, flush=True)
        with options.output.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        source, output = Path(temporary, "in"), Path(temporary, "out")
        for engine in options.engines:
            if engine != "single":
                tell(figure="engine alone", engine=engine, workers=options.workers, **engine_alone(engine, options.workers))  # fmt: skip
        texts = write_corpus(source, options.data, options.sentences)
        size = sum(path.stat().st_size for path in source.iterdir())
        vectors, alone = encoder_alone(source, options.preset)
        tell(figure="encoder alone", input_bytes=size, **alone)
        for engine in options.engines:
            workers = 1 if engine == "single" else options.workers
            start = time.perf_counter()
            with Meter() as meter:
                report = cluster.encode(
                    source, output, options.preset, engine=engine,
                    workers=None if engine == "single" else workers,
                    shard_size=int(options.megabytes * (1 << 20)),
                )  # fmt: skip
            seconds = time.perf_counter() - start
            shards = json.loads((output / "_noppa" / "finished.json").read_text())["shards"]
            digests = digest_of(output)
            tell(
                figure="encode", engine=engine, workers=workers, seconds=seconds, cpu_seconds=meter.seconds,
                busy_seconds=sum(shard["seconds"] for shard in shards),
                busy_cpu_seconds=sum(shard["cpu_seconds"] for shard in shards),
                shards=report.shards, rows=report.rows, input_bytes=size, output_bytes=report.bytes,
                byte_identical=digests == (vectors, texts, options.sentences),
                shard_seconds=[shard["seconds"] for shard in shards],
                shard_cpu_seconds=[shard["cpu_seconds"] for shard in shards],
            )  # fmt: skip
            shutil.rmtree(output)


if __name__ == "__main__":
    main()

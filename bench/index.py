"""One million texts: build, add, search and memory of an index, beside usearch and LanceDB on the same vectors in one run.

python bench/index.py > bench/results/index.jsonl    # needs pip install usearch lancedb, 8 GB of disk and 15 minutes of two cores

Each part runs in a process of its own, so that its largest memory is its own; all get the same vectors, float32 in one file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from corpora import arguments, sst
from measure import tell

import noppa

#: Queries of each kind, ranks that recall counts, and texts that are added and deleted at the end.
QUERIES, RANKS, ADDED = 200, 10, 1000
BLOCK = 1 << 16


def texts_of(data: Path, count: int) -> list[str]:
    """Sentences of the shared texts; where they do not suffice, two of them joined."""
    lines: list[str] = []
    for name in ("neutral", "captions"):
        path = data / "text" / f"{name}.en.txt"
        lines += path.read_text(encoding="utf-8").splitlines()
    single = len(lines)
    more = islice(cycle(range(single - 1)), max(0, count - single))
    return [*lines[:count], *(f"{lines[at]} {lines[at + 1]}" for at in more)]


def prepare(work: Path, data: Path, count: int) -> dict[str, Any]:
    """Encode the texts and the queries, which are phrases of film reviews that the index does not hold."""
    texts, queries = texts_of(data, count), sst(data)[: 40 * QUERIES : 40]
    encoder = noppa.load("similarity")
    start = time.perf_counter()
    vectors = encoder.encode(texts, normalize=True)
    seconds = time.perf_counter() - start
    np.save(work / "vectors.npy", vectors)
    np.save(work / "queries.npy", encoder.encode(queries, normalize=True))
    (work / "texts.json").write_text(json.dumps({"texts": texts, "queries": queries}))
    return {"texts": count, "dim": encoder.dim, "encode seconds": seconds}


def timed(
    facts: dict[str, Any], name: str, run: Callable[[Any], list[Any]], queries: Any
) -> list[list[Any]]:
    """Note the median milliseconds of one query after the first, by the clock and of processor time; gives what all found."""
    found, seconds, processor = [], [], []
    for query in queries:
        start, used = time.perf_counter(), time.process_time()
        found.append(run(query))
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
    facts[f"{name} ms"] = 1000 * median(seconds[1:])
    facts[f"{name} CPU ms"] = 1000 * median(processor[1:])
    return found


class Building:
    """Notes the seconds, by the clock and of processor time, and the growth of memory of what it surrounds."""

    def __init__(self, facts: dict[str, Any], name: str = "build") -> None:
        self.facts, self.name = facts, name

    def __enter__(self) -> None:
        self.start, self.used, self.memory = time.perf_counter(), time.process_time(), peak()

    def __exit__(self, *_: object) -> None:
        self.facts[f"{self.name} seconds"] = time.perf_counter() - self.start
        self.facts[f"{self.name} CPU seconds"] = time.process_time() - self.used
        self.facts[f"{self.name} MB"] = peak() - self.memory


def recall(found: list[list[Any]], exact: list[list[Any]]) -> float:
    shared = [len({*map(int, a)} & {*map(int, b)}) for a, b in zip(found, exact, strict=True)]
    return float(np.mean(shared)) / RANKS


def peak() -> float:
    """The largest memory of this process so far, in MB; getrusage would count that of the parent too."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024


def noppa_part(work: Path, dtype: str) -> dict[str, Any]:
    content = json.loads((work / "texts.json").read_text())
    texts, queries = content["texts"], content["queries"]
    vectors = np.load(work / "vectors.npy", mmap_mode="r")
    facts: dict[str, Any] = {}
    with Building(facts):
        index = noppa.Index.open(work / f"index-{dtype}", dtype=dtype)
        for at in range(0, len(texts), BLOCK):
            some = slice(at, at + BLOCK)
            years = [{"year": 2000 + row % 25} for row in range(len(texts[some]))]
            index.add(texts[some], metadata=years, vectors=vectors[some])
        index.compact()
    facts["disk MB"] = index.described()["bytes"] / 2**20
    start = time.perf_counter()
    index = noppa.Index.open(work / f"index-{dtype}")
    facts["open ms"] = 1000 * (time.perf_counter() - start)
    modes: dict[str, dict[str, Any]] = {
        "exact": {"mode": "meaning", "exact": True},
        "cells": {"mode": "meaning"},
        "words": {"mode": "words"},
        "hybrid": {},
        "hybrid exact": {"exact": True},
        "where": {"where": {"year": {">": 2020}}},
    }
    found: dict[str, list[list[Any]]] = {}
    for name, options in modes.items():
        ask = lambda query, options=options: index.search(query, RANKS, **options).ids  # noqa: E731
        found[name] = timed(facts, name, ask, queries)
    facts["cells recall"] = recall(found["cells"], found["exact"])
    facts["hybrid recall"] = recall(found["hybrid"], found["hybrid exact"])
    with Building(facts, "add"):
        ids = index.add([f"{text} again" for text in texts[:ADDED]])
    with Building(facts, "delete"):
        index.delete(ids)
    np.save(work / "exact.npy", np.array(found["exact"], np.int64))
    return facts


def usearch_part(work: Path, dtype: str) -> dict[str, Any]:
    """With less work a row than its defaults ask for, which build twice as long here."""
    from usearch.index import Index, MetricKind, search

    vectors = np.load(work / "vectors.npy", mmap_mode="r")
    queries, exact = np.load(work / "queries.npy"), np.load(work / "exact.npy").tolist()
    facts: dict[str, Any] = {}
    settings = {"connectivity": 16, "expansion_add": 48, "expansion_search": 96}
    graph = Index(ndim=vectors.shape[1], metric="ip", dtype=dtype, **settings)
    with Building(facts):
        graph.add(np.arange(len(vectors)), vectors)
    graph.save(str(work / "graph"))
    facts["disk MB"] = (work / "graph").stat().st_size / 2**20
    found = timed(facts, "cells", lambda query: graph.search(query, RANKS).keys.tolist(), queries)
    facts["cells recall"] = recall(found, exact)
    every = np.ascontiguousarray(vectors)
    exactly = lambda query: (  # noqa: E731
        search(every, query, RANKS, MetricKind.IP, exact=True).keys.tolist()
    )
    timed(facts, "exact", exactly, queries[:20])
    with Building(facts, "add"):
        graph.add(np.arange(len(vectors), len(vectors) + ADDED), vectors[:ADDED])
    return facts


def lancedb_part(work: Path, _: str) -> dict[str, Any]:
    import lancedb
    import pyarrow as pa

    vectors = np.load(work / "vectors.npy", mmap_mode="r")
    queries, exact = np.load(work / "queries.npy"), np.load(work / "exact.npy").tolist()
    content = json.loads((work / "texts.json").read_text())["texts"]
    facts: dict[str, Any] = {}

    def batch(at: int) -> Any:
        stop = min(at + BLOCK, len(content))
        flat = pa.array(np.ascontiguousarray(vectors[at:stop]).ravel())
        rows = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
        return pa.table({"id": np.arange(at, stop), "text": content[at:stop], "vector": rows})

    with Building(facts):
        table = lancedb.connect(work / "lance").create_table("texts", batch(0))
        for at in range(BLOCK, len(content), BLOCK):
            table.add(batch(at))
        table.create_index(metric="dot", vector_column_name="vector", index_type="IVF_PQ")
    files = [file for file in (work / "lance").rglob("*") if file.is_file()]
    facts["disk MB"] = sum(file.stat().st_size for file in files) / 2**20
    exactly = lambda query: _ids(table.search(query).bypass_vector_index())  # noqa: E731
    timed(facts, "exact", exactly, queries[:20])
    ask = lambda query: _ids(table.search(query).nprobes(60).refine_factor(30))  # noqa: E731
    facts["cells recall"] = recall(timed(facts, "cells", ask, queries), exact)
    with Building(facts, "add"):
        table.add(batch(0).slice(0, ADDED))
    return facts


def _ids(search: Any) -> list[int]:
    found = search.distance_type("dot").limit(RANKS).select(["id", "_distance"]).to_arrow()
    return list(found["id"].to_pylist())


PARTS: dict[str, tuple[Callable[[Path, str], dict[str, Any]], str]] = {
    "noppa float16": (noppa_part, "float16"),
    "lancedb": (lancedb_part, ""),
    "usearch": (usearch_part, "f16"),
    "noppa int8": (noppa_part, "int8"),
}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--parts", nargs="+", default=list(PARTS))
    parser.add_argument(
        "--work", type=Path, help=f"run one part in this folder: {', '.join(PARTS)}"
    )
    given = parser.parse_args()
    warnings.simplefilter("ignore", noppa.NoppaWarning)
    if given.work:
        run, option = PARTS[given.parts[0]]
        return tell(3, part=given.parts[0], **run(given.work, option), load=os.getloadavg()[2])
    with tempfile.TemporaryDirectory(prefix="noppa-index-") as work:
        tell(3, **prepare(Path(work), given.data, given.count))
        for part in given.parts:
            subprocess.run([sys.executable, __file__, "--parts", part, "--work", work], check=True)


if __name__ == "__main__":
    main()

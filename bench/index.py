"""Compare build, search, memory and recall of an index of a million texts with usearch and LanceDB on the same vectors.

    pip install usearch lancedb
    python bench/index.py --work DIR -o bench/results/index.jsonl     # 8 GB in DIR, 20 minutes on two cores; resumes

Each index is built and measured in its own process. Settings that affect recall are selected on three quarters of the queries, the first
that reaches WANTED; the reported figures come from the other queries.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import cycle, islice, pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from runner import Row, arguments, english, memory, record, sst, timed

import noppa

#: Reported queries, ranks that recall counts, the wanted recall, and texts that are added at the end.
QUERIES, RANKS, WANTED, ADDED = 200, 10, 0.95, 1000
#: Queries before the first timed one; they bring files into memory.
WARM = 5
BLOCK = 1 << 16


def prepare(work: Path, data: Path, count: int) -> None:
    """Encode texts and queries; the queries are phrases of film reviews, which the index does not contain."""
    lines = english(data)
    joined = (f"{a} {b}" for a, b in pairwise(cycle(lines)))
    texts = [*lines[:count], *islice(joined, max(0, count - len(lines)))]
    queries = sst(data)[: 80 * QUERIES : 20]
    encoder = noppa.load("similarity")
    vectors = np.lib.format.open_memmap(
        work / "vectors.npy", "w+", np.float32, (count, encoder.dim)
    )
    for at in range(0, count, BLOCK):
        vectors[at : at + BLOCK] = encoder.encode(texts[at : at + BLOCK], normalize=True)
    rows = encoder.encode(queries, normalize=True)
    np.save(work / "queries.npy", rows)
    np.save(work / "exact.npy", nearest(vectors, rows))
    (work / "texts.json").write_text(json.dumps({"texts": texts, "queries": queries}))


def nearest(vectors: Any, queries: Any) -> Any:
    """Return the rows of the nearest vectors of each query, by comparing all."""
    scores = np.full((len(queries), RANKS), -np.inf, np.float32)
    rows = np.zeros((len(queries), RANKS), np.int64)
    for at in range(0, len(vectors), BLOCK):
        dots = queries @ vectors[at : at + BLOCK].T
        best = np.argpartition(-dots, RANKS, axis=1)[:, :RANKS]
        scores = np.hstack([scores, np.take_along_axis(dots, best, 1)])
        rows = np.hstack([rows, best + at])
        order = np.argsort(-scores, axis=1, kind="stable")[:, :RANKS]
        scores, rows = (np.take_along_axis(array, order, 1) for array in (scores, rows))
    return rows


def split_queries(work: Path, name: str) -> tuple[Any, Any]:
    """Return the queries (or their results) for selection, and those that are reported."""
    every = load_texts(work)["queries"] if name == "texts" else np.load(work / f"{name}.npy")
    return [every[at] for at in range(len(every)) if at % 4 != 2], every[2::4]


def load_texts(work: Path) -> dict[str, list[str]]:
    return json.loads((work / "texts.json").read_text())  # type: ignore[no-any-return]


def load_vectors(work: Path) -> Any:
    return np.load(work / "vectors.npy", mmap_mode="r")


def time_queries(row: Row, name: str, run: Callable[[Any], list[Any]], queries: Any) -> list[Any]:
    """Record the median milliseconds per query, and return the results of all queries."""
    found: list[Any] = []
    times = [
        timed(lambda query=query: found.append(run(query)))  # type: ignore[misc]
        for query in [*queries[:WARM], *queries]
    ]
    for unit, at in (("ms", 0), ("CPU ms", 1)):
        row[f"{name} {unit}"] = 1000 * median(time[at] for time in times[WARM:])
    return found[WARM:]


@contextmanager
def measured(row: Row, name: str) -> Iterator[None]:
    """Record the seconds and the growth of peak memory of a block."""
    start, cpu, before = time.perf_counter(), time.process_time(), memory("VmHWM")
    yield
    row[f"{name} seconds"] = time.perf_counter() - start
    row[f"{name} CPU seconds"] = time.process_time() - cpu
    row[f"{name} MB"] = memory("VmHWM") - before


def recall(found: Iterable[Any], exact: Any) -> float:
    shared = [len({*map(int, a)} & {*map(int, b)}) for a, b in zip(found, exact, strict=True)]
    return float(np.mean(shared)) / RANKS


def select(
    row: Row, work: Path, settings: list[Any], run: Callable[[Any, Any], list[Any]]
) -> Callable[[Any], list[Any]]:
    """Return the search with the first setting that reaches WANTED, or with the last."""
    queries, exact = split_queries(work, "queries")[0], split_queries(work, "exact")[0]
    for setting in settings:
        row["setting"] = setting
        if recall([run(query, setting) for query in queries], exact) >= WANTED:
            break
    return lambda query: run(query, row["setting"])


# noppa


def build_noppa(work: Path, path: Path) -> None:
    texts, vectors = load_texts(work)["texts"], load_vectors(work)
    index = noppa.Index.open(path)
    for at in range(0, len(texts), BLOCK):
        block = texts[at : at + BLOCK]
        years = [{"year": 2000 + row % 25} for row in range(len(block))]
        index.add(block, metadata=years, vectors=vectors[at : at + BLOCK])
    index.compact()


def measure_noppa(work: Path, path: Path) -> Row:
    queries, exact = split_queries(work, "texts")[1], split_queries(work, "exact")[1]
    index, row = noppa.Index.open(path), Row()
    modes: dict[str, Row] = {
        "cells": {"mode": "meaning"},
        "exact": {"mode": "meaning", "exact": True},
        "words": {"mode": "words"},
        "hybrid": {},
        "where": {"where": {"year": {">": 2020}}},
    }
    for name, options in modes.items():
        run = lambda query, options=options: index.search(query, RANKS, **options).ids  # noqa: E731
        found = time_queries(row, name, run, queries)
        if name in ("cells", "exact"):
            row[f"{name} recall"] = recall(found, exact)
    with measured(row, "add"):
        index.add([f"{text} again" for text in queries for _ in range(ADDED // QUERIES)])
    return row


# usearch


def build_usearch(work: Path, path: Path) -> None:
    """Build with fewer candidates per row than the default, which takes twice as long here."""
    from usearch.index import Index

    vectors = load_vectors(work)
    options = {"metric": "ip", "dtype": "f16", "connectivity": 16, "expansion_add": 48}
    graph = Index(ndim=vectors.shape[1], **options)
    for at in range(0, len(vectors), BLOCK):
        rows = np.ascontiguousarray(vectors[at : at + BLOCK])
        graph.add(np.arange(at, at + len(rows)), rows)
    graph.save(str(path))


def measure_usearch(work: Path, path: Path) -> Row:
    from usearch.index import Index, MetricKind, search

    vectors = load_vectors(work)
    queries, exact = split_queries(work, "queries")[1], split_queries(work, "exact")[1]
    graph, row = Index.restore(str(path)), Row()

    def run(query: Any, expansion: int) -> list[Any]:
        graph.expansion_search = expansion
        return list(graph.search(query, RANKS).keys.tolist())

    best = select(row, work, [96, 192, 384, 768, 1536, 3072], run)
    row["cells recall"] = recall(time_queries(row, "cells", best, queries), exact)
    every = np.ascontiguousarray(vectors, np.float16)

    def run_exact(query: Any) -> list[Any]:
        found = search(every, query.astype(np.float16), RANKS, MetricKind.IP, exact=True)
        return list(found.keys.tolist())

    row["exact recall"] = recall(time_queries(row, "exact", run_exact, queries[:20]), exact[:20])
    with measured(row, "add"):
        graph.add(np.arange(len(vectors), len(vectors) + ADDED), vectors[:ADDED])
    return row


# LanceDB


def build_lancedb(work: Path, path: Path) -> None:
    import lancedb

    texts, vectors = load_texts(work)["texts"], load_vectors(work)
    table = lancedb.connect(path).create_table("texts", lance_rows(vectors, texts, 0))
    for at in range(BLOCK, len(texts), BLOCK):
        table.add(lance_rows(vectors, texts, at))
    table.create_index(metric="dot", vector_column_name="vector", index_type="IVF_PQ")


def lance_rows(vectors: Any, texts: list[str], at: int) -> Any:
    import pyarrow as pa

    rows = np.ascontiguousarray(vectors[at : at + BLOCK])
    lists = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), vectors.shape[1])
    ids = np.arange(at, at + len(rows))
    return pa.table({"id": ids, "text": texts[at : at + BLOCK], "vector": lists})


def measure_lancedb(work: Path, path: Path) -> Row:
    import lancedb

    queries, exact = split_queries(work, "queries")[1], split_queries(work, "exact")[1]
    table, row = lancedb.connect(path).open_table("texts"), Row()

    def ids(search: Any) -> list[int]:
        found = search.distance_type("dot").limit(RANKS).select(["id", "_distance"]).to_arrow()
        return list(found["id"].to_pylist())

    def run(query: Any, setting: list[int]) -> list[Any]:
        return ids(table.search(query).nprobes(setting[0]).refine_factor(setting[1]))

    best = select(row, work, [[60, 30], [120, 60], [240, 120]], run)
    row["cells recall"] = recall(time_queries(row, "cells", best, queries), exact)
    run_exact = lambda query: ids(table.search(query).bypass_vector_index())  # noqa: E731
    row["exact recall"] = recall(time_queries(row, "exact", run_exact, queries[:20]), exact[:20])
    with measured(row, "add"):
        table.add(lance_rows(load_vectors(work)[:ADDED], ["a text"] * ADDED, 0))
    return row


PARTS: dict[str, tuple[Callable[[Path, Path], None], Callable[[Path, Path], Row]]] = {
    "noppa float16": (build_noppa, measure_noppa),
    "usearch": (build_usearch, measure_usearch),
    "lancedb": (build_lancedb, measure_lancedb),
}


def build(work: Path, part: str) -> None:
    """Build an index, and store its costs in a file next to it."""
    path, unfinished, row = work / part, work / f"{part}.part", Row()
    for old in (path, unfinished):
        shutil.rmtree(old) if old.is_dir() else old.unlink(missing_ok=True)
    with measured(row, "build"):
        PARTS[part][0](work, unfinished)
    unfinished.rename(path)
    files = [file for file in [path, *path.rglob("*")] if file.is_file()]
    row["disk MB"] = sum(file.stat().st_size for file in files) / 2**20
    (work / f"{part}.json").write_text(json.dumps(row))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, required=True, help="folder for vectors and indexes")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--inside", nargs=2, metavar=("STEP", "PART"), help="internal")
    options = parser.parse_args()
    warnings.simplefilter("ignore", noppa.NoppaWarning)
    work = options.work
    if options.inside:
        step, part = options.inside
        if step == "build":
            return build(work, part)
        built = json.loads((work / f"{part}.json").read_text())
        row = {"part": part, **built, **PARTS[part][1](work, work / part)}
        return record(options.output, {**row, "load": os.getloadavg()[0]}, 3)
    work.mkdir(parents=True, exist_ok=True)
    if not (work / "texts.json").exists():
        prepare(work, options.data, options.count)
    options.output.unlink(missing_ok=True)
    record(options.output, {"texts": options.count, "dim": int(load_vectors(work).shape[1])})
    again = [sys.executable, __file__, "--work", str(work), "-o", str(options.output), "--inside"]
    for part in PARTS:
        if not (work / f"{part}.json").exists():
            subprocess.run([*again, "build", part], check=True)
        subprocess.run([*again, "measure", part], check=True)


if __name__ == "__main__":
    main()

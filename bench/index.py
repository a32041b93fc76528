"""One million texts: build, add, search and memory of an index, beside usearch and LanceDB on the same vectors in one run.

python bench/index.py --work DIR --build                      # 8 GB in DIR, 15 minutes of two cores; goes on where it stopped
python bench/index.py --work DIR > bench/results/index.jsonl  # measures what was built: 5 minutes
python bench/index.py --work DIR --fit                        # recall of noppa's cells for some settings

Needs pip install usearch lancedb. Each part runs in a process of its own, so that its largest memory is its own; all get the
same vectors, float32 in one file. Settings on which recall depends are chosen on three quarters of the queries, the first that
reaches `WANTED`; what is reported is measured on the others.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from corpora import arguments, sst
from measure import tell

import noppa
from noppa.search import vectors as cells

#: Queries that are reported, ranks that recall counts and how much of them is wanted, and texts that are added and deleted at the end.
QUERIES, RANKS, WANTED, ADDED = 200, 10, 0.95, 1000
#: Queries before the first that is timed: they bring files into memory.
WARM = 5
BLOCK = 1 << 16
Facts = dict[str, Any]


def texts_of(data: Path, count: int) -> list[str]:
    """Sentences of the shared texts; where they do not suffice, two of them joined."""
    lines: list[str] = []
    for name in ("neutral", "captions"):
        path = data / "text" / f"{name}.en.txt"
        lines += path.read_text(encoding="utf-8").splitlines()
    single = len(lines)
    more = islice(cycle(range(single - 1)), max(0, count - single))
    return [*lines[:count], *(f"{lines[at]} {lines[at + 1]}" for at in more)]


def prepare(work: Path, data: Path, count: int) -> Facts:
    """Encode the texts and the queries, which are phrases of film reviews that the index does not hold."""
    texts, queries = texts_of(data, count), sst(data)[: 80 * QUERIES : 20]
    encoder = noppa.load("similarity")
    facts: Facts = {"texts": count, "dim": encoder.dim}
    vectors = np.lib.format.open_memmap(
        work / "vectors.npy", "w+", np.float32, (count, encoder.dim)
    )
    with Building(facts, "encode"):
        for at in range(0, count, BLOCK):
            vectors[at : at + BLOCK] = encoder.encode(texts[at : at + BLOCK], normalize=True)
    rows = encoder.encode(queries, normalize=True)
    np.save(work / "queries.npy", rows)
    np.save(work / "exact.npy", nearest(vectors, rows))
    (work / "texts.json").write_text(json.dumps({"texts": texts, "queries": queries}))
    return facts


def nearest(vectors: Any, queries: Any) -> Any:
    """The numbers of the nearest vectors of each query, by comparing all."""
    scores = np.full((len(queries), RANKS), -np.inf, np.float32)
    numbers = np.zeros((len(queries), RANKS), np.int64)
    for at in range(0, len(vectors), BLOCK):
        dots = queries @ vectors[at : at + BLOCK].T
        some = np.argpartition(-dots, RANKS, axis=1)[:, :RANKS]
        scores = np.hstack([scores, np.take_along_axis(dots, some, 1)])
        numbers = np.hstack([numbers, some + at])
        order = np.argsort(-scores, axis=1, kind="stable")[:, :RANKS]
        scores, numbers = (np.take_along_axis(one, order, 1) for one in (scores, numbers))
    return numbers


def queries_of(work: Path, name: str) -> tuple[Any, Any]:
    """Of the queries, or of what they should find: those that settings are chosen on, and those that are reported."""
    every = (
        json.loads((work / "texts.json").read_text())["queries"]
        if name == "texts"
        else np.load(work / f"{name}.npy")
    )
    chosen = [at for at in range(len(every)) if at % 4 != 2]
    return [every[at] for at in chosen], every[2::4]


def timed(facts: Facts, name: str, run: Callable[[Any], list[Any]], queries: Any) -> list[Any]:
    """Note the median milliseconds of one query, by the clock and of processor time; gives what all found."""
    found, seconds, processor = [], [], []
    for query in [*queries[:WARM], *queries]:
        start, used = time.perf_counter(), time.process_time()
        found.append(run(query))
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
    facts[f"{name} ms"] = 1000 * median(seconds[WARM:])
    facts[f"{name} CPU ms"] = 1000 * median(processor[WARM:])
    return found[WARM:]


class Building:
    """Notes the seconds, by the clock and of processor time, and the growth of memory of what it surrounds."""

    def __init__(self, facts: Facts, name: str = "build") -> None:
        self.facts, self.name = facts, name

    def __enter__(self) -> None:
        self.start, self.used, self.memory = time.perf_counter(), time.process_time(), peak()

    def __exit__(self, *_: object) -> None:
        self.facts[f"{self.name} seconds"] = time.perf_counter() - self.start
        self.facts[f"{self.name} CPU seconds"] = time.process_time() - self.used
        self.facts[f"{self.name} MB"] = peak() - self.memory


def recall(found: Iterable[Any], exact: Any) -> float:
    shared = [len({*map(int, a)} & {*map(int, b)}) for a, b in zip(found, exact, strict=True)]
    return float(np.mean(shared)) / RANKS


def peak() -> float:
    """The largest memory of this process so far, in MB; getrusage would count that of the parent too."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024


def size(path: Path) -> float:
    """MB of a file, or of all files in a folder."""
    files = [file for file in [path, *path.rglob("*")] if file.is_file()]
    return sum(file.stat().st_size for file in files) / 2**20


def fitted(
    facts: Facts, work: Path, settings: list[Any], run: Callable[[Any, Any], list[Any]]
) -> Callable[[Any], list[Any]]:
    """The search with the first setting that finds enough on the queries for that, or with the last."""
    queries, exact = queries_of(work, "queries")[0], queries_of(work, "exact")[0]
    for setting in settings:
        facts["setting"] = setting
        if recall([run(query, setting) for query in queries], exact) >= WANTED:
            break
    return lambda query: run(query, facts["setting"])


# noppa


def build_noppa(work: Path, path: Path) -> None:
    texts = json.loads((work / "texts.json").read_text())["texts"]
    vectors = np.load(work / "vectors.npy", mmap_mode="r")
    index = noppa.Index.open(path)
    for at in range(0, len(texts), BLOCK):
        some = texts[at : at + BLOCK]
        years = [{"year": 2000 + row % 25} for row in range(len(some))]
        index.add(some, metadata=years, vectors=vectors[at : at + BLOCK])
    index.compact()


def measure_noppa(work: Path, path: Path) -> Facts:
    queries, exact = queries_of(work, "texts")[1], queries_of(work, "exact")[1]
    start = time.perf_counter()
    index = noppa.Index.open(path)
    facts: Facts = {"open ms": 1000 * (time.perf_counter() - start)}
    modes: dict[str, Facts] = {
        "cells": {"mode": "meaning"},
        "exact": {"mode": "meaning", "exact": True},
        "words": {"mode": "words"},
        "hybrid": {},
        "where": {"where": {"year": {">": 2020}}},
    }
    for name, options in modes.items():
        ask = lambda query, options=options: index.search(query, RANKS, **options).ids  # noqa: E731
        found = timed(facts, name, ask, queries)
        if name in ("cells", "exact"):
            facts[f"{name} recall"] = recall(found, exact)
    facts["setting"] = {"share of cells": cells.SHARE, "compared again": cells.MORE}
    with Building(facts, "add"):
        ids = index.add([f"{text} again" for text in queries for _ in range(ADDED // QUERIES)])
    with Building(facts, "delete"):
        index.delete(ids)
    return facts


def fit_noppa(work: Path) -> None:
    """Recall and processor time for some settings, on the queries that settings are chosen on."""
    queries, exact = queries_of(work, "texts")[0], queries_of(work, "exact")[0]
    for share in (0.2, 0.25, 0.3):
        for more in (1200, 2000):
            cells.SHARE, cells.MORE = share, more
            index, facts = noppa.Index.open(work / "noppa float16", threads=1), Facts()
            ask = lambda query: index.search(query, RANKS, mode="meaning").ids  # noqa: B023, E731
            found = timed(facts, "cells", ask, queries)
            tell(3, share=share, more=more, recall=recall(found, exact), **facts)


# Peers


def build_usearch(work: Path, path: Path) -> None:
    """With less work a row than its defaults ask for, which build twice as long here."""
    from usearch.index import Index

    vectors = np.load(work / "vectors.npy", mmap_mode="r")
    graph = Index(
        ndim=vectors.shape[1], metric="ip", dtype="f16", connectivity=16, expansion_add=48
    )
    for at in range(0, len(vectors), BLOCK):
        rows = np.ascontiguousarray(vectors[at : at + BLOCK])
        graph.add(np.arange(at, at + len(rows)), rows)
    graph.save(str(path))


def measure_usearch(work: Path, path: Path) -> Facts:
    from usearch.index import Index, MetricKind, search

    vectors = np.load(work / "vectors.npy", mmap_mode="r")
    queries, exact = queries_of(work, "queries")[1], queries_of(work, "exact")[1]
    graph, facts = Index.restore(str(path)), Facts()

    def run(query: Any, expansion: int) -> list[Any]:
        graph.expansion_search = expansion
        return list(graph.search(query, RANKS).keys.tolist())

    ask = fitted(facts, work, [96, 192, 384, 768, 1536, 3072], run)
    facts["cells recall"] = recall(timed(facts, "cells", ask, queries), exact)
    every = np.ascontiguousarray(vectors, np.float16)
    exactly = lambda query: search(  # noqa: E731
        every, query.astype(np.float16), RANKS, MetricKind.IP, exact=True
    ).keys.tolist()
    facts["exact recall"] = recall(timed(facts, "exact", exactly, queries[:20]), exact[:20])
    with Building(facts, "add"):
        graph.add(np.arange(len(vectors), len(vectors) + ADDED), vectors[:ADDED])
    return facts


def build_lancedb(work: Path, path: Path) -> None:
    import lancedb

    content = json.loads((work / "texts.json").read_text())["texts"]
    vectors = np.load(work / "vectors.npy", mmap_mode="r")
    table = lancedb.connect(path).create_table("texts", lance_rows(vectors, content, 0))
    for at in range(BLOCK, len(content), BLOCK):
        table.add(lance_rows(vectors, content, at))
    table.create_index(metric="dot", vector_column_name="vector", index_type="IVF_PQ")


def lance_rows(vectors: Any, content: list[str], at: int) -> Any:
    import pyarrow as pa

    rows = np.ascontiguousarray(vectors[at : at + BLOCK])
    lists = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), vectors.shape[1])
    numbers = np.arange(at, at + len(rows))
    return pa.table({"id": numbers, "text": content[at : at + BLOCK], "vector": lists})


def measure_lancedb(work: Path, path: Path) -> Facts:
    import lancedb

    queries, exact = queries_of(work, "queries")[1], queries_of(work, "exact")[1]
    table, facts = lancedb.connect(path).open_table("texts"), Facts()

    def run(query: Any, setting: list[int]) -> list[Any]:
        return ids(table.search(query).nprobes(setting[0]).refine_factor(setting[1]))

    def ids(search: Any) -> list[int]:
        found = search.distance_type("dot").limit(RANKS).select(["id", "_distance"]).to_arrow()
        return list(found["id"].to_pylist())

    ask = fitted(facts, work, [[60, 30], [120, 60], [240, 120]], run)
    facts["cells recall"] = recall(timed(facts, "cells", ask, queries), exact)
    exactly = lambda query: ids(table.search(query).bypass_vector_index())  # noqa: E731
    facts["exact recall"] = recall(timed(facts, "exact", exactly, queries[:20]), exact[:20])
    before = table.version
    vectors = np.load(work / "vectors.npy", mmap_mode="r")
    with Building(facts, "add"):
        table.add(lance_rows(vectors[:ADDED], ["a text"] * ADDED, 0))
    table.restore(before)
    return facts


PARTS: dict[str, tuple[Callable[[Path, Path], None], Callable[[Path, Path], Facts]]] = {
    "noppa float16": (build_noppa, measure_noppa),
    "usearch": (build_usearch, measure_usearch),
    "lancedb": (build_lancedb, measure_lancedb),
}


def build(work: Path, part: str) -> None:
    """The files of a part under its name, and what they took beside them."""
    path, unfinished, facts = work / part, work / f"{part}.part", Facts()
    for old in (path, unfinished):
        shutil.rmtree(old) if old.is_dir() else old.unlink(missing_ok=True)
    with Building(facts):
        PARTS[part][0](work, unfinished)
    unfinished.rename(path)
    note(work / f"{part}.json", {**facts, "disk MB": size(path)})


def note(path: Path, facts: Facts) -> None:
    path.write_text(json.dumps(facts))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps what is built")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--build", action="store_true", help="build what is missing and end")
    parser.add_argument("--fit", action="store_true", help="try settings of noppa's cells and end")
    parser.add_argument("--one", choices=["build", "measure"], help="in a process of its own")
    given = parser.parse_args()
    warnings.simplefilter("ignore", noppa.NoppaWarning)
    work, about = given.work, given.work / "about.json"
    if given.fit:
        return fit_noppa(work)
    if given.one == "build":
        return build(work, given.parts[0])
    if given.one == "measure":
        part = given.parts[0]
        built = json.loads((work / f"{part}.json").read_text())
        facts = {**built, **PARTS[part][1](work, work / part)}
        return tell(3, part=part, **facts, load=os.getloadavg()[0])
    work.mkdir(parents=True, exist_ok=True)
    if not about.exists():
        note(about, prepare(work, given.data, given.count))
    again = [sys.executable, __file__, "--work", str(work), "--parts"]
    for part in given.parts:
        if not (work / f"{part}.json").exists():
            subprocess.run([*again, part, "--one", "build"], check=True)
    if not given.build:
        tell(3, **json.loads(about.read_text()))
        for part in given.parts:
            subprocess.run([*again, part, "--one", "measure"], check=True)


if __name__ == "__main__":
    main()

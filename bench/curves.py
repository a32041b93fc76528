"""Measure speed by length, dimension, batch, vocabulary, storage and threads: the curves of docs/speed.md.

    python bench/curves.py && python bench/document.py       # eight minutes on a quiet machine with two cores
    python bench/curves.py --only length                     # replace one curve
    python bench/curves.py --quick -o curves.jsonl           # a minute: one short round

Words are synthetic and drawn by Zipf's law; sentences have 4 to 16 words. Times are those of `encode` from raw text, the best of several
rounds in which all points of a curve take turns.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from runner import RESULTS, arguments

import noppa
from noppa import _native as kernels
from noppa.threads import available

DIM, WORDS, SENTENCES = 300, 20_000, 4000
#: Seconds of one measurement at least, and of all measurements of a curve.
SHORTEST, BUDGET = 0.02, 15.0


class Point(NamedTuple):
    """A timed call, and the number of texts it encodes."""

    series: str
    x: float | str
    texts: int
    run: Callable[[], object]


def made_words(count: int = WORDS, dim: int = DIM) -> noppa.WordVectors:
    matrix = np.random.default_rng(count + dim).standard_normal((count, dim), np.float32) / 4
    return noppa.WordVectors([f"w{word}" for word in range(count)], matrix).with_ranks()


def made_text(random: np.random.Generator, tokens: int, words: int = WORDS) -> str:
    ranks = np.exp(random.random(tokens) * np.log(words)).astype(int) - 1
    return " ".join(f"w{rank}" for rank in ranks)


def made_texts(count: int = SENTENCES, words: int = WORDS) -> list[str]:
    random = np.random.default_rng(1)
    return [made_text(random, tokens, words) for tokens in random.integers(4, 17, count)]


def encoders(words: noppa.WordVectors) -> dict[str, noppa.Encoder]:
    """Return one encoder per kind of cost: pairs, clusters, sums."""
    methods = {"NoPPA": noppa.NoPPA(k=0), "S3E": noppa.S3E(), "Average": noppa.Average()}
    texts = made_texts(200, len(words))
    return {name: noppa.Encoder(words, method).fit(texts) for name, method in methods.items()}


def point(series: str, x: float | str, encoder: noppa.Encoder, texts: Any, threads: int) -> Point:
    count = 1 if isinstance(texts, str) else len(texts)
    return Point(series, x, count, lambda: encoder.encode(texts, threads=threads))


def by_length() -> Iterator[Point]:
    words, random, cores = made_words(), np.random.default_rng(2), available()
    known = encoders(words)
    windows = noppa.Encoder(words, noppa.NoPPA(k=0, max_tokens=512, policy="window"))
    for length in (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000):
        text = made_text(random, length)
        for name, encoder in known.items():
            if name != "NoPPA" or length <= 10_000:
                yield point(f"{name}, one thread", length, encoder, text, 1)
        if cores > 1:
            yield point(f"NoPPA, {cores} threads", length, known["NoPPA"], text, cores)
        yield point("NoPPA in windows of 512, one thread", length, windows, text, 1)


def by_dimension() -> Iterator[Point]:
    for dim in (25, 50, 100, 200, 300, 600, 1000):
        for name, encoder in encoders(made_words(dim=dim)).items():
            yield point(name, dim, encoder, made_texts(), 1)


def by_batch() -> Iterator[Point]:
    texts, cores = made_texts(), available()
    words = [word for word in noppa.load().words.words[:5000] if word.isalpha()]
    random = np.random.default_rng(3)
    english = [" ".join(random.choice(words, n)) for n in random.integers(4, 17, SENTENCES)]
    presets = {
        "`noppa.load()`": noppa.load(),
        '`noppa.load("similarity")`': noppa.load("similarity"),
    }
    method = encoders(made_words())["NoPPA"]
    for size in (1, 2, 4, 8, 16, 32, 64, 256, 1024, 4000):
        yield point("NoPPA", size, method, texts[:size], cores)
        for name, encoder in presets.items():
            yield point(name, size, encoder, english[:size], cores)


def by_vocabulary() -> Iterator[Point]:
    for count in (1000, 10_000, 100_000, 400_000):
        for name, encoder in encoders(made_words(count)).items():
            yield point(name, count, encoder, made_texts(words=count), 1)


def by_storage() -> Iterator[Point]:
    words = made_words()
    stored = {
        "float32": words,
        "float16": noppa.WordVectors(words.words, words.matrix.astype(np.float16)).with_ranks(),
        "8 bits": words.quantized(8),
        "4 bits": words.quantized(4),
    }
    for storage, table in stored.items():
        for name, encoder in encoders(table).items():
            if name != "S3E":
                yield point(name, storage, encoder, made_texts(), 1)


CURVES: dict[str, Callable[[], Iterator[Point]]] = {
    "length": by_length,
    "dimension": by_dimension,
    "batch": by_batch,
    "vocabulary": by_vocabulary,
    "storage": by_storage,
}


def measure(points: list[Point], budget: float) -> list[float]:
    """Return the best seconds of each point, in rounds until the budget is spent; slow points are measured once."""
    best = [float("inf")] * len(points)
    end = time.perf_counter() + budget
    for round_ in range(9):
        for at, timed in enumerate(points):
            if round_ == 0 or best[at] < budget / 20:
                start, calls = time.perf_counter(), 0
                while (passed := time.perf_counter() - start) < SHORTEST or not calls:
                    timed.run()
                    calls += 1
                best[at] = min(best[at], passed / calls)
        if time.perf_counter() > end:
            break
    return best


def work(start: float, seconds: float) -> None:
    """Encode on one thread from a moment on, and print texts per second."""
    encoder, texts = encoders(made_words())["NoPPA"], made_texts()
    encoder.encode(texts, threads=1)
    time.sleep(max(0.0, start - time.time()))
    began, calls = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        encoder.encode(texts, threads=1)
        calls += 1
    print(calls * len(texts) / (time.perf_counter() - began))


def by_threads(budget: float) -> Iterator[tuple[str, int, float]]:
    """Yield microseconds per text of NoPPA on several threads, and on as many processes."""
    encoder, texts = encoders(made_words())["NoPPA"], made_texts()
    counts = range(1, available() + 1)
    points = [point("threads", count, encoder, texts, count) for count in counts]
    for count, seconds in zip(counts, measure(points, budget), strict=True):
        yield "threads of one process", count, 1e6 * seconds / len(texts)
    for count in counts:
        command = [sys.executable, __file__, "--work", str(time.time() + 6), "1.5"]
        running = [
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)
        ]
        rate = sum(float(process.communicate()[0]) for process in running)
        yield "processes of one thread", count, 1e6 / rate


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--only", nargs="+", choices=[*CURVES, "threads"])
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "curves.jsonl")
    parser.add_argument("--work", nargs=2, type=float, help="internal")
    options = parser.parse_args()
    if options.work:
        return work(*options.work)
    about = {"set": kernels.instruction_set(), "processors": available()}
    budget = 1.0 if options.quick else BUDGET
    chosen = options.only or [*CURVES, "threads"]
    rows: list[dict[str, Any]] = []
    for curve in chosen:
        if curve == "threads":
            measured = list(by_threads(budget))
        else:
            points = list(CURVES[curve]())
            times = zip(points, measure(points, budget), strict=True)
            measured = [(p.series, p.x, 1e6 * seconds / p.texts) for p, seconds in times]  # type: ignore[misc]
        for series, x, microseconds in measured:
            row = {"curve": curve, "series": series, "x": x, "microseconds": round(microseconds, 3)}
            rows.append(row | about)
        print(curve, flush=True)
    kept = options.output.read_text("utf-8").splitlines() if options.output.exists() else []
    rows = [row for row in map(json.loads, kept) if row["curve"] not in chosen] + rows
    options.output.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()

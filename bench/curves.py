"""Speed over length, dimension, batch, threads, vocabulary and storage: the curves of docs/speed.md.

    python bench/curves.py && python bench/document.py       # some eight minutes on a quiet machine of two cores
    python bench/curves.py --only length                     # these curves anew, the others as they are
    python bench/curves.py --thin -o curves.jsonl            # a minute: fewer points, to see that all runs

Words are made, and drawn by Zipf's law; sentences have 4 to 16 of them, as SICK's do. Times are those of `encode` from raw text, the
best of several rounds in which all points of a curve take turns.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import noppa
from noppa import _native as kernels
from noppa.paper import records
from noppa.threads import available

FILE = Path(__file__).resolve().parent / "results" / "curves.jsonl"
DIM, WORDS, SENTENCES = 300, 20_000, 4000
LEAST_SECONDS = 0.02


class Point(NamedTuple):
    """One call that is timed, and how many texts or processes it stands for."""

    series: str
    x: float | str
    texts: int
    run: Callable[[], object]


def made_words(count: int = WORDS, dim: int = DIM) -> noppa.WordVectors:
    random = np.random.default_rng(count + dim)
    matrix = random.standard_normal((count, dim), np.float32) / 4
    return noppa.WordVectors([f"w{word}" for word in range(count)], matrix).with_ranks()


def text_of(random: np.random.Generator, tokens: int, words: int = WORDS) -> str:
    """Words of which the rank is distributed by Zipf's law."""
    ranks = np.exp(random.random(tokens) * np.log(words)).astype(int) - 1
    return " ".join(f"w{rank}" for rank in ranks)


def made_texts(count: int = SENTENCES, words: int = WORDS) -> list[str]:
    random = np.random.default_rng(1)
    return [text_of(random, tokens, words) for tokens in random.integers(4, 17, count)]


def encoders(words: noppa.WordVectors) -> dict[str, noppa.Encoder]:
    """One of each kind of cost: pairs, clusters, sums."""
    methods = {"NoPPA": noppa.NoPPA(k=0), "S3E": noppa.S3E(), "Average": noppa.Average()}
    fitted = made_texts(200, len(words))
    return {name: noppa.Encoder(words, method).fit(fitted) for name, method in methods.items()}


def batch(encoder: noppa.Encoder, texts: Any, threads: int) -> Callable[[], object]:
    return lambda: encoder.encode(texts, threads=threads)


def by_length(thin: bool) -> Iterator[Point]:
    words, random, two = made_words(), np.random.default_rng(2), available()
    found = encoders(words)
    bounded = noppa.Encoder(words, noppa.NoPPA(k=0, max_tokens=512, policy="window"))
    for length in (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000):
        text = text_of(random, length)
        for name, encoder in found.items():
            if name != "NoPPA" or length <= (1000 if thin else 10_000):
                yield Point(f"{name}, one thread", length, 1, batch(encoder, text, 1))
        if two > 1 and length <= (3000 if thin else 100_000):
            yield Point(f"NoPPA, {two} threads", length, 1, batch(found["NoPPA"], text, two))
        yield Point("NoPPA in windows of 512, one thread", length, 1, batch(bounded, text, 1))


def by_dimension(thin: bool) -> Iterator[Point]:
    texts = made_texts()
    for dim in (50, 300) if thin else (25, 50, 100, 200, 300, 600, 1000):
        for name, encoder in encoders(made_words(dim=dim)).items():
            yield Point(name, dim, len(texts), batch(encoder, texts, 1))


def by_batch(thin: bool) -> Iterator[Point]:
    texts, threads = made_texts(), available()
    english = texts_of_embedded(SENTENCES)
    known = {"`noppa.load()`": noppa.load(), '`noppa.load("similarity")`': noppa.load("similarity")}
    paper = encoders(made_words())["NoPPA"]
    for size in (1, 64, 4000) if thin else (1, 2, 4, 8, 16, 32, 64, 256, 1024, 4000):
        yield Point("NoPPA", size, size, batch(paper, texts[:size], threads))
        for name, encoder in known.items():
            yield Point(name, size, size, batch(encoder, english[:size], threads))


def texts_of_embedded(count: int) -> list[str]:
    """Sentences of frequent words of the embedded model."""
    words = [word for word in noppa.load().words.lexicon.plain_words[:5000] if word.isalpha()]
    random = np.random.default_rng(3)
    return [" ".join(random.choice(words, tokens)) for tokens in random.integers(4, 17, count)]


def by_vocabulary(thin: bool) -> Iterator[Point]:
    for count in (1000, 30_000) if thin else (1000, 10_000, 100_000, 400_000):
        texts = made_texts(words=count)
        for name, encoder in encoders(made_words(count)).items():
            yield Point(name, count, len(texts), batch(encoder, texts, 1))


def by_storage(thin: bool) -> Iterator[Point]:
    texts, words = made_texts(), made_words()
    stored = {
        "float32": words,
        "float16": noppa.WordVectors(words.words, words.matrix.astype(np.float16)).with_ranks(),
        "8 bits": words.quantized(8),
        "4 bits": words.quantized(4),
    }
    for storage, table in stored.items():
        for name, encoder in encoders(table).items():
            if name != "S3E":
                yield Point(name, storage, len(texts), batch(encoder, texts, 1))


CURVES: dict[str, Callable[[bool], Iterator[Point]]] = {
    "length": by_length,
    "dimension": by_dimension,
    "batch": by_batch,
    "vocabulary": by_vocabulary,
    "storage": by_storage,
}


def once(point: Point) -> float:
    """Seconds of one call, of so many that the clock sees them."""
    start, calls = time.perf_counter(), 0
    while (passed := time.perf_counter() - start) < LEAST_SECONDS or not calls:
        point.run()
        calls += 1
    return passed / calls


def measured(points: list[Point], budget: float) -> list[float]:
    """The best seconds of each, in rounds until the budget is spent; what takes long is measured once."""
    best = [float("inf")] * len(points)
    end = time.perf_counter() + budget
    for turn in range(9):
        for at, point in enumerate(points):
            if turn == 0 or best[at] < budget / 20:
                best[at] = min(best[at], once(point))
        if time.perf_counter() > end:
            break
    return best


def work(start: float, seconds: float) -> None:
    """A process that encodes on one thread from `start` on; prints texts a second."""
    encoder, texts = encoders(made_words())["NoPPA"], made_texts()
    encoder.encode(texts, threads=1)
    time.sleep(max(0.0, start - time.time()))
    began, calls = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        encoder.encode(texts, threads=1)
        calls += 1
    print(calls * len(texts) / (time.perf_counter() - began))


def by_threads(thin: bool) -> Iterator[tuple[str, int, float]]:
    """Texts a second of NoPPA on several threads, and of as many processes of one thread."""
    encoder, texts = encoders(made_words())["NoPPA"], made_texts()
    counts = range(1, available() + 1)
    points = [Point("threads", count, len(texts), batch(encoder, texts, count)) for count in counts]
    for point, seconds in zip(points, measured(points, 1 if thin else 6), strict=True):
        yield "threads of one process", int(point.x), len(texts) / seconds
    for count in counts:
        rates = []
        for _ in range(1 if thin else 3):
            command = [sys.executable, __file__, "--work", str(time.time() + 6), "1.5"]
            running = [
                subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)
            ]
            rates.append(sum(float(process.communicate()[0]) for process in running))
        yield "processes of one thread", count, max(rates)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--thin", action="store_true", help="fewer points and rounds")
    parser.add_argument("--only", nargs="+", choices=[*CURVES, "threads"], help="these curves")
    parser.add_argument("-o", "--output", type=Path, default=FILE)
    parser.add_argument("--work", nargs=2, type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(*options.work)
    about = {"set": kernels.instruction_set(), "processors": available(), "thin": options.thin}
    about |= {"machine": platform.machine(), "commit": records.commit()}
    lines: list[dict[str, Any]] = []
    for curve, points_of in CURVES.items():
        if options.only and curve not in options.only:
            continue
        points = list(points_of(options.thin))
        budget = 2.0 if options.thin else 15.0
        for point, seconds in zip(points, measured(points, budget), strict=True):
            line = {"curve": curve, "series": point.series, "x": point.x}
            lines.append({**line, "microseconds": round(1e6 * seconds / point.texts, 3), **about})
        print(curve, flush=True)
    if not options.only or "threads" in options.only:
        for series, count, rate in by_threads(options.thin):
            line = {"curve": "threads", "series": series, "x": count}
            lines.append({**line, "microseconds": round(1e6 / rate, 3), **about})
    kept = (
        options.output.read_text(encoding="utf-8").splitlines() if options.output.exists() else []
    )
    new = {line["curve"] for line in lines}
    lines = [line for line in map(json.loads, kept) if line["curve"] not in new] + lines
    options.output.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()

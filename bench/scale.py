"""What a billion and a trillion sentences take: a cost model from measured figures, and a simulation that checks it.

    python bench/scale.py

Reads bench/results/cluster.jsonl. The simulation replays the measured times of shards, with their stragglers, on many
workers that fail now and then. docs/scale.md has the figures: bench/pages/scale.py.
"""

from __future__ import annotations

import heapq
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "cluster.jsonl"

#: Assumptions, stated in the page: a worker is lost once in so many hours and is back after so many seconds; a network link
#: of so many bytes a second a machine; bytes of a number of each type, and of the scale that an 8-bit row has.
HOURS_BETWEEN_FAILURES = 24.0
SECONDS_TO_COME_BACK = 60.0
LINK = 10e9 / 8
BYTES = {"float32": (4, 0), "float16": (2, 0), "int8": (1, 4)}
#: Sentences, workers, and megabytes of text of a shard.
CASES = ((10**9, 64, 16), (10**9, 1024, 16), (10**12, 1024, 256), (10**12, 16384, 256))

Record = dict[str, Any]
Float = NDArray[np.float64]


def records() -> list[Record]:
    return [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]


def one(figure: str, preset: str | None = None, engine: str | None = None) -> Record:
    """The last record of a figure."""
    matching = [
        record
        for record in records()
        if record["figure"] == figure
        and preset in (None, record.get("preset"))
        and engine in (None, record.get("engine"))
    ]
    return matching[-1]


@dataclass(frozen=True)
class Cost:
    """What one sentence costs: processor seconds of a core with and without files, bytes in, and numbers out."""

    preset: str
    encode: float
    whole: float
    text: float
    dim: int
    overhead: float
    """Bytes of the output that are no vectors: the stored text, and what Parquet adds."""

    @classmethod
    def of(cls, preset: str) -> Cost:
        alone, run = one("encoder alone", preset), one("encode", preset, "single")
        rows = run["rows"]
        return cls(
            preset,
            alone["cpu_seconds"] / alone["rows"],
            run["busy_cpu_seconds"] / rows,
            run["input_bytes"] / rows,
            run["dim"],
            run["output_bytes"] / rows - 4 * run["dim"],
        )

    def vector(self, dtype: str) -> float:
        """Bytes of a vector."""
        each, more = BYTES[dtype]
        return each * self.dim + more


# The model


def shard_seconds(cost: Cost, megabytes: float) -> float:
    return cost.whole * megabytes * (1 << 20) / cost.text


def modelled(cost: Cost, sentences: int, workers: int, megabytes: float) -> float:
    """Seconds: the work, what failures waste of it, and one more shard for the last ones to end."""
    each = shard_seconds(cost, megabytes)
    work = sentences * cost.whole / workers
    # a failure loses half a shard, and the worker for a while
    wasted = (each / 2 + SECONDS_TO_COME_BACK) / (HOURS_BETWEEN_FAILURES * 3600)
    return work * (1 + wasted) + each


# The simulation


def spread() -> Float:
    """Measured times of shards of one size, as multiples of their mean: on two workers, beside the work of others."""
    times = np.array(one("encode", engine="dask")["shard_seconds"])
    return np.asarray(times / times.mean())


def simulated(
    cost: Cost, sentences: int, workers: int, megabytes: float, seed: int = 0
) -> tuple[float, int]:
    """Seconds until the last shard is done, and how often a worker was lost, when each worker takes the next shard."""
    random = np.random.default_rng(seed)
    measured = one("encode", engine="dask")
    unit = measured["input_bytes"] / measured["shards"] / (1 << 20)  # megabytes of a measured shard
    shape = spread()
    shards = max(1, round(sentences * cost.text / (megabytes * (1 << 20))))
    times = np.zeros(shards)
    pieces = max(1, round(megabytes / unit))
    for _ in range(pieces):  # a larger shard is several of the measured ones
        times += random.choice(shape, shards)
    times *= sentences * cost.whole / shards / pieces
    rate = HOURS_BETWEEN_FAILURES * 3600
    free = [0.0] * min(workers, shards)
    losses, last = 0, 0.0
    chances, places = random.random(shards), random.random(shards)
    for seconds, chance, place in zip(
        times.tolist(), chances.tolist(), places.tolist(), strict=True
    ):
        at = heapq.heappop(free)
        if chance < 1 - np.exp(-seconds / rate):
            losses += 1
            lost = at + place * seconds
            heapq.heappush(free, lost + SECONDS_TO_COME_BACK)
            at = max(heapq.heappop(free), lost)  # whoever is free next does it again
        heapq.heappush(free, at + seconds)
        last = max(last, at + seconds)
    return last, losses


if __name__ == "__main__":
    for case in CASES:
        seconds, lost = simulated(Cost.of("similarity"), *case)
        expected = modelled(Cost.of("similarity"), *case)
        print(*case, f"model {expected:.0f} s, simulation {seconds:.0f} s, {lost} workers lost")

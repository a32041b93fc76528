"""What a billion and a trillion sentences take: a cost model from measured figures, and a simulation that checks it.

    python bench/scale.py

Reads bench/results/cluster.jsonl and writes the part of docs/scale.md between its marks; every number there is made here.
The simulation replays the measured times of shards, with their stragglers, on many workers that fail now and then.
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
PAGE = ROOT / "docs" / "scale.md"
MARKS = ("<!-- made by bench/scale.py -->\n", "<!-- end -->\n")

#: Assumptions, told in the page: a worker is lost once in so many hours and is back after so many seconds; a network link
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
    found = [
        record
        for record in records()
        if record["figure"] == figure
        and preset in (None, record["preset"])
        and engine in (None, record.get("engine"))
    ]
    return found[-1]


@dataclass(frozen=True)
class Cost:
    """What one sentence costs: processor seconds of a core with and without files, bytes in, and numbers out."""

    preset: str
    encode: float
    whole: float
    text: float
    dim: int
    overhead: float
    """Bytes of the output that are no vectors: the text that is kept, and what Parquet adds."""

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


# The page


def duration(seconds: float) -> str:
    for size, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.0f} seconds"


def amount(size: float) -> str:
    for power, name in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= power:
            return f"{size / power:.3g} {name}"
    return f"{size:.0f} bytes"


def runs() -> str:
    lines = [
        "| engine | workers | time | processor seconds | of which in shards | against one process | the same bytes |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    base = one("encode", "similarity", "single")
    for engine in ("single", "dask", "spark"):
        run = one("encode", "similarity", engine)
        lines.append(
            f"| {engine} | {run['workers']} | {run['seconds']:.0f} s | {run['cpu_seconds']:.0f} | "
            f"{run['busy_cpu_seconds']:.0f} | {base['seconds'] / run['seconds']:.2f} times as fast | "
            f"{'yes' if run['byte_identical'] else 'NO'} |"
        )
    loads = [one("encode", "similarity", engine)["load"] for engine in ("single", "dask", "spark")]
    machine = base["machine"]
    text = (
        f"{base['rows']:,} sentences (those of the eight tasks and STS-B, again and again with a word changed), "
        f'`noppa.load("similarity")`, {base["dim"]} numbers a vector, {base["shards"]} shards, '
        f"{amount(base['output_bytes'])} of Parquet. {machine['processor']}, {machine['threads']} cores, which other "
        f"programs used at the same time (load {min(loads):.0f} to {max(loads):.0f}): of such a run the processor "
        "seconds tell more than the time.\n\n"
    )
    return text + "\n".join(lines) + "\n\n" + overheads(base)


def overheads(base: Record) -> str:
    told = []
    for engine in ("dask", "spark"):
        run, alone = one("encode", "similarity", engine), one("engine alone", engine=engine)
        more = run["cpu_seconds"] / base["cpu_seconds"] - 1
        busy = run["busy_seconds"] / (run["workers"] * run["seconds"])
        told.append(
            f"- {engine.capitalize()} took {more:+.0%} processor seconds against one process, its own start and end "
            f"included; its workers were in a shard {busy:.0%} of the time. Alone it starts in {alone['start_s']:.0f} s, "
            f"and hands out {alone['tasks_per_s']:.0f} empty tasks a second."
        )
    return "\n".join(told) + "\n\n"


def costs() -> str:
    lines = [
        "| | "
        + " | ".join(f'`noppa.load("{preset}")`' for preset in ("similarity", "default"))
        + " |",
        "|---|---:|---:|",
    ]
    both = [Cost.of(preset) for preset in ("similarity", "default")]
    rows = {
        "sentences a second and core, encoding alone": [f"{1 / cost.encode:,.0f}" for cost in both],
        "with reading and writing": [f"{1 / cost.whole:,.0f}" for cost in both],
        "bytes of text of a sentence": [f"{cost.text:.0f}" for cost in both],
        "numbers of a vector": [f"{cost.dim}" for cost in both],
        "bytes of a vector, float32": [f"{cost.vector('float32'):,.0f}" for cost in both],
        "bytes of a vector, float16": [f"{cost.vector('float16'):,.0f}" for cost in both],
        "written a second and core, float32": [
            amount((cost.vector("float32") + cost.overhead) / cost.whole) for cost in both
        ],
        "cores that fill a link of 10 Gbit/s, float32": [
            f"{LINK * cost.whole / (cost.vector('float32') + cost.overhead):.0f}" for cost in both
        ],
        "the same, float16 without the text": [
            f"{LINK * cost.whole / cost.vector('float16'):.0f}" for cost in both
        ],
    }
    lines += [f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()]
    return "\n".join(lines) + "\n\n"


def storage() -> str:
    lines = ["| vectors of | numbers | float32 | float16 | int8 |", "|---|---:|---:|---:|---:|"]
    for preset in ("similarity", "default"):
        cost = Cost.of(preset)
        for name, count in (("a billion", 10**9), ("a trillion", 10**12)):
            sizes = " | ".join(amount(count * cost.vector(dtype)) for dtype in BYTES)
            lines.append(f"| {name} sentences, `{preset}` | {cost.dim} | {sizes} |")
    return "\n".join(lines) + "\n\n"


def times() -> str:
    lines = [
        "| sentences | cores | shard | core-hours | model | simulation | model / simulation | workers lost | tasks a second | written a second |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    cost = Cost.of("similarity")
    ratios = []
    for sentences, workers, megabytes in CASES:
        model = modelled(cost, sentences, workers, megabytes)
        found, losses = simulated(cost, sentences, workers, megabytes)
        ratios.append(model / found)
        name = "a billion" if sentences == 10**9 else "a trillion"
        rate = sentences * (cost.vector("float32") + cost.overhead) / model
        lines.append(
            f"| {name} | {workers:,} | {megabytes} MB | {sentences * cost.whole / 3600:,.0f} | {duration(model)} | "
            f"{duration(found)} | {model / found:.3f} | {losses:,} | "
            f"{workers / shard_seconds(cost, megabytes):.1f} | {amount(rate)} |"
        )
    return "\n".join(lines) + "\n\n" + checked(ratios) + bottleneck(cost)


def checked(ratios: list[float]) -> str:
    shape = spread()
    return (
        f"The simulation draws the time of each shard from the {len(shape)} measured ones, whose slowest took "
        f"{shape.max():.1f} times as long as their mean and whose fastest {shape.min():.2f}; a worker is lost once in "
        f"{HOURS_BETWEEN_FAILURES:.0f} hours, its shard is done again by the next free one, and it is back after "
        f"{SECONDS_TO_COME_BACK:.0f} seconds. The model, which is the work, half a shard and a pause a failure, and one "
        f"shard at the end, lies between {min(ratios) - 1:+.1%} and {max(ratios) - 1:+.1%} of it.\n\n"
    )


def bottleneck(cost: Cost) -> str:
    dask, spark = (
        one("engine alone", engine=engine)["tasks_per_s"] for engine in ("dask", "spark")
    )
    most = {
        size: (dask * shard_seconds(cost, size), spark * shard_seconds(cost, size))
        for size in (16, 256)
    }
    return (
        "Where the bottleneck moves:\n\n"
        "1. **Processors**, up to the link of a machine: see the cores that fill one above. Past that, more cores on the same "
        "machine bring nothing; float16, `--keep` without the text, or `--dim` do.\n"
        "2. **Storage**: the last column is what all workers write together. An object store takes that, a single file "
        "server does not.\n"
        f"3. **The scheduler**: with shards of 16 MB one driver of Dask feeds {most[16][0]:,.0f} cores and one of Spark "
        f"{most[16][1]:,.0f}, with 256 MB {most[256][0]:,.0f} and {most[256][1]:,.0f}, by the tasks a second that were "
        "measured here, on a busy machine. Larger shards (`--shard-size`), or several runs over parts of the input, go "
        "further.\n"
        "4. **The model** is no bottleneck: every process of a machine maps the same file.\n\n"
    )


def made() -> str:
    return (
        f"### Measured\n\n{runs()}### One sentence\n\n{costs()}### What the vectors take\n\n{storage()}"
        f"### A billion and a trillion\n\nWith the `similarity` preset, text kept, float32.\n\n{times()}"
    ).rstrip("\n") + "\n"


def page() -> str:
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(MARKS[0])
    return f"{before}{MARKS[0]}{made()}{MARKS[1]}{rest.partition(MARKS[1])[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

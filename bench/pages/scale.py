"""What docs/scale.md says of time, processors and bytes."""

from __future__ import annotations

from scale import (
    BYTES,
    CASES,
    HOURS_BETWEEN_FAILURES,
    LINK,
    SECONDS_TO_COME_BACK,
    Cost,
    Record,
    modelled,
    one,
    shard_seconds,
    simulated,
    spread,
)


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
        "| engine | workers | time | against one process | processor seconds | of which in shards | share of a core that a worker got | the same bytes |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    base = one("encode", "similarity", "single")
    for engine in ("single", "dask", "spark"):
        run = one("encode", "similarity", engine)
        lines.append(
            f"| {engine} | {run['workers']} | {run['seconds']:.0f} s | {base['seconds'] / run['seconds']:.2f} times as fast | "
            f"{run['cpu_seconds']:.0f} | {run['busy_cpu_seconds']:.0f} | "
            f"{run['busy_cpu_seconds'] / run['busy_seconds']:.0%} | {'yes' if run['byte_identical'] else 'NO'} |"
        )
    loads = [one("encode", "similarity", engine)["load"] for engine in ("single", "dask", "spark")]
    machine = base["machine"]
    text = (
        f"{base['rows']:,} sentences (those of the eight tasks and STS-B, again and again with a word changed), "
        f'`noppa.load("similarity")`, {base["dim"]} numbers a vector, {base["shards"]} shards, '
        f"{amount(base['output_bytes'])} of Parquet. {machine['processor']}, {machine['threads']} cores, which other "
        f"programs used at the same time (load {min(loads):.0f} to {max(loads):.0f}): what a worker "
        "lacks of a core it waited, for one that others had or for the disk, so the processor seconds say more of an engine "
        "than the time does.\n\n"
    )
    return text + "\n".join(lines) + "\n\n" + overheads(base)


def overheads(base: Record) -> str:
    lines = []
    for engine in ("dask", "spark"):
        run, alone = one("encode", "similarity", engine), one("engine alone", engine=engine)
        more = run["cpu_seconds"] / base["cpu_seconds"] - 1
        busy = run["busy_seconds"] / (run["workers"] * run["seconds"])
        lines.append(
            f"- {engine.capitalize()} took {more:+.0%} processor seconds against one process, its own start and end "
            f"included; its workers were in a shard {busy:.0%} of the time. Alone it starts in {alone['start_s']:.0f} s, "
            f"and hands out {alone['tasks_per_s']:.0f} empty tasks a second."
        )
    return "\n".join(lines) + "\n\n"


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
        simulation, losses = simulated(cost, sentences, workers, megabytes)
        ratios.append(model / simulation)
        name = "a billion" if sentences == 10**9 else "a trillion"
        rate = sentences * (cost.vector("float32") + cost.overhead) / model
        lines.append(
            f"| {name} | {workers:,} | {megabytes} MB | {sentences * cost.whole / 3600:,.0f} | {duration(model)} | "
            f"{duration(simulation)} | {model / simulation:.3f} | {losses:,} | "
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
        "Neither knows of a store or of a scheduler that is too slow for the last two columns. Where the bottleneck moves:\n\n"
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

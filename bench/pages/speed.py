"""What docs/speed.md says of the time of stages, and of model2vec."""

from __future__ import annotations

from typing import Any

from pages.embedded import table
from pages.results import lines_of

#: The cases of must and aim: times model2vec's speed.
BARS = {"NoPPA": (3.3, 4.0), "default": (2.6, 3.0), "similarity": (9.0, 10.0)}
NAMES = {
    "default": "`noppa.load()`",
    "similarity": '`noppa.load("similarity")`',
    "NoPPA": "`NoPPA(k=12)`",
    "NoPPA(k=0)": "`NoPPA(k=0)`",
    'NoPPA(k=0, kernel="abs")': '`NoPPA(k=0, kernel="abs")`',
    'NoPPA(k=0, kernel="square")': '`NoPPA(k=0, kernel="square")`',
    "Average": "`Average()`",
}
FEWEST_SHARE = 0.005


def stages() -> str:
    """The share of each stage, by case and instruction set."""
    lines = lines_of("stages")
    names: dict[str, float] = {}
    for line in lines:
        for stage, share in line["shares"].items():
            names[stage] = max(names.get(stage, 0), share)
    shown = sorted((name for name in names if names[name] >= FEWEST_SHARE), key=lambda n: -names[n])
    head = ["stage", *(f"{line['case']}, {line['set']}" for line in lines)]
    rows = [
        [stage, *(f"{100 * line['shares'].get(stage, 0):.1f}" for line in lines)] for stage in shown
    ]
    rows.append(["**microseconds a text**", *(f"{line['microseconds']:.2f}" for line in lines)])
    text = (
        "Raw text of SICK to vectors on one thread; percent of the samples that `perf` took, by the line of source that ran, for each "
        "instruction set (`python bench/stages.py`):\n\n"
    )
    return text + table(head, rows) + "\n" + pair_kernel()


def pair_kernel() -> str:
    lines = lines_of("pair_kernel")
    kinds = list(dict.fromkeys((line["kernel"], line["reach"], line["ordered"]) for line in lines))
    sets = list(dict.fromkeys(line["set"] for line in lines))
    found = {
        (line["set"], line["kernel"], line["reach"], line["ordered"]): line["nanoseconds"]
        for line in lines
    }

    def name(kernel: str, reach: float, ordered: bool) -> str:
        parts = "`context` and `ordered`" if ordered else "`context`"
        return f"`{kernel}`, {parts}" + f", numbers within {reach:g} of each other" * bool(reach)

    rows = [[name(*kind), *(f"{found[(one, *kind)]:.1f}" for one in sets)] for kind in kinds]
    text = (
        "The sums over pairs alone, 8 words of 300 numbers in the nearest cache, nanoseconds a pair (`python bench/pair_kernel.py`). On "
        "AVX-512 the logarithm of close numbers is a cubic by pieces, elsewhere, within 1, a polynomial, chosen for two vectors of columns at a time:\n\n"
    )
    return text + table(["kernel", *sets], rows)


def against_model2vec() -> str:
    lines = lines_of("speed")
    machine: dict[str, Any] = next(line for line in lines if line["what"] == "machine")
    found = {line["name"]: line for line in lines if line["what"] == "encode"}
    peer = best_peer(found)
    rows = []
    for name, line in found.items():
        if name.endswith("one thread"):
            continue
        one = found.get(f"{name}, one thread", {}).get("clock")
        rows.append(
            [
                NAMES.get(name, name),
                f"{1e6 / line['clock']:,.0f}",
                f"{line['clock']:.2f}",
                f"{line['cpu']:.2f}",
                f"{peer['clock'] / line['clock']:.2f}",
                f"{peer['cpu'] / line['cpu']:.2f}",
                f"{one / line['clock']:.2f}" if one else "",
            ]
        )
    head = [
        "",
        "texts a second",
        "µs a text, clock",
        "µs, CPU",
        "x model2vec, clock",
        "x model2vec, CPU",
        "threads against one",
    ]
    text = (
        f"{machine['texts']:,} sentences of SICK, raw text, {machine['threads']} threads, instruction set {machine['set']}, load of the machine "
        f"{machine['load']:.1f}; NoPPA, the average and model2vec on the same table of 300 dimensions, the fastest of several turns of each "
        "(`python bench/speed.py`). "
        + "The machine had other work: CPU time says more than the clock, and ratios differ by a fifth from run to run. "
        * (machine["load"] > machine["threads"])
        + f"The error of `NoPPA(k=0)` against float64 is {machine['error']:.1e} of a row's length at most.\n\n"
    )
    return text + table(head, rows) + "\n" + bars(found) + "\n" + floors(found, machine)


def best_peer(found: dict[str, Any]) -> dict[str, float]:
    """model2vec in its best setting, by the clock and by CPU time."""
    settings = ("model2vec", "model2vec, its processes")
    return {by: min(found[name][by] for name in settings) for by in ("clock", "cpu")}


def bars(found: dict[str, Any]) -> str:
    lines = []
    for name, (bar, aim) in BARS.items():
        ratios = {by: best / found[name][by] for by, best in best_peer(found).items()}
        verdict = {
            by: "aim met" if ratio >= aim else "bar met, aim missed" if ratio >= bar else "missed"
            for by, ratio in ratios.items()
        }
        lines.append(
            f"- {NAMES[name]}: at least {bar:g} times model2vec, aim {aim:g}: {ratios['cpu']:.2f} by CPU time ({verdict['cpu']}), "
            f"{ratios['clock']:.2f} by the clock ({verdict['clock']})\n"
        )
    return "".join(lines)


def floors(found: dict[str, Any], machine: dict[str, Any]) -> str:
    """What the arithmetic and the memory of this machine allow."""
    rows = [
        [
            NAMES[name],
            f"{line['arithmetic']:.2f}",
            f"{line['pooling']:.2f}",
            f"{line['cpu']:.2f}",
            f"{line['cpu'] / line['arithmetic']:.2f}",
            f"{line['bytes'] / line['pooling'] / 1000:.1f}",
        ]
        for name, line in found.items()
        if "arithmetic" in line
    ]
    head = [
        "CPU µs a text",
        "arithmetic alone",
        "pooling",
        "text to vector",
        "times the arithmetic",
        "GB of rows a second",
    ]
    text = (
        "The same arithmetic with every word in the nearest cache and rows in the next one, beside the real thing. The machine copies "
        f"{machine['copy'] / 1e9:.1f} GB a second; words of SICK come out of the caches for the most part, which is why rows may be read faster "
        f"than that. Two processes at once do {machine['two_processes']:.2f} times the work of one here.\n\n"
    )
    return text + table(head, rows)

"""What docs/search.md says of quality and speed."""

from __future__ import annotations

import json
from statistics import fmean
from typing import Any

from pages.results import lines_of

MODES = ("meaning", "words", "hybrid")
#: Rows of the table of speed: what is measured, its field, and its digits.
FIGURES = (
    ("load of the two cores", "load", 0),
    ("build, CPU seconds", "build CPU seconds", 0),
    ("build, seconds by the clock", "build seconds", 0),
    ("largest memory while building, MB", "build MB", 0),
    ("on disk, MB", "disk MB", 0),
    ("add 1,000 texts, CPU seconds", "add CPU seconds", 2),
    ("add 1,000 texts, seconds by the clock", "add seconds", 2),
    ("exact, CPU ms a query", "exact CPU ms", 1),
    ("exact, ms by the clock", "exact ms", 1),
    ("cells or graph, CPU ms a query", "cells CPU ms", 1),
    ("cells or graph, ms by the clock", "cells ms", 1),
    ("recall of these", "cells recall", 3),
    ("recall of exact search, which rounds", "exact recall", 3),
    ("words, CPU ms a query", "words CPU ms", 1),
    ("hybrid, CPU ms a query", "hybrid CPU ms", 1),
    ("hybrid, ms by the clock", "hybrid ms", 1),
    ("hybrid with a filter, CPU ms a query", "where CPU ms", 1),
)
#: What is compared as a ratio.
RATIOS = (
    ("build", "build CPU seconds"),
    ("adding", "add CPU seconds"),
    ("exact search", "exact CPU ms"),
    ("search in part", "cells CPU ms"),
)


def quality() -> str:
    lines = lines_of("retrieval")
    rows = [line for line in lines if "retrieval" in line]
    checks = [line for line in lines if "bm25" in line]
    table = [
        "| set | texts | queries | meaning | words | hybrid | over the better half | better, worse |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        figures = " | ".join(f"{100 * row[mode]:.2f}" for mode in MODES)
        table.append(
            f"| {row['retrieval']} | {row['texts']:,} | {row['queries']:,} | {figures} | "
            f"{_gain(row['gain'], row['error'])} | {row['better']}, {row['worse']} |"
        )
    means = " | ".join(f"{100 * fmean(row[mode] for row in rows):.2f}" for mode in MODES)
    table.append(f"| mean | | | {means} | | |")
    queries = sum(line["queries"] for line in checks)
    largest = max(line["difference"] for line in checks)
    agreeing = min(line["agreeing"] for line in checks)
    return "\n".join(
        [
            *table,
            "",
            f"BM25 is that of the package `bm25s` (Lucene's) on the same tokens: over {queries:,} queries the largest difference of a score is "
            f"{largest:.0e}, and the first hit has the same score for {100 * agreeing:.0f} % of them at least.",
            "",
        ]
    )


def _gain(more: float, error: float) -> str:
    """A gain in points and its standard error."""
    return f"{100 * more:+.2f} ± {100 * error:.2f}"


def tries() -> str:
    """What each way to join meaning and words gave on the tuning queries, the likeliest to lose on no set first."""
    lines = [line for line in lines_of("retrieval") if "fusion" in line]
    names = list(lines[0]["sets"])
    table = [
        f"| score | {' | '.join(names)} | chance |",
        "|---|" + "---:|" * (len(names) + 1),
    ]
    for line in sorted(lines, key=lambda line: -line["chance"]):
        gains = " | ".join(_gain(*line["sets"][name][1:]) for name in names)
        table.append(f"| {line['fusion']} | {gains} | {line['chance']:.3f} |")
    queries = {
        line["tuning"]: line["queries"] for line in lines_of("retrieval") if "tuning" in line
    }
    counted = ", ".join(f"{name} {queries[name]:,}" for name in names)
    return "\n".join([*table, "", f"Queries: {counted}.", ""])


def million() -> str:
    """A table for each run: one has as many texts for all of its parts."""
    made: list[str] = []
    run: list[dict[str, Any]] = []
    for line in [*lines_of("index"), {"texts": 0}]:
        if "texts" in line:
            made += _table(run) if run else []
            run = []
        run.append(line)
    return "\n".join(made)


def _table(run: list[dict[str, Any]]) -> list[str]:
    about, *parts = run
    names = [part["part"] for part in parts]
    table = [
        f"{about['texts']:,} texts, {about['dim']} dimensions, encoded in {about['encode seconds']:.0f} seconds, all parts on the same vectors:",
        "",
        f"| | {' | '.join(names)} |",
        "|---|" + "---:|" * len(names),
    ]
    for title, field, digits in FIGURES:
        cells = [f"{part[field]:,.{digits}f}" if field in part else "" for part in parts]
        if any(cells):
            table.append(f"| {title} | {' | '.join(cells)} |")
    settings = [
        f"{part['part']} {json.dumps(part['setting'])}" for part in parts if "setting" in part
    ]
    told = [f"Settings: {', '.join(settings)}.", ""] if settings else []
    return [*table, "", *told, *_ratios(parts)]


def _ratios(parts: list[dict[str, Any]]) -> list[str]:
    first, peers = parts[0], [part for part in parts if not part["part"].startswith("noppa")]
    lines = []
    for peer in peers:
        shares = [
            f"{name} {first[field] / peer[field]:.2f}"
            for name, field in RATIOS
            if field in first and field in peer
        ]
        lines.append(
            f"CPU time of {first['part']} over that of {peer['part']}: {', '.join(shares)}."
        )
    return [*lines, ""] if lines else []

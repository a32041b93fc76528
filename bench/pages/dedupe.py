"""What docs/dedupe.md says of time, memory and recall."""

from __future__ import annotations

import re
from typing import Any

from pages.results import lines_of


def measured() -> str:
    rows = lines_of("dedupe")
    return "\n".join([*_runs(rows), "", *_recall(rows), ""])


def _runs(rows: list[dict[str, Any]]) -> list[str]:
    """A line for each program and number of texts, the last run of each."""
    last = {(row["rows"], row["program"]): row for row in rows if row["figure"] == "run"}
    table = [
        "| texts | program | processor time | of noppa dedupe | by the clock | own memory | with mapped files | kept |",
        "|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    for (count, program), row in sorted(last.items()):
        ours = last[count, "noppa dedupe"]["cpu_seconds"]
        stopped = row.get("stopped_after_minutes")
        over = "over " if stopped else ""
        clock = f"stopped after {stopped:.0f} min" if stopped else f"{row['seconds']:.0f} s"
        ratio = f"{over}{row['cpu_seconds'] / ours:.1f}"
        version = f" {row['version']}" if "version" in row else ""
        table.append(
            f"| {count:,} | {program}{version} | {over}{row['cpu_seconds']:.0f} s | {ratio} | {clock} "
            f"| {row['own_megabytes']:,.0f} MB | {row['peak_megabytes']:,.0f} MB | {_kept(row)} |"
        )
    busy = max(row["load_before"] for row in last.values())
    cores = next(iter(last.values()))["cores"]
    return [
        f"Threshold 0.9, {cores} cores, which other work shared (a load of up to {busy:.0f}, so that processor time tells more than the "
        "clock); all programs of one number of texts one after the other. The texts are lines of English and edited copies of them (`bench/dedupe.py`); semhash is given the vectors, noppa makes "
        "its own. Own memory is that of the process without the files that it maps, which the system can take back.",
        "",
        *table,
        "",
        *_again(last),
        *_untried(last),
    ]


def _kept(row: dict[str, Any]) -> str:
    """As the program says: in a figure, or in its last line."""
    if "kept" in row:
        return f"{row['kept']:,}"
    told = re.search(r"([\d,]+) of [\d,]+ records kept", row["note"])
    return told[1] if told else ""


def _again(last: dict[tuple[int, str], dict[str, Any]]) -> list[str]:
    ours = {count: row for (count, program), row in last.items() if program == "noppa.deduplicate"}
    ours = {count: row for count, row in ours.items() if row["again_cpu_seconds"] > 0.1}
    largest = ours[max(ours)]
    return [
        f"Of the {largest['cpu_seconds']:.0f} s for {max(ours):,} texts, checksums and encoding took "
        f"{largest['encode_cpu_seconds']:.0f} s; `at(0.95)` after it took {largest['again_cpu_seconds']:.0f} s."
    ]


def _untried(last: dict[tuple[int, str], dict[str, Any]]) -> list[str]:
    """Up to how many texts semhash was tried, where noppa was with more."""
    most = max(count for count, _ in last)
    tried = max(count for count, program in last if program == "semhash")
    return [] if tried == most else [f"semhash was not tried with more than {tried:,} texts here."]


def _recall(rows: list[dict[str, Any]]) -> list[str]:
    """The last line of each threshold."""
    last = {row["threshold"]: row for row in rows if row["figure"] == "recall"}
    first = next(iter(last.values()))
    table = [
        "| threshold | pairs | of these compared in cells | removed by comparing all | of these removed by cells |",
        "|---:|---:|---:|---:|---:|",
    ]
    for threshold, row in sorted(last.items()):
        table.append(
            f"| {threshold:g} | {row['pairs']:,} | {row['pairs_compared'] / row['pairs']:.4f} "
            f"| {row['removed_by_all']:,} | {row['removed_by_both'] / row['removed_by_all']:.4f} |"
        )
    others = " other than those that their number was chosen on" if "others" in first else ""
    return [
        f"What cells miss, of {first['rows']:,} different texts among 100,000 such lines{others}, compared in {first['cells']} cells and "
        "all with all:",
        "",
        *table,
    ]

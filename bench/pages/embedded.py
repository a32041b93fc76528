"""What docs/default-model.md says of the embedded model: its quality, what it costs, what was tried."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

import noppa
from noppa.paper import protocols, report
from noppa.paper.tasks import CLASSIFICATION
from pages.results import PRESETS, called, lines_of, peer_rows

COSINES = ("STS-B", "SICK-R")
#: The tasks that a preset is for.
OWN = {"default": CLASSIFICATION, "similarity": COSINES, "small": COSINES}
#: What the second edition is to cost at most, and what speed it is to have at least, as model2vec's.
MOST_BYTES, MOST_TIMES = 45e6, 1.3
LEAST_SPEED = {"default": 1.5, "similarity": 5.0}
#: What 4 bits are to lose at most in the mean of a preset's own tasks.
MOST_LOST = 0.1
#: What a preset is to score at least.
LEAST_SCORE = {("default", "mean of eight"): 83.6, ("similarity", "STS-B"): 78.2}
LEAST_SCORE |= {("similarity", "SICK-R"): 68.5}


#: The row of variants.jsonl that the default preset is.
TAKEN = "`context` too"


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "".join(f"| {' | '.join(line)} |\n" for line in [head, rule, *lines])


def quality() -> str:
    """The table of all tasks, and what rounding to 4 bits cost."""
    (scores,) = report.tables(peer_rows())
    head, *lines = scores.lines()
    return f"{table(head, lines)}\n{aims_of_scores(scores)}\n\n{rounding()}"


def aims_of_scores(scores: report.Table) -> str:
    verdicts = []
    for (preset, what), least in LEAST_SCORE.items():
        row = PRESETS[preset]
        cells = scores.rows.get(row, {})
        score = scores.mean(row) if what == report.MEAN else fmean(cells.get(what, [float("nan")]))
        if score is not None:
            verdicts.append(f"{what} of {row} {verdict(score, least, 2)}")
    return f"Aims that were set before: {'; '.join(verdicts)}."


def verdict(value: float, aim: float, digits: int, least: bool = True) -> str:
    holds = value >= aim if least else value <= aim
    return f"{value:.{digits}f} (at {'least' if least else 'most'} {aim:g}: {'met' if holds else 'missed'})"


def rounding() -> str:
    """What 4 bits lost against float32, for each preset on the tasks that it is for."""
    rows = lines_of("rounding")
    first = [row for row in rows if row["seed"] == protocols.SEED]
    parts = [
        f"- {lost(preset, [row for row in first if row['preset'] == preset])}.\n" for preset in OWN
    ]
    return (
        "4 bits against the same model in float32. A loss below zero is a gain; behind ± is its standard error where that was measured, from "
        "the test rows that only one of the two gets right (for correlations, from a bootstrap).\n\n"
        f"{''.join(parts)}\n{other_seeds(rows)}"
    )


def loss_of(row: dict[str, Any]) -> float:
    return float(row["exact"]["score"] - row["coarse"]["score"])


def error_of(row: dict[str, Any]) -> float:
    """The standard error of a loss in points, from how often only one of the two was right; NaN where that was not recorded."""
    if "rows" not in row:
        return float(row.get("error", math.nan))
    once, twice = row["only_exact"] + row["only_coarse"], row["only_exact"] - row["only_coarse"]
    return 100 * math.sqrt(once - twice**2 / row["rows"]) / int(row["rows"])


def lost(preset: str, rows: Sequence[dict[str, Any]]) -> str:
    """One preset's part: on test and on development rows, the tasks not run, and where another l2 was chosen."""
    if not rows:
        return f"`{preset}`: not measured"
    tasks = [row["task"] for row in rows]
    worst = max(rows, key=loss_of)
    missing = [task for task in OWN[preset] if task not in tasks]
    other = [row["task"] for row in rows if row["exact"].get("l2") != row["coarse"].get("l2")]
    mean, error = fmean(map(loss_of, rows)), math.hypot(*map(error_of, rows)) / len(rows)
    development = fmean(row["exact"]["dev"] - row["coarse"]["dev"] for row in rows)
    checksum = noppa.load(preset).identity.checksum
    return (
        f"`{preset}` loses in the mean of {', '.join(tasks)} {verdict(mean, MOST_LOST, 2, least=False)}{_plus_minus(error)}, most on "
        f"{worst['task']}, {loss_of(worst):.2f}{_plus_minus(error_of(worst))}; on their development rows {development:.2f}"
        + (f"; another l2 was chosen on {', '.join(other)}" if other else "")
        + (f"; not measured on {', '.join(missing)}" if missing else "")
        + (
            "; measured on an earlier form of the preset"
            * any(row["model"] != checksum for row in rows)
        )
    )


def _plus_minus(error: float) -> str:
    return "" if math.isnan(error) else f" ± {error:.2f}"


def other_seeds(rows: Sequence[dict[str, Any]]) -> str:
    """The losses of `default` where the folds are those of other seeds, and its mean of eight over all seeds."""
    default = [row for row in rows if row["preset"] == "default"]
    tasks = dict.fromkeys(row["task"] for row in default if row["seed"] != protocols.SEED)
    if not tasks:
        return ""
    own: dict[str, list[dict[str, Any]]] = {task: [] for task in OWN["default"]}
    for row in default:
        own[row["task"]].append(row)
    each = [f"{task} {', '.join(map(_with_l2, own[task]))}" for task in tasks]
    mean = fmean(fmean(map(loss_of, several)) for several in own.values() if several)
    return (
        "Where a task has no development rows, five folds of its training rows choose l2, and a few rows can change the choice. The losses of "
        f"`default` with the folds of several seeds (l2 in float32 / in 4 bits): {'; '.join(each)}. With the mean over seeds for these "
        f"tasks, its loss is {verdict(mean, MOST_LOST, 2, least=False)}.\n"
    )


def _with_l2(row: dict[str, Any]) -> str:
    chosen = [format(fmean(row[name]["l2"]), "g") for name in ("exact", "coarse")]
    return f"{loss_of(row):.2f} ({' / '.join(chosen)})"


def cost_rows() -> dict[str, dict[str, Any]]:
    """The last row of each model in embedded.jsonl, by the name that tables use."""
    rows = {}
    for row in lines_of("embedded"):
        edition = row["edition"]
        rows[called(row["model"], edition) if edition else row["model"]] = row
    return rows


def cost() -> str:
    head = ["model", "MB", "cold start, ms", "MB of memory, first vector", "MB of memory, SICK"]
    head += ["speed, clock", "speed, CPU time"]
    rows = cost_rows()
    return (
        f"{table(head, (cost_line(name, row) for name, row in rows.items()))}\n"
        "MB: the wheel, which holds all presets (WordLlama's too; of MiniLM the ONNX graph in float32, without what runs it). "
        f"Saved on their own: {saved(rows)}. "
        "Cold start: import, load and first vector of a fresh process, CPU time. Memory: resident, mapped files included, after the first vector "
        "and after all texts of SICK, whose vectors are freed by then. Speed: texts of SICK a second from raw text on "
        "two threads, model2vec's average of 300 dimensions = 1, the best of several runs in turns. By the clock it favours short "
        "runs where a machine has other work; by CPU time, which sums the threads, it does not, so that "
        f"the plot takes that. {of_context()}The table at the end compares parts.\n\n{aims_of_cost(rows)}\n"
    )


def of_context() -> str:
    """What the part costs that `default` did not have yet where its row of embedded.jsonl is older."""
    if cost_rows()[called("default", "second")].get("dim") == noppa.load().dim:
        return ""
    first, *others = lines_of("variants")
    (taken,) = (row for row in others if row["what"] == TAKEN)
    more = 100 * (taken["microseconds"] / first["microseconds"] - 1)
    return (
        f"`default` was measured without its part `context`, which takes {more:.0f} % more time. "
    )


def cost_line(name: str, row: dict[str, Any]) -> list[str]:
    size = "" if row["bytes"] is None else f"{row['bytes'] / 1e6:.1f}"
    memory = [f"{row[key] / 1e6:.0f}" for key in ("memory_first", "memory_after")]
    # CPU time of worker processes is not in the row.
    cpu = "" if "processes" in name else f"{row['cpu_ratio']:.3g}"
    return [name, size, f"{1000 * row['cold_start']:.0f}", *memory, f"{row['ratio']:.3g}", cpu]


def saved(rows: dict[str, dict[str, Any]]) -> str:
    return ", ".join(
        f"{name} {row['saved_bytes'] / 1e6:.1f} MB"
        for name, row in rows.items()
        if "saved_bytes" in row
    )


def aims_of_cost(rows: dict[str, dict[str, Any]]) -> str:
    """Each aim, and whether it was met."""
    default = rows[called("default", "second")]
    parts = [f"wheel, MB: {verdict(default['bytes'] / 1e6, MOST_BYTES / 1e6, 1, least=False)}"]
    parts += [
        f"speed of `{preset}`, {name}: {verdict(rows[called(preset, 'second')][key], least, 2)}"
        for preset, least in LEAST_SPEED.items()
        for key, name in (("ratio", "clock"), ("cpu_ratio", "CPU time"))
    ]
    names = {"cold_start": "cold start", "memory_first": "memory, first vector"}
    names |= {"memory_after": "memory, SICK"}
    for key, name in names.items():
        for preset in LEAST_SPEED:
            new, old = (rows[called(preset, edition)][key] for edition in ("second", "first"))
            times = verdict(new / old, MOST_TIMES, 2, least=False)
            parts.append(f"{name} of `{preset}`, times the first edition's: {times}")
    return "Aims that were set before:\n\n" + "".join(f"- {part}\n" for part in parts)


def tried() -> str:
    """What was tried for the features and for the cosines, on training and development rows."""
    rows = lines_of("tried")
    features = [row for row in rows if "mean" in row]
    cosines = [row for row in rows if "sts" in row]
    return (
        table(
            ["words and method, for `default`", "mean", "taken"],
            ([row["what"], _figure(row["mean"]), row["taken"]] for row in features),
        )
        + "\n"
        + table(
            ["fit to gte-small, for `similarity`", "STS-B dev / train", "SICK-R dev / train", "taken"],
            (
                [row["what"], _pair(row["sts"]), _pair(row.get("sick")), row["taken"]]
                for row in cosines
            ),
        )
    )  # fmt: skip


def variants() -> str:
    """Settings of the default preset on training rows, as bench/embedded_variants.py measured them."""
    rows = lines_of("variants")
    tasks = [*rows[0]["left_out"]]
    return table(
        ["parts and settings", "numbers", "µs a text", *tasks, "mean"],
        (
            [
                f"{row['what']} (taken)" if row["what"] == TAKEN else row["what"],
                f"{row['dim']:,}",
                f"{row['microseconds']:.1f}",
                *(f"{row['left_out'][task]:.2f}" for task in tasks),
                f"{fmean(row['left_out'].values()):.2f}",
            ]
            for row in rows
        ),
    )


def _figure(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.2f}"


def _pair(values: Sequence[float] | None) -> str:
    return "" if values is None else " / ".join(f"{value:.2f}" for value in values)

"""Write the generated tables and plots of the documentation from bench/results and reliability/results.

python bench/document.py           # update the pages
python bench/document.py --check   # fail if a page or a plot is out of date

A page contains a generated block between `<!-- made by bench/document.py: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from statistics import fmean
from typing import Any

import paper_claims
import paper_tables
import pictures
from tables import (
    ROOT,
    SIMILARITY,
    Cell,
    Row,
    cost_rows,
    from_rows,
    markdown,
    mean,
    pivot,
    preset_name,
    quality_scores,
    read,
    score_table,
    select,
)

from noppa.paper.tasks import CLASSIFICATION

TRAINING_ROWS = {8: "8 per class", 100: "100", 1000: "1,000", "all": "all"}
CLASSIFIERS = {
    "Classifier": "`noppa.Classifier`",
    "TF-IDF": "TF-IDF n-grams",
    "noppa.load()": "`noppa.load()`",
    "all-MiniLM-L6-v2": "all-MiniLM-L6-v2",
}
INDEX_FIELDS = (
    "build CPU seconds", "build MB", "disk MB", "add CPU seconds", "exact CPU ms", "exact recall", "cells CPU ms",
    "cells recall", "words CPU ms", "hybrid CPU ms", "where CPU ms",
)  # fmt: skip
#: The costs of a model, for the README and the comparison.
COSTS: dict[str, Cell] = {
    "texts per CPU second": lambda row: f"{1 / row['cpu_seconds']:,.0f}",
    "cold start, CPU ms": lambda row: f"{1000 * row['cold_start']:.0f}",
    "memory, MB": lambda row: f"{row['memory_first'] / 1e6:.0f}",
}


def quality(head: str = "") -> str:
    lines = [
        [name, f"{mean(own):.2f}", *(f"{fmean(own[task]):.2f}" for task in SIMILARITY)]
        for name, own in quality_scores().items()
    ]
    return markdown([head, "mean of eight", *SIMILARITY], lines)


def model_scores() -> str:
    scores = quality_scores()
    return score_table(
        "encoder", {name: own for name, own in scores.items() if "NoPPA" not in name}
    )


def costs(more: dict[str, Cell]) -> str:
    rows = [{"name": name, **row} for name, row in cost_rows().items()]
    return from_rows(rows, {"": "{name}", **COSTS, **more})


def megabytes(field: str) -> Callable[[Row], str]:
    """Return a cell that formats a number of bytes; empty if the row has none."""
    return lambda row: f"{row[field] / 1e6:.1f}" if row.get(field) else ""


def comparison() -> str:
    scores, rows = quality_scores(), cost_rows()
    lines = []
    for name in {**scores, **rows}:
        own = scores.get(name)
        cells = (
            [f"{mean(own):.2f}", *(f"{fmean(own[t]):.2f}" for t in SIMILARITY)] if own else [""] * 3
        )
        row = rows.get(name)
        lines.append([name, *cells, *(cell(row) if row else "" for cell in COSTS.values())])  # type: ignore[operator]
    return markdown(["", "mean of eight", *SIMILARITY, *COSTS], lines)


def classifier_scores(size: Any) -> dict[str, dict[str, list[float]]]:
    """Return the scores of each classifier trained on a number of rows."""
    rows = [row for row in read("classifier") if "score" in row and row["rows"] == size]
    scores = pivot(rows, lambda row: CLASSIFIERS[row["encoder"]])
    if size == "all":
        scores |= {name: quality_scores()[name] for name in [*CLASSIFIERS.values()][2:]}
    return {name: scores[name] for name in CLASSIFIERS.values() if name in scores}


def classifiers() -> str:
    lines = [
        [name, title, f"{mean(own):.2f}", *(f"{fmean(own[task]):.2f}" for task in CLASSIFICATION)]
        for size, title in TRAINING_ROWS.items()
        for name, own in classifier_scores(size).items()
    ]
    return markdown(["", "training rows", "mean of eight", *CLASSIFICATION], lines)


def by_training_rows() -> str:
    columns = {title: classifier_scores(size) for size, title in TRAINING_ROWS.items()}
    lines = [
        [name, *(f"{mean(column[name]):.2f}" for column in columns.values())]
        for name in CLASSIFIERS.values()
    ]
    return markdown(["mean of eight, by training rows", *columns], lines)


def published() -> str:
    """Compare with the scores that model2vec publishes."""
    ours = classifier_scores(1000)[CLASSIFIERS["Classifier"]]
    columns: dict[str, Cell] = {
        "published by model2vec": "[{encoder}]({source})",
        "task": "{task}",
        "training rows": "{rows:,}",
        "accuracy": "{score:.2f}",
        "`noppa.Classifier`": lambda row: f"{fmean(ours[row['task']]):.2f}",
    }
    return from_rows(read("published"), columns)


def short(value: float | str) -> str:
    """Format a number with three digits."""
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def million() -> str:
    """Compare the indexes of one million texts, one column per index."""
    about, *parts = read("index")
    names = [part["part"] for part in parts]
    lines = [[field, *(short(part.get(field, "")) for part in parts)] for field in INDEX_FIELDS]
    return markdown([f"{about['texts']:,} texts, {about['dim']} dimensions", *names], lines)


def long_texts() -> str:
    series = pictures.curves_data()["length"]
    lengths = sorted({x for points in series.values() for x, _ in points})
    lines = [
        [name, *(short(dict(points).get(x, "")) for x in lengths)]
        for name, points in series.items()
    ]
    return markdown(["ms per text, by tokens", *(f"{length:,}" for length in lengths)], lines)


def instructions() -> str:
    rows = read("instructions")
    counts = {(row["case"], row["set"]): f"{row['instructions']:,}" for row in rows}
    sets = list(dict.fromkeys(row["set"] for row in rows))
    lines = [
        [case, *(counts.get((case, name), "") for name in sets)]
        for case in dict.fromkeys(row["case"] for row in rows)
    ]
    return markdown(["instructions", *sets], lines)


def shown_name(name: str) -> str:
    if name in ("default", "similarity"):
        return preset_name(name)
    return name if "model2vec" in name else f"`{name}`"


def against_model2vec() -> str:
    rows = {row["name"]: row for row in select(read("speed"), what="encode")}
    peer = rows["model2vec"]
    shown = [row for name, row in rows.items() if not name.endswith("one thread")]
    columns: dict[str, Cell] = {
        "": lambda row: shown_name(row["name"]),
        "texts per second": lambda row: f"{1e6 / row['clock']:,.0f}",
        "CPU µs per text": "{cpu:.2f}",
        "speed by CPU time, model2vec = 1": lambda row: f"{peer['cpu'] / row['cpu']:.2f}",
        "by the clock": lambda row: f"{peer['clock'] / row['clock']:.2f}",
    }
    return from_rows(shown, columns)


def requests() -> str:
    columns: dict[str, Cell] = {"texts": "{texts}", "connections": "{connections}"}
    for name in ("noppa", "model2vec"):
        columns |= {
            f"{name}: requests/s": lambda row, name=name: f"{row[f'{name} rate']:,.0f}",
            f"{name}: p99, ms": lambda row, name=name: f"{row[f'{name} p99']:,.1f}",
            f"{name}: CPU ms": lambda row, name=name: f"{row[f'{name} cpu']:.2f}",
        }
    return from_rows([row for row in read("server") if "connections" in row], columns)


def outcomes(row: Row) -> str:
    counts = row.get("outcomes", {}).items()
    return row.get("error") or "; ".join(f"{name} {count}" for name, count in counts)


def plain(
    file: str, columns: dict[str, Cell], folder: str = "bench", **fields: object
) -> Callable[[], str]:
    """Return a block: one line per row of a result file whose fields match."""
    return lambda: from_rows(select(read(file, folder), **fields), columns)


#: Page -> block -> function that returns its text.
PAGES: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {
        "quality": quality,
        "speed": partial(
            costs,
            {"on disk, MB": megabytes("bytes"), "speed, model2vec = 1": "{cpu_ratio:.3g}"},
        ),
    },
    "RELEASING.md": {
        "wheels": plain(
            "wheels",
            {"wheel": "{wheel}", "Python": "{python}", "NumPy": "{numpy}", "C library": "{libc}", "tokens": "{tokens}"},
            "reliability",
        ),
    },
    "docs/classify.md": {
        "classifier": classifiers,
        "flips": plain(
            "classifier",
            {
                "task": "{task}",
                "model": lambda row: CLASSIFIERS[row["encoder"]],
                "rows": "{rows:,}",
                "flipped labels": "{of}",
                "found": "{found}",
            },
            what="flips",
        ),
    },
    "docs/comparison.md": {"glance": comparison, "model2vec": published, "rows": by_training_rows},
    "docs/dedupe.md": {
        "runs": plain(
            "dedupe",
            {
                "texts": "{rows:,}",
                "program": "{program}",
                "CPU seconds": "{cpu_seconds:,.0f}",
                "seconds": "{seconds:,.0f}",
                "memory, MB": "{own_megabytes:,.0f}",
                "kept": lambda row: f"{row['kept']:,}" if "kept" in row else "",
            },
            figure="run",
        ),
        "recall": plain(
            "dedupe",
            {
                "threshold": "{threshold:g}",
                "removed by comparing all": "{removed_by_all:,}",
                "of these removed": lambda row: f"{row['removed_by_both'] / row['removed_by_all']:.4f}",
            },
            figure="recall",
        ),
    },
    "docs/default-model.md": {
        "quality": model_scores,
        "cost": partial(
            costs, {"wheel or model, MB": megabytes("bytes"), "saved alone, MB": megabytes("saved_bytes")}
        ),
    },
    "docs/evaluation.md": {
        "coverage": paper_tables.coverage,
        "network": partial(paper_tables.table_1, "senteval"),
        "logistic": partial(paper_tables.table_1, "fast"),
        "encoders": model_scores,
        "ablations": paper_tables.ablations,
        "selection": paper_tables.selection,
        "table 2": paper_tables.table_2,
        "replay": paper_tables.replay,
        "tuned": paper_tables.tuned,
        "epochs": paper_tables.epochs,
        "speed": paper_tables.speed,
        "grid": paper_tables.grid,
        "parity": paper_tables.parity,
    },
    "docs/languages.md": {
        "known": plain(
            "languages",
            {
                "language": "{language}",
                "tokenizer": "`{code}` = `{tokenizer}`",
                "texts": "{texts:,}",
                "vocabulary": "{words:,}",
                "known": "{known:.1%}",
                "by the English rules": "{english:.1%}",
            },
            figure="known",
        ),
        "segmentation": plain(
            "languages",
            {
                "language": "{language}",
                "package": "{package}",
                "vocabulary": "{vocabulary}",
                "words": "{words:,}",
                "agreement, F1": "{f1:.3f}",
                "times as fast": "{faster:.1f}",
            },
            figure="segmentation",
        ),
    },
    "docs/paper.md": {"claims": paper_claims.claims, "gains": paper_claims.gains},
    "docs/reliability.md": {
        "fuzz": plain(
            "fuzz",
            {
                "target": "`{target}`",
                "engine": "{engine}",
                "executions": "{executions:,}",
                "seconds": "{seconds:.0f}",
                "crashes": lambda row: len(row["crashes"]),
            },
            "reliability",
        ),
        "builds": plain(
            "builds",
            {"build": "{what}", "tests passed": "{passed:,}", "reports": "{reports}", "seconds": "{seconds:.0f}"},
            "reliability",
        ),
        "chaos": plain(
            "chaos",
            {
                "command": "{command}",
                "scenario": lambda row: row["scenario"].replace("_", " "),
                "rounds": "{rounds}",
                "outcomes": outcomes,
            },
            "reliability",
        ),
        "requests": plain(
            "worst_requests",
            {
                "route": "`{route}`",
                "request": "{request}",
                "memory, MB (limit)": "{megabytes:.0f} ({most_megabytes})",
                "seconds (limit)": "{seconds:.1f} ({most_seconds})",
                "slowest /health (limit)": "{health_seconds:.2f} ({most_health_seconds:g})",
            },
            "reliability",
        ),
    },
    "docs/scale.md": {
        "runs": plain(
            "cluster",
            {
                "engine": "{engine}",
                "workers": "{workers}",
                "sentences": "{rows:,}",
                "seconds": "{seconds:.0f}",
                "CPU seconds": "{cpu_seconds:.0f}",
                "same bytes": lambda row: "yes" if row["byte_identical"] else "NO",
            },
        ),
    },
    "docs/search.md": {
        "quality": lambda: from_rows(
            [row for row in read("retrieval") if "retrieval" in row],
            {
                "set": "{retrieval}",
                "texts": "{texts:,}",
                "queries": "{queries:,}",
                **{mode: f"{{{mode}:.4f}}" for mode in ("meaning", "words", "hybrid")},
                "gain over the better one": "{gain:+.4f} ± {error:.4f}",
            },
        ),
        "million": million,
    },
    "docs/server.md": {"load": requests},
    "docs/speed.md": {
        "model2vec": against_model2vec,
        "curves": long_texts,
        "instructions": instructions,
    },
}  # fmt: skip


def replace_block(page: str, name: str, text: str) -> str:
    """Return a page with the content of one block replaced."""
    mark = f"<!-- made by bench/document.py: {name} -->\n"
    if page.count(mark) != 1:
        raise SystemExit(
            f"expected the line {mark.strip()!r} once, found it {page.count(mark)} times"
        )
    before, _, rest = page.partition(mark)
    return f"{before}{mark}{text}<!-- end -->{rest.partition('<!-- end -->')[2]}"


def outdated() -> Iterable[tuple[str, str]]:
    """Yield the path and the new text of each page that is out of date."""
    for path, blocks in PAGES.items():
        old = new = (ROOT / path).read_text(encoding="utf-8")
        for name, block in blocks.items():
            new = replace_block(new, name, block())
        if new != old:
            yield path, new


def main() -> None:
    pages, plots = dict(outdated()), pictures.stale()
    if "--check" in sys.argv[1:]:
        if names := [*pages, *plots]:
            sys.exit(f"out of date: {', '.join(names)}; run python bench/document.py")
        return
    for path, text in pages.items():
        (ROOT / path).write_text(text, encoding="utf-8")
    for name in plots:
        pictures.draw(name)


if __name__ == "__main__":
    main()

"""Fills the marked blocks of docs/integrations.md from bench/results: every number there is made here.

python bench/integrations.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "integrations.md"
RESULTS = ROOT / "bench" / "results"

Records = list[dict[str, Any]]


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def sklearn(records: Records) -> str:
    names = list(dict.fromkeys(record["pipeline"] for record in records))
    rows = []
    for size in dict.fromkeys(record["training_rows"] for record in records):
        found = {r["pipeline"]: r for r in records if r["training_rows"] == size}
        cells = [f"{found[name]['accuracy']:.2f}" for name in names]
        cells += [f"{found[name]['fit_seconds']:.2f}" for name in names]
        cells += [f"{found[name]['seconds_per_1000']:.3f}" for name in names]
        rows.append([f"{size:,}", *cells])
    head = ["training rows"]
    for what in ("accuracy", "fit, s", "1,000 texts, s"):
        head += [
            f"{what}: {name.removesuffix('Transformer').removesuffix('Vectorizer')}"
            for name in names
        ]
    settings = len(records[0]["grid"]["vectors__a"])
    chosen = sorted({c["vectors__a"] for r in records for c in r["chosen"] if "vectors__a" in c})
    return (
        f"SUBJ, logistic regression on either, mean of {len(records[0]['folds'])} outer folds; in each, inner folds choose "
        f"among eight settings: {settings} of `a` and two of C for `NoppaTransformer`, n-grams, sublinear counts and C for "
        f"`TfidfVectorizer` (bench/sklearn_subj.py). The folds chose `a` among {', '.join(f'{a:g}' for a in chosen)}. Times "
        "are seconds of CPU, of fitting the chosen pipeline and of marking a thousand texts.\n\n"
        + table(head, rows)
    )


def mteb(records: Records) -> str:
    rows = [
        [record["task"], f"`{record['preset']}`", name, f"{value:.2f}"]
        for record in records
        for name, value in record["scores"].items()
    ]
    return (
        "The same data through MTEB's runner and through our own evaluation, in percent (bench/mteb_runner.py). MTEB's "
        "classifier is a logistic regression as it comes, ours chooses its l2 on training rows.\n\n"
        + table(["task", "preset", "through", "score"], rows)
    )


def model2vec(records: Records) -> str:
    (found,) = records
    own, other = (found["cpu_seconds"][name] for name in ("noppa", "model2vec"))
    return (
        f"Of {found['texts']:,} texts from many sources the exported rules split {100 * found['same_tokens_of_whole_words']:g} "
        f"percent as ours do. With the word pieces of the preset it is {100 * found['same_tokens']:.2f} percent, whose vectors "
        f"differ by at most {found['largest_difference']:.1e}; the others, most of them with initials such as U.S.S.R. or with "
        "accents that would have to go before a word is taken apart, have a mean cosine of "
        f"{found['mean_cosine_of_others']:.2f} with ours (bench/model2vec_tokens.py). model2vec took {other:.1f} seconds of "
        f"CPU for them, noppa {own:.1f}.\n"
    )


def onnx(records: Records) -> str:
    (found,) = records
    batch, quickest = min(found["onnxruntime_seconds"].items(), key=lambda item: item[1])
    return (
        f"The default preset is a file of {found['file_bytes'] / 1e6:.0f} MB, its vectors differ from ours by at most "
        f"{found['largest_difference']:.0e}. It is there for where noppa is not: for {found['texts']:,} sentences of SICK on "
        f"one thread onnxruntime took {quickest:.2f} seconds of CPU, in batches of {batch}, and our kernels "
        f"{found['noppa_seconds']:.3f} (bench/onnx_speed.py).\n"
    )


BLOCKS: dict[str, Callable[[Records], str]] = {
    "sklearn": sklearn,
    "mteb": mteb,
    "model2vec": model2vec,
    "onnx": onnx,
}


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, made in BLOCKS.items():
        lines = (RESULTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        text = made([json.loads(line) for line in lines])
        mark = f"<!-- made by bench/integrations.py: {name} -->\n"
        page, count = re.subn(
            rf"({re.escape(mark)}).*?(<!-- end -->)",
            lambda found, text=text: f"{found[1]}{text}{found[2]}",
            page,
            flags=re.DOTALL,
        )
        if count != 1:
            raise SystemExit(f"{PAGE.name} has {count} blocks for {name}, not one")
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()

"""What docs/integrations.md says of scores and times."""

from __future__ import annotations

from pages.results import lines_of


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def sklearn() -> str:
    records = lines_of("sklearn")
    names = list(dict.fromkeys(record["pipeline"] for record in records))
    rows = []
    for size in dict.fromkeys(record["training_rows"] for record in records):
        by_pipeline = {r["pipeline"]: r for r in records if r["training_rows"] == size}
        cells = [f"{by_pipeline[name]['accuracy']:.2f}" for name in names]
        cells += [f"{by_pipeline[name]['fit_seconds']:.2f}" for name in names]
        cells += [f"{by_pipeline[name]['seconds_per_1000']:.3f}" for name in names]
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


def mteb() -> str:
    records = lines_of("mteb")
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


def model2vec() -> str:
    records = lines_of("model2vec")
    (record,) = records
    own, other = (record["cpu_seconds"][name] for name in ("noppa", "model2vec"))
    return (
        f"Of {record['texts']:,} texts from many sources the exported rules split {100 * record['same_tokens_of_whole_words']:g} "
        f"percent as ours do. With the word pieces of the preset it is {100 * record['same_tokens']:.2f} percent, whose vectors "
        f"differ by at most {record['largest_difference']:.1e}; the others, most of them with initials such as U.S.S.R. or with "
        "accents that would have to go before a word is taken apart, have a mean cosine of "
        f"{record['mean_cosine_of_others']:.2f} with ours (bench/model2vec_tokens.py). model2vec took {other:.1f} seconds of "
        f"CPU for them, noppa {own:.1f}.\n"
    )


def onnx() -> str:
    (record,) = lines_of("onnx")
    batch, quickest = min(record["onnxruntime_seconds"].items(), key=lambda item: item[1])
    return (
        f"The default preset is a file of {record['file_bytes'] / 1e6:.0f} MB, its vectors differ from ours by at most "
        f"{record['largest_difference']:.0e}. It is there for where noppa is not: for {record['texts']:,} sentences of SICK on "
        f"one thread onnxruntime took {quickest:.2f} seconds of CPU, in batches of {batch}, and our kernels "
        f"{record['noppa_seconds']:.3f} (bench/onnx_speed.py).\n"
    )

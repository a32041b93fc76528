"""docs/paper.md: each claim of the paper, the evidence here, and a verdict that follows from the numbers."""

from __future__ import annotations

from collections.abc import Iterator
from math import hypot
from statistics import fmean

from noppa.paper.experiments import GRID_A
from noppa.paper.tasks import CLASSIFICATION
from pages import ablations, figure_claims
from pages.claims import (
    FAILED,
    HELD,
    UNTESTED,
    Claim,
    best_of_all,
    best_of_bags,
    compared,
    parametric,
)
from pages.gains import COMPARED, SHORT, gains
from pages.selection import AS_PAPER, HONEST, chosen, replay_gains, searched
from pages.speeds import error, measured, speed_rows, timing
from pages.studies import grids
from pages.table_1 import PAPER, PRINTED_MEANS, SIMILAR


def never_above() -> Claim:
    found = [
        each["a"]
        for task in CLASSIFICATION
        for labels in (HONEST, AS_PAPER)
        for each in chosen(searched(), task, labels)
    ]
    above = sum(a > 0.1 for a in found)
    high = [f"{task} {a:g}" for task, a in best_in_grid().items() if a > 0.1]
    beyond = (
        f" Of the wider grid up to 1 the best a is above 0.1 on {', '.join(high)}." if high else ""
    )
    return Claim(
        "NoPPA never reaches its best score with a above 0.1",
        f"In {above} of the {len(found)} choices of our searches on the eight tasks the best a is above 0.1, although they end at 0.15.{beyond} "
        "The authors' own logs have 13 of 40 above it; their Table 2 cuts 0.139 to 0.1.",
        FAILED if above or high else HELD,
    )


def best_in_grid() -> dict[str, float]:
    """The a of the best test score of each classification task."""
    return {
        task: max(zip(map(max, cells), GRID_A, strict=True))[1]
        for task, cells in grids().items()
        if task in CLASSIFICATION
    }


SPEED_VECTORS = "word2vec-googlenews-300d-26k.bin"


def faster_without_log() -> Iterator[Claim]:
    rows = speed_rows(SPEED_VECTORS)
    kinds = ", ".join(f"{name} {timing(seconds)}" for name, seconds in rows.items())
    found = (
        f"{measured(len(rows['S3E']))}, 300 dimensions: {kinds}. "
        "All are this package's kernels: the authors' programs were not to be had here."
    )
    plain, square = fmean(rows["S3E"]), fmean(rows["NoPPA, kernel=square"])
    tie = hypot(error(rows["S3E"]), error(rows["NoPPA, kernel=square"]))
    yield Claim(
        "Without log2, NoPPA is 1.32 times faster than S3E",
        f"{found} Without log2 (x² in its place) NoPPA takes {square / plain:.2f} times as long as S3E.",
        HELD if square < plain - tie else f"{FAILED}: a tie" if square < plain + tie else FAILED,
    )
    whole = fmean(rows["NoPPA"])
    yield Claim(
        "NoPPA is slowed down by its log kernel (7.55 seconds with it, 2.45 without)",
        f"With it {whole / square:.2f} times as long as with x² here, where log2 is a polynomial in vector registers; in the paper 3.08 times.",
        "held, by less than there" if whole > square else FAILED,
    )


def lower_complexity() -> Claim:
    rows = speed_rows(SPEED_VECTORS)
    times = {name: fmean(rows[name]) / fmean(rows["NoPPA"]) for name in ("GEM", "S3E")}
    return Claim(
        "NoPPA has a lower time complexity than solutions by latent space analysis, GEM and S3E",
        f"Of NoPPA's time GEM takes {times['GEM']:.1f} times and S3E {times['S3E']:.2f} times, in the run above.",
        ", ".join(f"{HELD if ratio > 1 else FAILED} for {name}" for name, ratio in times.items()),
    )


def printed_means() -> Claim:
    """The last column of Table 1 against its other columns."""
    means = {name: fmean(score or 0 for score in PAPER[name]) for name in PRINTED_MEANS}
    wrong = [
        f"{name} {printed} for {means[name]:.2f}"
        for name, printed in PRINTED_MEANS.items()
        if abs(means[name] - printed) > 0.05 + 1e-9
    ]
    said, own = (each["CE-avg+NR"] - each["CE-avg"] for each in (PRINTED_MEANS, means))
    return Claim(
        "The means that Table 1 prints",
        f"Of its own cells, {len(wrong)} of {len(PRINTED_MEANS)} come out otherwise: {', '.join(wrong)}. "
        f"So noise removal seems to add {said:.1f} to CE-avg; the cells say {own:.2f}.",
        FAILED if wrong else HELD,
    )


def needs_whitening() -> Claim:
    """A limit that the paper names itself: cosines of anisotropic vectors."""
    parts, gains = [], []
    for file, table in ablations.tables().items():
        own, white = (table.rows.get(row, {}) for row in ("NoPPA", "NoPPA, whitened"))
        for task in SIMILAR:
            if task in own and task in white:
                before, after = fmean(own[task]), fmean(white[task])
                gains.append(after - before)
                parts.append(f"{task} {before:.1f} to {after:.1f} with {SHORT[file]}")
    return Claim(
        "NoPPA may not suit retrieval before post-processing such as whitening",
        f"Spearman's correlation of cosines, without and with whitening: {', '.join(parts)}.",
        HELD if min(gains) > 0 else FAILED,
    )


def claims() -> list[Claim]:
    return [
        best_of_bags(),
        best_of_all(),
        *(compared(said, new, old) for new, old, said in COMPARED),
        parametric(),
        never_above(),
        *faster_without_log(),
        lower_complexity(),
        *figure_claims.claims(),
        needs_whitening(),
        printed_means(),
        Claim(
            "Encoding takes O(n²d + k²d)",
            "The projection on k directions is k·d numbers: O(n²d + kd). Seen from the formula, not measured.",
            "held, as a bound that is not tight",
        ),
        Claim(
            "The scores of Table 1 themselves",
            "They need GloVe 840B of 300 dimensions, which was not to be had but for 7,700 words; other vectors give other scores, so "
            "only gains and ranks compare. They were chosen on test, with test text in the fit: replayed with GloVe 6B, the authors' way adds "
            f"{fmean(replay_gains().values()):.2f} points to NoPPA in the mean of eight.",
            UNTESTED,
        ),
    ]


DIFFERENCES = """## Where the authors' program differs from the paper

Facts about the published program, found by reading and running it; what noppa does is in the last column.

| the paper | the program | here |
|---|---|---|
| removes the last k rows of V in X = U S V | removes k *rows of the matrix whose columns are the singular vectors*: a subspace unrelated to small singular values, which also depends on their arbitrary signs | `noise="paper"`; `noise="reference"` with signs fixed |
| takes X as it is | standardizes each dimension first; a constant one ends in an error | as the paper; `"reference"` standardizes |
| any number of sentences | fails with fewer sentences than dimensions | works, with a warning |
| dimensions 2m and 2m + 1 share a frequency | each dimension has its own exponent, doubled: 205 of 300 dimensions are constant over 30 words | `position="paper"`, `"reference"` |
| stop words "." and "," have low weights | a word without a count has probability 0 and the largest weight, 2; the counts have no punctuation, digits or clitics | `missing="smallest"`, `missing=0` |
| silent | positions are given after unknown words are dropped | the same; `unknown_takes_position=True` for the other |
| [word ; context] in equation 12 | [context ; word], as in Algorithm 1 | `parts=("context", "word")`, any order |
| weight a / (p + a/2) | a = 0 means weight 1 | `a=None` |
| noise removal "in training" | fitted on training, development and test text together | training text alone; `--transductive` |
| a and k tuned | chosen by the test score | on development rows; `--select-on test` |
| five seeds, ± deviation | seeds of the search on one fixed test set; the classifier's seed never changes | `--search-seed`, and `--seed` for the classifier |
| an empty sentence | becomes "." | a row of zeros, counted |

"""

HEAD = """# The paper, claim by claim

Generated by `python bench/document.py` from the JSON lines in `bench/results`; do not edit. The paper is Xuansheng Wu, Zhiyi Zhao,
Ninghao Liu: *NoPPA: Non-Parametric Pairwise Attention Random Walk Model for Sentence Representation*, arXiv:2302.12903.

Scores are those of [the evaluation](evaluation.md): with the paper's classifier (SentEval's network) and with logistic regression, on three
files of word vectors, fitted on training text, nothing chosen on test. GloVe 840B of 300 dimensions, which the paper used, was not to be had
but for 7,700 words. A setting is a file of vectors (GloVe 6B has 100 dimensions, the others 300) and a classifier (network or logistic). A gain of a mean is followed by the standard error that the number of marked rows gives a mean; beyond it a claim holds
or does not, within it the two are tied. Both methods are scored on the same rows, so that the error of a difference is rather smaller.

"""


def page() -> str:
    lines = ["| claim | found | verdict |", "|---|---|---|"]
    lines += [f"| {claim.said} | {claim.found} | **{claim.verdict}** |" for claim in claims()]
    again = (
        "## Making it again\n\n"
        "    noppa data prepare RAW -o SentEval/data\n"
        "    noppa bench paper --data SentEval/data --vectors V --counts C --quick    # minutes\n"
        "    noppa bench paper --data SentEval/data --vectors V --counts C            # says first how long each part takes\n"
    )
    return HEAD + "\n".join(lines) + "\n\n" + gains() + DIFFERENCES + again

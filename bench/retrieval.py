"""Retrieval quality: by meaning, by words, and by both, on sets that can be made here; and BM25 beside `bm25s`.

python bench/retrieval.py > bench/results/retrieval.jsonl    # needs pip install bm25s

Each set is cut in two. On the `tuning` queries, on the same pairs turned round, and on the rows of STS-B that make no query of a test,
the ways to join meaning and words are compared: for each set the gain over the better of the two, and its standard error over the
queries. Taken is, of the ways whose chance to lose on no set is within a hundredth of the largest, the one with the largest mean gain,
where each gain is taken as normally distributed around what was measured (`WORD_WEIGHT` of noppa.search.query, noppa.search.terms). The
`test` queries are what the page reports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from math import prod
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from corpora import arguments
from measure import tell
from retrieval_sets import SETS, Retrieval, sts, turned

import noppa
from noppa.encoder.models import unit_vectors
from noppa.search.query import MODES, Collection
from noppa.search.terms import K1, B, Term, has_distinct_vector, overlaps, split_terms

#: Ranks that count.
RANKS = 10


def gain(found: Iterable[str], wanted: set[int]) -> float:
    """nDCG of the first `RANKS`: 1 where the wanted texts come first."""
    hits = [1 / np.log2(rank + 2) for rank, id in enumerate(found) if int(id) in wanted]
    return float(sum(hits) / sum(1 / np.log2(r + 2) for r in range(min(RANKS, len(wanted)))))


def quality(index: noppa.Index, queries: dict[str, set[int]], mode: str) -> Any:
    """nDCG of each query."""
    found = index.search(list(queries), RANKS, mode=mode)
    return np.array([gain(f.ids, w) for f, w in zip(found, queries.values(), strict=True)])


class Scores(NamedTuple):
    """What a fusion sees of a query: cosine, BM25 and BM25 of pairs of neighbouring words, (texts,), the most that BM25 could
    reach, the best cosine, the share of the query that is known, with numbers and without, and what each side of the overlap
    gives to some rows, (rows, 2).
    """

    cosines: Any
    bm25: Any
    pairs: Any
    most: float
    best: float
    known: float
    told: float
    sides: Callable[[Any], Any]


def ranks(constant: int, query: Scores) -> Any:
    """The sum of reciprocal ranks."""
    found = np.zeros(len(query.cosines))
    for scores in (query.cosines, query.bm25):
        found[np.argsort(-scores, kind="stable")] += 1 / (constant + 1 + np.arange(len(scores)))
    return found


def standardized(share: float, query: Scores) -> Any:
    """Both with mean 0 and variance 1 over all texts, added."""
    cosines, bm25 = (
        (scores - scores.mean()) / (scores.std() + 1e-9) for scores in (query.cosines, query.bm25)
    )
    return (1 - share) * cosines + share * bm25


def stretched(share: float, query: Scores) -> Any:
    """Both from 0 to 1 over all texts, added."""
    cosines, bm25 = (
        (scores - scores.min()) / (np.ptp(scores) + 1e-9) for scores in (query.cosines, query.bm25)
    )
    return (1 - share) * cosines + share * bm25


def plain(count: float, query: Scores) -> Any:
    return query.cosines + count * query.bm25 / query.most


#: How sure the meaning is.
SURE: dict[str, Callable[[Scores], float]] = {
    "n c": lambda query: query.known * query.best,
    "k c": lambda query: query.told * query.best,
    "k² c": lambda query: query.told**2 * query.best,
}


def unsure(count: float, power: float, sure: str, pairs: float, query: Scores) -> Any:
    """BM25 counts where the meaning is not sure, divided by a power of the most it could reach."""
    weight = count * (1 - SURE[sure](query)) ** 2 / query.most**power
    return query.cosines + weight * (query.bm25 + pairs * query.pairs)


def overlapping(
    count: float, asked: float, told: float, power: float, compared: int, query: Scores
) -> Any:
    """As `unsure`, and the first rows are compared word by word, which counts where the meaning is not sure."""
    scores = unsure(count, 0.5, "k² c", 0.0, query)
    rows = np.argsort(-scores, kind="stable")[:compared]
    sides = query.sides(rows) @ (asked, told)
    scores[rows] += (1 - SURE["k² c"](query)) ** power * sides
    return scores


UNSURE = ("", "(1 - s) ", "(1 - s)² ")

#: What is tried; the page of the results says it in formulas.
FUSIONS: dict[str, Callable[[Scores], Any]] = {
    **{f"reciprocal ranks, constant {k}": partial(ranks, k) for k in (0, 5, 60)},
    **{f"mean 0 and variance 1, words {a}": partial(standardized, a) for a in (0.2, 0.3, 0.5)},
    **{f"0 to 1, words {a}": partial(stretched, a) for a in (0.2, 0.3, 0.5)},
    **{f"cosine + {a} BM25 / most": partial(plain, a) for a in (0.2, 0.4, 1.0)},
    **{
        f"cosine + {a:g} (1 - {s})² BM25{below}": partial(unsure, a, power, s, 0.0)
        for s in SURE
        for below, power, every in (
            (" / most", 1.0, (4.0, 6.0, 8.0)),
            (" / √most", 0.5, (0.6, 0.8, 1.0, 1.1)),
            ("", 0.0, (0.1, 0.15, 0.2)),
        )
        for a in every
    },
    **{
        f"cosine + 0.8 (1 - k² c)² (BM25 + {b} pairs) / √most": partial(unsure, 0.8, 0.5, "k² c", b)
        for b in (0.1, 0.2, 0.4)
    },
    **{
        f"cosine + {a:g} (1 - s)² BM25 / √most + {UNSURE[power]}({q:g} Q + {t:g} T), first {n}": partial(
            overlapping, a, q, t, power, n
        )
        for a, q, t, power, n in (
            *((a, 1.0, 1.0, 1, 30) for a in (0.4, 0.6, 0.8)),
            *((0.6, q, t, 1, 30) for q, t in ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5), (1.0, 0.5), (0.5, 1.0), (2.0, 2.0))),
            (0.6, 1.0, 1.0, 0, 30),
            (0.6, 1.0, 1.0, 2, 30),
            *((0.6, 1.0, 1.0, 1, n) for n in (10, 50, 100)),
        )
    },
}  # fmt: skip


def in_pairs(text: str) -> str:
    """The pairs of neighbouring words of a text as words."""
    return " ".join(f"{a}_{b}" for a, b in pairwise(split_terms(text)))


def seen(made: Retrieval, queries: Iterable[str]) -> Iterator[Scores]:
    """The scores of all texts of a set for each query."""
    index = indexed(made.texts)
    collection = Collection(index._current())
    of_pairs = Collection(indexed([in_pairs(text) for text in made.texts])._current())
    rows = np.concatenate([part.segment.vectors for part in collection.parts])
    words = index.encoder.words
    for query in queries:
        tokens = words.tokens(query)
        cosines = rows @ unit_vectors(index.encoder, [query])[0] * index._has_meaning(tokens)
        terms = collection.terms(tokens)
        most = sum(term.weight for term in terms)
        shares = (
            sum(term.weight for term in terms if is_known(term.text)) / most
            for is_known in (words.__contains__, partial(has_distinct_vector, words))
        )
        bm25, pairs = (
            own.bm25(own.terms(words.tokens(text)))
            for own, text in ((collection, query), (of_pairs, in_pairs(query)))
        )
        best = min(1.0, max(0.0, float(cosines.max())))
        yield Scores(cosines, bm25, pairs, most, best, *shares, sides_of(made.texts, terms, words))


def sides_of(texts: list[str], terms: list[Term], words: noppa.WordVectors) -> Callable[[Any], Any]:
    """What the words of a query and of a text give to their overlap; each text is compared once."""
    known: dict[int, tuple[float, float]] = {}

    def sides(rows: Any) -> Any:
        new = [row for row in rows.tolist() if row not in known]
        for row, own in zip(
            new, overlaps(words, terms, [texts[row] for row in new], words.tokens), strict=True
        ):
            shares = [match.share for match in own.matches]
            known[row] = sum(shares[: len(own.query)]), sum(shares[len(own.query) :])
        return np.array([known[row] for row in rows.tolist()])

    return sides


def first(scores: Any) -> Any:
    """The rows with the largest scores, of equal ones the first."""
    some = np.sort(np.argpartition(-scores, RANKS)[:RANKS])
    return some[np.argsort(-scores[some], kind="stable")]


def tuned(sets: dict[str, Retrieval]) -> None:
    """For each fusion and set of tuning queries its quality, its gain over the better of the halves, and the gain's error."""
    halves: dict[str, Callable[[Scores], Any]] = {
        "meaning": lambda query: query.cosines,
        "words": lambda query: query.bm25,
    }
    every = {**halves, **FUSIONS}
    figures: dict[str, dict[str, list[float]]] = {name: {} for name in FUSIONS}
    for name, made in sets.items():
        gains = {fusion: np.empty(len(made.tuning)) for fusion in every}
        for at, (query, wanted) in enumerate(
            zip(seen(made, made.tuning), made.tuning.values(), strict=True)
        ):
            for fusion, joined in every.items():
                gains[fusion][at] = gain(first(joined(query)), wanted)
        better = max((gains[half] for half in halves), key=lambda own: float(own.mean()))
        for fusion in FUSIONS:
            more = gains[fusion] - better
            error = float(more.std() / len(more) ** 0.5)
            figures[fusion][name] = [float(gains[fusion].mean()), float(more.mean()), error]
        tell(5, tuning=name, queries=len(made.tuning), better=float(better.mean()))
    for fusion, own in figures.items():
        chances = [NormalDist(more, error).cdf(0) for _, more, error in own.values()]
        shown = {name: [round(one, 5) for one in three] for name, three in own.items()}
        tell(4, fusion=fusion, chance=prod(1 - chance for chance in chances), sets=shown)


def indexed(texts: list[str]) -> noppa.Index:
    index = noppa.Index(dtype="float32")
    index.add(texts)
    return index


def tested(name: str, made: Retrieval, index: noppa.Index) -> None:
    """The quality of each mode, and what hybrid gains over the better half, with its error."""
    gains = {mode: quality(index, made.test, mode) for mode in MODES}
    better = max((gains[half] for half in ("meaning", "words")), key=lambda own: float(own.mean()))
    more = gains["hybrid"] - better
    means = {mode: float(own.mean()) for mode, own in gains.items()}
    error = float(more.std() / len(more) ** 0.5)
    told = {"gain": float(more.mean()), "error": error}
    changed = {"better": int((more > 0).sum()), "worse": int((more < 0).sum())}
    tell(
        5, retrieval=name, texts=len(made.texts), queries=len(made.test), **means, **told, **changed
    )


def beside_bm25s(name: str, index: noppa.Index, texts: list[str], queries: list[str]) -> None:
    """The largest difference of a score from that of bm25s for the same tokens, and whether the first hits agree."""
    import bm25s

    model = bm25s.BM25(method="lucene", k1=K1, b=B)
    model.index([split_terms(text) for text in texts], show_progress=False)
    largest, agreeing = 0.0, Counter[bool]()
    for query in queries:
        terms = [term for term in split_terms(query) if term in model.vocab_dict]
        hits = index.search(query, RANKS, mode="words")
        scores = model.get_scores(terms) if terms else np.zeros(len(texts))
        for hit in hits:
            largest = max(largest, abs(hit.bm25 - float(scores[int(hit.id)])))
        agreeing[not hits or abs(hits[0].bm25 - scores.max()) < 1e-3] += 1
    share = agreeing[True] / max(1, agreeing.total())
    tell(8, bm25=name, queries=len(queries), difference=largest, agreeing=share)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--tuning", action="store_true", help="look at no test query")
    given = parser.parse_args()
    sets = {name: make(given.data) for name, make in SETS.items()}
    tuning = {**sets, "STS-B training": sts(given.data, ("train", "dev"), ())}
    tuned({**tuning, **{f"{name} turned": turned(made) for name, made in tuning.items()}})
    if given.tuning:
        return
    for name, made in sets.items():
        index = indexed(made.texts)
        tested(name, made, index)
        beside_bm25s(name, index, made.texts, list(made.test)[:500])


if __name__ == "__main__":
    main()

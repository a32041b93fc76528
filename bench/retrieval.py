"""Retrieval quality: by meaning, by words, and by both, on sets that can be made here; and BM25 beside `bm25s`.

python bench/retrieval.py > bench/results/retrieval.jsonl    # needs pip install bm25s

Each set is cut in two. On the `tuning` queries the constant of a hybrid score is chosen (`WORDS_COUNT` of noppa.search.query): that
whose smallest gain over the better of meaning and words, among the sets, is the largest; its form was found on them too. The
`test` queries are what the page reports.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from corpora import arguments
from measure import tell

import noppa
from noppa.search import query as search_query
from noppa.search.postings import K1, B, terms_of
from noppa.search.query import MODES

#: The constants that are tried.
TRIED = (2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
#: Ranks that count, and pairs of STS-B and SICK from this similarity on.
RANKS, ALIKE = 10, 4.0
#: Words of a docstring behind its first line, at least.
LEAST_WORDS = 30
#: Parts of Python that every machine has and that import nothing on their own account.
MODULES = (
    "argparse asyncio calendar collections concurrent.futures configparser contextlib csv ctypes datetime decimal difflib doctest "
    "email enum fractions functools gettext heapq html http imaplib inspect io ipaddress itertools json locale logging mailbox "
    "mimetypes multiprocessing numpy optparse os pathlib pdb pickle platform poplib pprint queue random re sched selectors shelve "
    "shlex shutil smtplib socket sqlite3 ssl statistics string struct subprocess tarfile tempfile textwrap threading timeit "
    "tokenize traceback types typing unittest urllib.parse urllib.request uuid warnings wave weakref xml.dom.minidom "
    "xml.etree.ElementTree xmlrpc.client zipfile"
).split()


class Retrieval(NamedTuple):
    """Texts, and queries with the rows of the texts that they should find."""

    texts: list[str]
    tuning: dict[str, set[int]]
    test: dict[str, set[int]]


def paired(parts: list[list[tuple[str, str, bool]]]) -> Retrieval:
    """From pairs of sentences, the first part for tuning: the second sentence of each pair is a text, and the first of a pair
    of matches is a query.
    """
    rows: dict[str, int] = {}
    for pairs in parts:
        for _, text, _ in pairs:
            rows.setdefault(text, len(rows))
    queries: list[dict[str, set[int]]] = []
    for pairs in parts:
        wanted: dict[str, set[int]] = {}
        for query, text, matches in pairs:
            if matches and query != text:
                wanted.setdefault(query, set()).add(rows[text])
        queries.append(wanted)
    tuning, test = queries
    unseen = {query: rows for query, rows in test.items() if query not in tuning}
    return Retrieval(list(rows), tuning, unseen)


def sts(data: Path) -> Retrieval:
    """STS-B: pairs that people gave 4 of 5 points and more."""
    folder = data / "senteval" / "downstream" / "STS" / "STSBenchmark"
    parts = []
    for name in ("sts-dev.csv", "sts-test.csv"):
        rows = [line.split("\t") for line in (folder / name).read_text("utf-8").splitlines()]
        parts.append([(row[5], row[6], float(row[4]) >= ALIKE) for row in rows])
    return paired(parts)


def mrpc(data: Path) -> Retrieval:
    """MRPC: paraphrases from the news."""
    folder = data / "senteval" / "downstream" / "MRPC"
    parts = []
    for name in ("train", "test"):
        text = (folder / f"msr_paraphrase_{name}.txt").read_text("utf-8-sig")
        rows = [line.split("\t") for line in text.splitlines()[1:]]
        parts.append([(row[3], row[4], row[0] == "1") for row in rows])
    return paired(parts)


def sick(data: Path) -> Retrieval:
    """SICK: pairs of captions that people gave 4 of 5 points and more, among many that are alike."""
    folder = data / "senteval" / "downstream" / "SICK"
    parts = []
    for name in ("SICK_train", "SICK_test_annotated"):
        rows = [
            line.split("\t")
            for line in (folder / f"{name}.txt").read_text("utf-8").splitlines()[1:]
        ]
        parts.append([(row[1], row[2], float(row[3]) >= ALIKE) for row in rows])
    return paired(parts)


def docstrings(_: Path) -> Retrieval:
    """Python's own documentation and NumPy's: from the first line of a docstring to the rest of it."""
    pairs = sorted(set(_documented()))
    rest = {body: row for row, body in enumerate(dict.fromkeys(body for _, body in pairs))}
    queries: dict[str, set[int]] = {}
    for title, body in pairs:
        queries.setdefault(title, set()).add(rest[body])
    halves: list[dict[str, set[int]]] = [{}, {}]
    for at, title in enumerate(queries):
        halves[at % 2][title] = queries[title]
    return Retrieval(list(rest), *halves)


def _documented() -> Iterator[tuple[str, str]]:
    for name in MODULES:
        module = import_module(name)
        for thing in [module, *_members(module)]:
            title, _, body = (inspect.getdoc(thing) or "").partition("\n")
            body = " ".join(body.split())
            if len(terms_of(title)) > 2 and len(body.split()) >= LEAST_WORDS:
                yield title.strip(), body


def _members(thing: Any, depth: int = 2) -> Iterator[Any]:
    for name, member in inspect.getmembers(thing):
        if not name.startswith("_") and (inspect.isclass(member) or inspect.isroutine(member)):
            yield member
            if depth > 1 and inspect.isclass(member):
                yield from _members(member, depth - 1)


SETS = {"STS-B": sts, "MRPC": mrpc, "SICK": sick, "docstrings": docstrings}


def gain(found: Iterable[str], wanted: set[int]) -> float:
    """nDCG of the first `RANKS`: 1 where the wanted texts come first."""
    hits = [1 / np.log2(rank + 2) for rank, id in enumerate(found) if int(id) in wanted]
    return float(sum(hits) / sum(1 / np.log2(r + 2) for r in range(min(RANKS, len(wanted)))))


def quality(index: noppa.Index, queries: dict[str, set[int]], mode: str) -> float:
    found = index.search(list(queries), RANKS, mode=mode)
    return float(np.mean([gain(f.ids, w) for f, w in zip(found, queries.values(), strict=True)]))


def tuned(indexes: dict[str, noppa.Index], sets: dict[str, Retrieval]) -> None:
    """The quality of each constant on the tuning queries, and the worst gain over the better of the two halves."""
    better = {
        name: max(quality(indexes[name], sets[name].tuning, half) for half in ("meaning", "words"))
        for name in sets
    }
    chosen = search_query.WORDS_COUNT
    for tried in TRIED:
        search_query.WORDS_COUNT = tried
        figures = {name: quality(indexes[name], sets[name].tuning, "hybrid") for name in sets}
        worst = min(figures[name] - better[name] for name in sets)
        mean = float(np.mean(list(figures.values())))
        tell(5, tuning=tried, mean=mean, worst=worst, **figures)
    search_query.WORDS_COUNT = chosen


def beside_bm25s(name: str, index: noppa.Index, texts: list[str], queries: list[str]) -> None:
    """The largest difference of a score from that of bm25s for the same tokens, and whether the first hits agree."""
    import bm25s

    model = bm25s.BM25(method="lucene", k1=K1, b=B)
    model.index([terms_of(text) for text in texts], show_progress=False)
    largest, agreeing = 0.0, Counter[bool]()
    for query in queries:
        terms = [term for term in terms_of(query) if term in model.vocab_dict]
        hits = index.search(query, RANKS, mode="words")
        scores = model.get_scores(terms) if terms else np.zeros(len(texts))
        for hit in hits:
            largest = max(largest, abs(hit.bm25 - float(scores[int(hit.id)])))
        agreeing[not hits or abs(hits[0].bm25 - scores.max()) < 1e-3] += 1
    share = agreeing[True] / max(1, agreeing.total())
    tell(8, bm25=name, queries=len(queries), difference=largest, agreeing=share)


def main() -> None:
    parser = arguments(__doc__)
    given = parser.parse_args()
    sets = {name: make(given.data) for name, make in SETS.items()}
    indexes = {}
    for name, made in sets.items():
        indexes[name] = noppa.Index(dtype="float32")
        indexes[name].add(made.texts)
    tuned(indexes, sets)
    for name, made in sets.items():
        figures = {mode: quality(indexes[name], made.test, mode) for mode in MODES}
        tell(5, retrieval=name, texts=len(made.texts), queries=len(made.test), **figures)
    for name, made in sets.items():
        beside_bm25s(name, indexes[name], made.texts, list(made.test)[:500])


if __name__ == "__main__":
    main()

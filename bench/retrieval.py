"""Measure retrieval quality by meaning, by words and by both (nDCG at 10), on sets built from local data.

    python bench/retrieval.py -o bench/results/retrieval.jsonl

The constants of the hybrid score were selected on the first part of each set; the queries here come from the second part.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from runner import arguments, record

import noppa
from noppa import _native
from noppa.search.terms import terms_of_tokens

RANKS = 10
MODES = ("meaning", "words", "hybrid")
#: Pairs of STS-B and SICK match from this similarity on.
SIMILAR = 4.0
#: Words of a docstring after its first line, at least.
LEAST_WORDS = 30
MODULES = (
    "argparse asyncio calendar collections concurrent.futures configparser contextlib csv ctypes datetime decimal difflib doctest "
    "email enum fractions functools gettext heapq html http imaplib inspect io ipaddress itertools json locale logging mailbox "
    "mimetypes multiprocessing numpy optparse os pathlib pdb pickle platform poplib pprint queue random re sched selectors shelve "
    "shlex shutil smtplib socket sqlite3 ssl statistics string struct subprocess tarfile tempfile textwrap threading timeit "
    "tokenize traceback types typing unittest urllib.parse urllib.request uuid warnings wave weakref xml.dom.minidom "
    "xml.etree.ElementTree xmlrpc.client zipfile"
).split()

Pairs = list[tuple[str, str, bool]]


class Retrieval(NamedTuple):
    """Texts, and queries with the rows of the texts that they should find."""

    texts: list[str]
    queries: dict[str, set[int]]


def from_pairs(tuning: Pairs, test: Pairs) -> Retrieval:
    """The second sentence of each pair is a text; the first of a matching pair is a query, unless it is a text too."""
    rows: dict[str, int] = {}
    for _, text, _ in (*tuning, *test):
        rows.setdefault(text, len(rows))
    seen = {query for query, _, matches in tuning if matches}
    queries: dict[str, set[int]] = {}
    for query, text, matches in test:
        if matches and query not in rows and query not in seen:
            queries.setdefault(query, set()).add(rows[text])
    return Retrieval(list(rows), queries)


def table(path: Path, encoding: str = "utf-8") -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding).splitlines()]


def sts(data: Path) -> Retrieval:
    folder = data / "senteval/downstream/STS/STSBenchmark"
    parts = [table(folder / f"sts-{name}.csv") for name in ("dev", "test")]
    return from_pairs(*([(r[5], r[6], float(r[4]) >= SIMILAR) for r in rows] for rows in parts))


def mrpc(data: Path) -> Retrieval:
    folder = data / "senteval/downstream/MRPC"
    parts = [table(folder / f"msr_paraphrase_{n}.txt", "utf-8-sig")[1:] for n in ("train", "test")]
    return from_pairs(*([(r[3], r[4], r[0] == "1") for r in rows] for rows in parts))


def sick(data: Path) -> Retrieval:
    folder = data / "senteval/downstream/SICK"
    parts = [table(folder / f"SICK_{name}.txt")[1:] for name in ("train", "test_annotated")]
    return from_pairs(*([(r[1], r[2], float(r[3]) >= SIMILAR) for r in rows] for rows in parts))


def docstrings(_: Path) -> Retrieval:
    """From the first line of a docstring of Python or NumPy to the rest of it."""
    pairs = sorted(set(documented()))
    rows = {body: row for row, body in enumerate(dict.fromkeys(body for _, body in pairs))}
    queries: dict[str, set[int]] = {}
    for title, body in pairs:
        queries.setdefault(title, set()).add(rows[body])
    return Retrieval(list(rows), dict([*queries.items()][1::2]))


def documented() -> Iterator[tuple[str, str]]:
    for name in MODULES:
        module = import_module(name)
        for thing in [module, *members(module)]:
            title, _, body = (inspect.getdoc(thing) or "").partition("\n")
            body = " ".join(body.split())
            if (
                len(terms_of_tokens(_native.tokenize(title))) > 2
                and len(body.split()) >= LEAST_WORDS
            ):
                yield title.strip(), body


def members(thing: Any, depth: int = 2) -> Iterator[Any]:
    for name, member in inspect.getmembers(thing):
        if not name.startswith("_") and (inspect.isclass(member) or inspect.isroutine(member)):
            yield member
            if depth > 1 and inspect.isclass(member):
                yield from members(member, depth - 1)


SETS: dict[str, Callable[[Path], Retrieval]] = {
    "STS-B": sts,
    "MRPC": mrpc,
    "SICK": sick,
    "docstrings": docstrings,
}


def ndcg(found: Iterable[str], wanted: set[int]) -> float:
    gains = [1 / np.log2(rank + 2) for rank, id in enumerate(found) if int(id) in wanted]
    return float(sum(gains) / sum(1 / np.log2(r + 2) for r in range(min(RANKS, len(wanted)))))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    options.output.unlink(missing_ok=True)
    for name, build in SETS.items():
        texts, queries = build(options.data)
        index = noppa.Index(dtype="float32")
        index.add(texts)
        scores = {}
        for mode in MODES:
            hits = index.search(list(queries), RANKS, mode=mode)
            pairs = zip(hits, queries.values(), strict=True)
            scores[mode] = np.array([ndcg(found.ids, wanted) for found, wanted in pairs])
        better = max(scores["meaning"], scores["words"], key=np.mean)
        gain = scores["hybrid"] - better
        row = {"retrieval": name, "texts": len(texts), "queries": len(queries)}
        row |= {mode: float(own.mean()) for mode, own in scores.items()}
        row |= {"gain": float(gain.mean()), "error": float(gain.std() / len(gain) ** 0.5)}
        record(options.output, row, 5)


if __name__ == "__main__":
    main()

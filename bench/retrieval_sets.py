"""Sets for bench/retrieval.py that can be made here: texts, and queries with the texts that they should find."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from noppa.search.terms import split_terms

#: Pairs of STS-B and SICK match from this similarity on.
ALIKE = 4.0
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
    of matches is a query, unless it is one of the texts, too: that would come first and count as wrong.
    """
    rows: dict[str, int] = {}
    for pairs in parts:
        for _, text, _ in pairs:
            rows.setdefault(text, len(rows))
    queries: list[dict[str, set[int]]] = []
    for pairs in parts:
        wanted: dict[str, set[int]] = {}
        for query, text, matches in pairs:
            if matches and query not in rows:
                wanted.setdefault(query, set()).add(rows[text])
        queries.append(wanted)
    tuning, test = queries
    unseen = {query: rows for query, rows in test.items() if query not in tuning}
    return Retrieval(list(rows), tuning, unseen)


def sts(data: Path, tuning: Iterable[str] = ("dev",), test: Iterable[str] = ("test",)) -> Retrieval:
    """STS-B: pairs that people gave 4 of 5 points and more."""
    folder = data / "senteval" / "downstream" / "STS" / "STSBenchmark"

    def pairs(names: Iterable[str]) -> Iterator[tuple[str, str, bool]]:
        for name in names:
            for line in (folder / f"sts-{name}.csv").read_text("utf-8").splitlines():
                row = line.split("\t")
                yield row[5], row[6], float(row[4]) >= ALIKE

    return paired([list(pairs(tuning)), list(pairs(test))])


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
            if len(split_terms(title)) > 2 and len(body.split()) >= LEAST_WORDS:
                yield title.strip(), body


def _members(thing: Any, depth: int = 2) -> Iterator[Any]:
    for name, member in inspect.getmembers(thing):
        if not name.startswith("_") and (inspect.isclass(member) or inspect.isroutine(member)):
            yield member
            if depth > 1 and inspect.isclass(member):
                yield from _members(member, depth - 1)


SETS = {"STS-B": sts, "MRPC": mrpc, "SICK": sick, "docstrings": docstrings}


def turned(made: Retrieval) -> Retrieval:
    """The same pairs with query and text exchanged, for tuning: long queries of long texts, for example."""
    texts = {text: row for row, text in enumerate([*made.tuning, *made.test])}
    queries: dict[str, set[int]] = {}
    for query, rows in made.tuning.items():
        for row in rows:
            queries.setdefault(made.texts[row], set()).add(texts[query])
    return Retrieval(list(texts), queries, {})

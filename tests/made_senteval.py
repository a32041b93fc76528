"""Write a small SentEval folder: every file of the tasks with a few rows, in the dialect of the real file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from noppa.paper.tasks import TASKS, File

GOOD = ["delicious", "cake", "girl", "eats"]
BAD = ["boy", "is", "eating", "n't"]
POLARITY = {"1": GOOD, "0": BAD}
TOPICS = {"DESC": GOOD, "NUM": BAD, "LOC": ["of", "in", "on", "café"]}
ENTAILMENT = {"ENTAILMENT": GOOD, "NEUTRAL": BAD, "CONTRADICTION": ["of", "in", "on", "the"]}

Sentence = Callable[[list[str]], str]


def write_folder(folder: Path, rows: int = 48, tasks: tuple[str, ...] = tuple(TASKS)) -> Path:
    """Write all files of the tasks to `folder/downstream` with `rows` rows each; return `folder`."""
    random = np.random.default_rng(0)

    def sentence(words: list[str]) -> str:
        return " ".join(random.choice([*words, "the", "a"], random.integers(3, 9)))

    for name in tasks:
        for file in TASKS[name].files:
            place = folder / "downstream" / file.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(WRITERS[file.format](file, rows, sentence))
    return folder


def _labelled(rows: int, groups: dict[str, list[str]], sentence: Sentence) -> list[tuple[str, str]]:
    names = [list(groups)[row % len(groups)] for row in range(rows)]
    return [(name, sentence(groups[name])) for name in names]


def _lines(file: File, rows: int, sentence: Sentence) -> bytes:
    """Latin-1, with a NEL inside a line, where `splitlines` would break it."""
    texts = [sentence(GOOD if file.label else BAD) for _ in range(rows)]
    texts[0] += " café \x85 on"
    return ("\n".join(texts) + "\n").encode("latin-1")


def _sst(file: File, rows: int, sentence: Sentence) -> bytes:
    pairs = _labelled(rows, POLARITY, sentence)
    return "".join(f"{text} \t{label}\n" for label, text in pairs).encode()


def _trec(file: File, rows: int, sentence: Sentence) -> bytes:
    pairs = _labelled(rows, TOPICS, sentence)
    return "".join(f"{label}:fine {text} é ?\n" for label, text in pairs).encode("latin-1")


def _mrpc(file: File, rows: int, sentence: Sentence) -> bytes:
    """A BOM, CRLF, and quotation marks that quote nothing."""
    lines = ["Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"]
    for label, text in _labelled(rows, POLARITY, sentence):
        other = text if label == "1" else sentence(GOOD)
        lines.append(f'{label}\t1\t2\t"{text}\t{other}')
    return b"\xef\xbb\xbf" + ("\r\n".join(lines) + "\r\n").encode()


def _sick(file: File, rows: int, sentence: Sentence) -> bytes:
    lines = ["pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"]
    for number, (label, text) in enumerate(_labelled(rows, ENTAILMENT, sentence)):
        lines.append(f"{number}\t{text}\t{sentence(GOOD)}\t{1 + number % 5}.5\t{label}")
    end = "\r\n" if file.part == "test" else "\n"
    return (end.join(lines) + end).encode()


def _sts_benchmark(file: File, rows: int, sentence: Sentence) -> bytes:
    lines = [
        f"genre\tfile\t2012\t{number}\t{number % 6}.000\t{sentence(GOOD)}\t{sentence(BAD)}\n"
        for number in range(rows)
    ]
    return "".join(lines).encode()


WRITERS = {
    "lines": _lines,
    "sst": _sst,
    "trec": _trec,
    "mrpc": _mrpc,
    "sick-entailment": _sick,
    "sick-relatedness": _sick,
    "sts-benchmark": _sts_benchmark,
}

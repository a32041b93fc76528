"""SentEval's folder in small: every file of the table with a few made rows, in the dialect of the real one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from noppa.paper.task_files import GOLD
from noppa.paper.tasks import TASKS, File

GOOD = ["delicious", "cake", "girl", "eats"]
BAD = ["boy", "is", "eating", "n't"]
TOPICS = {"DESC": GOOD, "NUM": BAD, "LOC": ["of", "in", "on", "café"]}
ENTAILMENT = {"ENTAILMENT": GOOD, "NEUTRAL": BAD, "CONTRADICTION": ["of", "in", "on", "the"]}


def write_folder(folder: Path, rows: int = 48, tasks: tuple[str, ...] = tuple(TASKS)) -> Path:
    """All files of the tasks under `folder/downstream`, `rows` rows each; returns `folder`."""
    random = np.random.default_rng(0)
    for name in tasks:
        for file in TASKS[name].files:
            path = folder / "downstream" / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            WRITERS[file.reader](path, file, rows, random)
    return folder


def _sentence(words: list[str], random: np.random.Generator) -> str:
    return " ".join(random.choice([*words, "the", "a"], random.integers(3, 9)))


def _labelled(
    rows: int, groups: dict[str, list[str]], random: np.random.Generator
) -> list[tuple[str, str]]:
    names = list(groups)
    return [
        (names[at % len(names)], _sentence(groups[names[at % len(names)]], random))
        for at in range(rows)
    ]


def _lines(path: Path, file: File, rows: int, random: np.random.Generator) -> None:
    """Latin-1, with a NEL inside a line, where `splitlines` would break it."""
    texts = [_sentence(GOOD if file.label else BAD, random) for _ in range(rows)]
    texts[0] += " café \x85 on"
    path.write_bytes(("\n".join(texts) + "\n").encode("latin-1"))


def _sst(path: Path, file: File, rows: int, random: np.random.Generator) -> None:
    pairs = _labelled(rows, {"1": GOOD, "0": BAD}, random)
    path.write_text("".join(f"{text} \t{label}\n" for label, text in pairs), "utf-8")


def _trec(path: Path, file: File, rows: int, random: np.random.Generator) -> None:
    pairs = _labelled(rows, TOPICS, random)
    content = "".join(f"{label}:fine {text} é ?\n" for label, text in pairs)
    path.write_bytes(content.encode("latin-1"))


def _mrpc(path: Path, file: File, rows: int, random: np.random.Generator) -> None:
    """A mark at the start, CRLF, and quotation marks that quote nothing."""
    lines = ["Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"]
    for label, text in _labelled(rows, {"1": GOOD, "0": BAD}, random):
        other = text if label == "1" else _sentence(GOOD, random)
        lines.append(f'{label}\t1\t2\t"{text}\t{other}')
    path.write_bytes(b"\xef\xbb\xbf" + ("\r\n".join(lines) + "\r\n").encode("utf-8"))


def _sick(path: Path, file: File, rows: int, random: np.random.Generator) -> None:
    lines = ["pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"]
    for at, (label, text) in enumerate(_labelled(rows, ENTAILMENT, random)):
        lines.append(f"{at}\t{text}\t{_sentence(GOOD, random)}\t{1 + at % 5}.5\t{label}")
    end = "\r\n" if file.part == "test" else "\n"
    path.write_bytes((end.join(lines) + end).encode())


def _sts_benchmark(path: Path, file: File, rows: int, random: np.random.Generator) -> None:
    lines = [
        f"genre\tfile\t2012\t{at}\t{at % 6}.000\t{_sentence(GOOD, random)}\t{_sentence(BAD, random)}\n"
        for at in range(rows)
    ]
    path.write_text("".join(lines), "utf-8")


def _sts_year(path: Path, file: File, rows: int, random: np.random.Generator) -> None:
    """Pairs and scores in two files; every fourth pair has no score."""
    pairs = [f"{_sentence(GOOD, random)}\t{_sentence(BAD, random)}\n" for _ in range(rows)]
    scores = ["\n" if at % 4 == 3 else f"{at % 6}\n" for at in range(rows)]
    path.write_text("".join(pairs), "utf-8")
    path.with_name(path.name.replace(*GOLD)).write_text("".join(scores), "utf-8")


WRITERS = {
    "lines": _lines,
    "sst": _sst,
    "trec": _trec,
    "mrpc": _mrpc,
    "sick-entailment": _sick,
    "sick-relatedness": _sick,
    "sts-benchmark": _sts_benchmark,
    "sts-year": _sts_year,
}

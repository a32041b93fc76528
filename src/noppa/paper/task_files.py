"""From SentEval's folder to rows: readers of its files as published, and checksums verified before scoring."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from noppa.errors import FileError, ParameterError
from noppa.paper.tasks import RAW, SENTEVAL, TASKS, File, Task

#: In SentEval's order, by which rows of equal length are sorted.
ENTAILMENT = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
GOLD = ("STS.input.", "STS.gs.")


@dataclass(frozen=True)
class Row:
    """One item: a text or a pair of texts, with its label or human score."""

    texts: tuple[str, ...]
    label: float | str


Reader = Callable[[str, File], list[Row]]


def _records(text: str, skipped: int = 0) -> list[str]:
    """Lines split at line feeds only: the Latin-1 files contain NEL characters, where `splitlines` would split too."""
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")][skipped:]


def _columns(text: str, least: int, file: File, skipped: int = 0) -> list[list[str]]:
    rows = [line.split("\t") for line in _records(text, skipped)]
    for at, cells in enumerate(rows, 1 + skipped):
        if len(cells) < least:
            raise FileError(
                f"line {at} of {file.path} has {len(cells)} columns, not {least}: get the file again"
            )
    return rows


def _lines(text: str, file: File) -> list[Row]:
    return [Row((line,), float(file.label or 0)) for line in _records(text)]


def _sst(text: str, file: File) -> list[Row]:
    return [Row((cells[0],), float(cells[1])) for cells in _columns(text, 2, file)]


def _trec(text: str, file: File) -> list[Row]:
    rows = []
    for line in _records(text):
        target, _, question = line.partition(" ")
        rows.append(Row((question,), target.partition(":")[0]))
    return rows


def _mrpc(text: str, file: File) -> list[Row]:
    return [
        Row((cells[3], cells[4]), float(cells[0])) for cells in _columns(text, 5, file, skipped=1)
    ]


def _sick_entailment(text: str, file: File) -> list[Row]:
    return [
        Row((cells[1], cells[2]), float(ENTAILMENT.index(cells[4])))
        for cells in _columns(text, 5, file, skipped=1)
    ]


def _sick_relatedness(text: str, file: File) -> list[Row]:
    return [
        Row((cells[1], cells[2]), float(cells[3])) for cells in _columns(text, 5, file, skipped=1)
    ]


def _sts_benchmark(text: str, file: File) -> list[Row]:
    return [Row((cells[5], cells[6]), float(cells[4])) for cells in _columns(text, 7, file)]


def _sts_year(text: str, file: File) -> list[Row]:
    """Lines of score and pair, joined by `_read_file`; pairs without a score are skipped."""
    rows = []
    for cells in _columns(text, 3, file):
        if cells[0].strip():
            rows.append(Row((cells[1], cells[2]), float(cells[0])))
    return rows


READERS: dict[str, Reader] = {
    "lines": _lines,
    "sst": _sst,
    "trec": _trec,
    "mrpc": _mrpc,
    "sick-entailment": _sick_entailment,
    "sick-relatedness": _sick_relatedness,
    "sts-benchmark": _sts_benchmark,
    "sts-year": _sts_year,
}


def folder_of(data: str | PathLike[str]) -> Path:
    """The folder that holds MR, CR and so on: the given one, or `downstream` in it."""
    path = Path(data)
    if not path.is_dir():
        raise FileError(
            f"{path} is no folder: give SentEval's data folder, the one that holds downstream/"
        )
    return path / "downstream" if (path / "downstream").is_dir() else path


def tasks_of(names: str | Iterable[str] | None) -> list[Task]:
    """Tasks by their names, comma-separated or in a list; all tasks for None."""
    if names is None:
        return list(TASKS.values())
    selected = [name.strip() for name in (names.split(",") if isinstance(names, str) else names)]
    for name in selected:
        if name not in TASKS:
            raise ParameterError(f"there is no task {name!r}: choose from {', '.join(TASKS)}")
    return [TASKS[name] for name in selected]


def available(data: str | PathLike[str]) -> list[Task]:
    """The tasks whose files are all in the folder."""
    folder = folder_of(data)
    return [
        task
        for task in TASKS.values()
        if all((folder / path).is_file() for file in task.files for path in paths_of(file))
    ]


def paths_of(file: File) -> tuple[str, ...]:
    """The file; for a SemEval year, the file of pairs and the file of their scores."""
    if file.reader == "sts-year":
        return (file.path, file.path.replace(*GOLD))
    return (file.path,)


def check(data: str | PathLike[str], task: Task) -> dict[str, str]:
    """The sha256 of each file of the task, or an error that names the first missing or wrong one."""
    folder = folder_of(data)
    hashes = hashes_of(data, task)
    for file in task.files:
        digest = hashes[file.path]
        if file.sha256 and digest not in file.sha256.values():
            expected = " or ".join(
                f"{known[:12]}…" for known in dict.fromkeys(file.sha256.values())
            )
            raise FileError(
                f"{folder / file.path} is not the file that {task.name} is scored on (sha256 {digest[:12]}…, "
                f"not {expected}): get SentEval's copy, or score it as it is with --unchecked"
            )
        rows = len(_read_file(folder, file, task))
        if rows != file.rows:
            raise FileError(
                f"{folder / file.path} has {rows} rows, not {file.rows}: get SentEval's copy, "
                "or score it as it is with --unchecked"
            )
    if any(file.sha256 for file in task.files) and source_of(task, hashes) is None:
        raise FileError(
            f"{folder} holds some files of {task.name} as they were published and some as SentEval writes them: "
            "make them alike with `noppa data prepare`"
        )
    return hashes


def source_of(task: Task, hashes: Mapping[str, str]) -> str | None:
    """What all files of a task are: SentEval's, the published ones, or None for anything else."""
    for source in (SENTEVAL, RAW):
        if all(file.sha256.get(source) == hashes[file.path] for file in task.files):
            return source
    return None


def hashes_of(data: str | PathLike[str], task: Task) -> dict[str, str]:
    """The sha256 of each file of the task, unchecked."""
    folder = folder_of(data)
    return {
        path: hashlib.sha256(content_of(folder, path, task)).hexdigest()
        for file in task.files
        for path in paths_of(file)
    }


def read(data: str | PathLike[str], task: Task) -> dict[str, list[Row]]:
    """The rows of a task by part, sorted by length and label as SentEval does.

    On SentEval's own files the folds are SentEval's; on the published ones, whose lengths differ, most rows fall into others.
    """
    folder = folder_of(data)
    parts: dict[str, list[Row]] = {}
    for file in task.files:
        parts.setdefault(file.part, []).extend(_read_file(folder, file, task))
    if task.layout == "similarity":
        return parts
    return {name: sorted(rows, key=_senteval_order) for name, rows in parts.items()}


def _senteval_order(row: Row) -> tuple[object, ...]:
    return (*(len(text.split()) for text in row.texts), row.label)


def _read_file(folder: Path, file: File, task: Task) -> list[Row]:
    contents = [_decoded(content_of(folder, path, task)) for path in paths_of(file)]
    if file.reader == "sts-year":
        pairs, scores = map(_records, contents)
        if len(pairs) != len(scores):
            raise FileError(
                f"{folder / file.path} has {len(pairs)} pairs and {paths_of(file)[1]} {len(scores)} scores: "
                "get both files again"
            )
        contents = [
            "\n".join(f"{score}\t{pair}" for score, pair in zip(scores, pairs, strict=True))
        ]
    try:
        return READERS[file.reader](contents[0], file)
    except ValueError as error:
        raise FileError(f"{folder / file.path} cannot be read: {error}; get it again") from error


def content_of(folder: Path, path: str, task: Task) -> bytes:
    """A file of a task as it is, or an error that says what to put there."""
    try:
        return (folder / path).read_bytes()
    except OSError as error:
        raise FileError(
            f"{task.name} needs {folder / path}, which cannot be read ({error.strerror}): put SentEval's file "
            f"{Path(path).name} there"
        ) from error


def _decoded(content: bytes) -> str:
    """UTF-8 with or without a BOM, else Latin-1, as in MR, SUBJ and TREC."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")

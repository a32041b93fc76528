"""The tasks of SentEval: one table of files, and readers that check their checksums and return rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from noppa.errors import FileError, ParameterError

#: Sources of a file: as its authors published it, or as SentEval's scripts write it.
RAW, SENTEVAL = "raw", "senteval"
#: sha256 of the published files. STS12 to STS16 have no checksums: no copy was available.
PUBLISHED = {
    "CR/custrev.neg": "8f29d7fa39f9862764b71f36b193f0674e0056287ffc5bf170edf6db42cc8f83",
    "CR/custrev.pos": "15eeb0b9424043bb3755488e2d8ed97bdaeba464a5c230f213bad075125d2192",
    "MPQA/mpqa.neg": "02e193d98c7715bc6200bb23dc6d2903482bd80c0432c53c3f3738c636df3f72",
    "MPQA/mpqa.pos": "f4aaafdd63c439fd2d056149f3b5d200416dabb200a8b7d8f4bf9903981ff8a5",
    "MR/rt-polarity.neg": "4ace77d558c3714723843f1d65b60c01e3417b208180f0728808d76ad0eeeaca",
    "MR/rt-polarity.pos": "2da124ec187a9d5a29c9f04e91c540e02baed5af8868f550a26bd6fd4dbf8bf0",
    "MRPC/msr_paraphrase_test.txt": "51a1f197d8786712d2f0d97700f5be653b7488a96cde00e158159350d23e3d90",
    "MRPC/msr_paraphrase_train.txt": "f3d26d73bb3510032f80836e2e81cf32c71863f8dd6151aa80a125c2c799a557",
    "SICK/SICK_test_annotated.txt": "2b8aa806658d6fc23c6824c83776c2d4fee7556000817b5ec0f982861413b7d0",
    "SICK/SICK_train.txt": "266cf8047149bd1d68138dd30439f3122bff30069740ac6705bb6197d9f1b48e",
    "SICK/SICK_trial.txt": "5a88cfb62f8c6bd2a3cce0f2421ba2cb8c2be5ab4a800f6f01e2c64aafb7db56",
    "SST/binary/sentiment-dev": "9a6c7403b71a9b762158387afe4431253ae10cdfb2319b5275289f3766f48291",
    "SST/binary/sentiment-test": "4fefd1cd67526cf87ebc7fafc3afc21cc7cfa6ae53b45e74f77f9456e3c62752",
    "SST/binary/sentiment-train": "10a92a297ec38e262386e5a2713b4bc70e5d18ced88b7f54bd171a26e5b34ab5",
    "STS/STSBenchmark/sts-dev.csv": "6984633d5dc04bbca0d1fa41dbf3717398c4d2aef230f5915b0dac7357470f32",
    "STS/STSBenchmark/sts-test.csv": "1135193b27fb869ac5adaf62bcfd40255f64028264bef7f88ac37f365fdddfc4",
    "STS/STSBenchmark/sts-train.csv": "083b381c15465547e68dc7d81ab5d0d01ad4f52781b6108ce203225a3611d1b5",
    "SUBJ/subj.objective": "5ddc9b44dc60d64d651347fcd7bdd489b0c70661e3f768215c16eea36f51204a",
    "SUBJ/subj.subjective": "73a2dcf8dc3cbcc7f068a70ef9f021c86b2a8e4dac81566b7fd015b3e938f2c5",
    "TREC/TREC_10.label": "033f22c028c2bbba9ca682f68ffe204dc1aa6e1cf35dd6207f2d4ca67f0d0e8e",
    "TREC/train_5500.label": "9e4c8bdcaffb96ed61041bd64b564183d52793a8e91d84fc3a8646885f466ec3",
}
#: sha256 of the files that SentEval's scripts change; `prepare` reproduces them from the published ones.
PREPARED = {
    "CR/custrev.neg": "ec94532766f6f962094841ab3bee2ad6f232f996c3756825a91e78bcc294750f",
    "CR/custrev.pos": "91a20a4ffeb5d38a39a4087bb247e16538aff21e7d621ae59738379f39f21732",
    "MPQA/mpqa.neg": "8da6e035fa4cea02f0555091096b29a6b3995ff0adf41fad25008dcee066b79e",
    "MPQA/mpqa.pos": "7487dbb74c77383e60b292845495163a9e21fb70a4fdacdda933413e43163f0d",
    "MR/rt-polarity.neg": "c4ac36eaa8adc8ee31c31f69594bfbe68d83ef5b6db53f1f19b28c0be52f3999",
    "MR/rt-polarity.pos": "34e5b0da2d491e46b700b00afe735aaae0962bcfe4f7f22b2d8077e714fa370f",
    "SICK/SICK_test_annotated.txt": "d0362afe8304c8d08166b82d76da2a8c665d5b635ac1f3f1ee82054511749f97",
    "SICK/SICK_train.txt": "e02bd30f17ab87358f80ef079a6ef797acd244c3c7515de454301c7c257e410c",
    "SICK/SICK_trial.txt": "0d0786bd8671a0a70614f2f890b8ab24b3c24d1ccb624bcca87618091fbe4f11",
    "STS/STSBenchmark/sts-dev.csv": "fd3e4e429f32e352c7c7c76aea5c3383ee95eb98e482796b34e4e7b88a8392f3",
    "STS/STSBenchmark/sts-test.csv": "4cde2a19c9b7232c9ce92a89e5afd99805c8f66ba432a7824e0a5bad1a0a0ea0",
    "STS/STSBenchmark/sts-train.csv": "6466868d4b49a575530554224fe2e7d8cc03e83e1f326c90e561b81bf5031fec",
    "SUBJ/subj.objective": "d8ccd43f1674f1c17e4ab717564e3561cfb719b0db4cfb19e5677427c68ff8a1",
    "SUBJ/subj.subjective": "274c2ffe59c204dc4df779848561786f59a98cc20dda3cfdd7d9f76a4f730710",
    "TREC/TREC_10.label": "86ad53c8fc9d397ab2f4be7c967d8efb470b260140557d3e57afad69d1b88b76",
    "TREC/train_5500.label": "8bd6e79493f43bbd22c364587366a1dced54e1e31259eaa92721a0f526031116",
}

#: In SentEval's order, by which rows of equal length are sorted.
ENTAILMENT = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
#: The formats of tab-separated files: columns of the texts, column of the label, least number of columns, header lines.
TABLES = {
    "sst": ((0,), 1, 2, 0),
    "mrpc": ((3, 4), 0, 5, 1),
    "sick-entailment": ((1, 2), 4, 5, 1),
    "sick-relatedness": ((1, 2), 3, 5, 1),
    "sts-benchmark": ((5, 6), 4, 7, 0),
    "sts-year": ((1, 2), 0, 3, 0),
}

Folder = str | PathLike[str]


@dataclass(frozen=True)
class Row:
    """One item: a text or a pair of texts, with its label or human score."""

    texts: tuple[str, ...]
    label: float | str


@dataclass(frozen=True)
class File:
    """One file of a task: its path, part of the task, format, number of rows, and their label if all share one."""

    path: str
    part: str
    format: str
    rows: int
    label: int | None = None

    @property
    def sha256(self) -> dict[str, str]:
        """The known checksums by source; empty if the file has none."""
        if self.path not in PUBLISHED:
            return {}
        published = PUBLISHED[self.path]
        return {RAW: published, SENTEVAL: PREPARED.get(self.path, published)}

    @property
    def paths(self) -> tuple[str, ...]:
        """The file; for a SemEval year, the file of pairs and the file of their scores."""
        if self.format == "sts-year":
            return (self.path, self.path.replace("STS.input.", "STS.gs."))
        return (self.path,)


@dataclass(frozen=True)
class Task:
    """A task and its files.

    Attributes:
        name: as in the tables.
        layout: "folds" (one set of rows, ten outer folds), "train-test" (folds within train choose), "train-dev-test",
            or "similarity" (cosines against human scores; train is only text to fit on).
        metric: of its scores.
        files: in SentEval's layout.
    """

    name: str
    layout: str
    metric: str
    files: tuple[File, ...]


def _polarity(name: str, one: str, ones: int, zero: str, zeros: int) -> Task:
    """Return a task of two files of lines, one per class."""
    files = (
        File(f"{name}/{one}", "all", "lines", ones, 1),
        File(f"{name}/{zero}", "all", "lines", zeros, 0),
    )
    return Task(name, "folds", "accuracy", files)


def _sick(reader: str) -> tuple[File, ...]:
    return (
        File("SICK/SICK_train.txt", "train", reader, 4500),
        File("SICK/SICK_trial.txt", "dev", reader, 500),
        File("SICK/SICK_test_annotated.txt", "test", reader, 4927),
    )


def _sts(year: int, **subsets: int) -> Task:
    """Return the task of a SemEval year: scored pairs of several subsets, and no training rows."""
    names = {name.replace("__", ".").replace("_", "-"): rows for name, rows in subsets.items()}
    files = (
        File(f"STS/STS{year}-en-test/STS.input.{name}.txt", name, "sts-year", rows)
        for name, rows in names.items()
    )
    return Task(f"STS{year}", "similarity", "spearman", tuple(files))


_SST2 = (
    File("SST/binary/sentiment-train", "train", "sst", 67349),
    File("SST/binary/sentiment-dev", "dev", "sst", 872),
    File("SST/binary/sentiment-test", "test", "sst", 1821),
)
_TREC = (
    File("TREC/train_5500.label", "train", "trec", 5452),
    File("TREC/TREC_10.label", "test", "trec", 500),
)
_MRPC = (
    File("MRPC/msr_paraphrase_train.txt", "train", "mrpc", 4076),
    File("MRPC/msr_paraphrase_test.txt", "test", "mrpc", 1725),
)
_STS_B = (
    File("STS/STSBenchmark/sts-train.csv", "train", "sts-benchmark", 5749),
    File("STS/STSBenchmark/sts-dev.csv", "dev", "sts-benchmark", 1500),
    File("STS/STSBenchmark/sts-test.csv", "test", "sts-benchmark", 1379),
)

_ROWS = (
    _polarity("MR", "rt-polarity.pos", 5331, "rt-polarity.neg", 5331),
    _polarity("CR", "custrev.pos", 2407, "custrev.neg", 1368),
    _polarity("SUBJ", "subj.objective", 5000, "subj.subjective", 5000),
    _polarity("MPQA", "mpqa.pos", 3312, "mpqa.neg", 7294),
    Task("SST2", "train-dev-test", "accuracy", _SST2),
    Task("TREC", "train-test", "accuracy", _TREC),
    Task("MRPC", "train-test", "accuracy", _MRPC),
    Task("SICK-E", "train-dev-test", "accuracy", _sick("sick-entailment")),
    Task("STS-B", "similarity", "spearman", _STS_B),
    Task("SICK-R", "similarity", "spearman", _sick("sick-relatedness")),
    _sts(12, MSRpar=750, MSRvid=750, SMTeuroparl=459, surprise__OnWN=750, surprise__SMTnews=399),
    _sts(13, FNWN=189, headlines=750, OnWN=561),
    _sts(14, deft_forum=450, deft_news=300, headlines=750, images=750, OnWN=750, tweet_news=750),
    _sts(15, answers_forums=375, answers_students=750, belief=375, headlines=750, images=750),
    _sts(
        16,
        answer_answer=254,
        headlines=249,
        plagiarism=230,
        postediting=244,
        question_question=209,
    ),
)

#: All tasks by name, in the order of the tables.
TASKS: dict[str, Task] = {task.name: task for task in _ROWS}

#: The tasks of the paper's Table 1.
CLASSIFICATION = tuple(name for name, task in TASKS.items() if task.layout != "similarity")


def tasks_in(data: Folder, names: str | None = None) -> list[Task]:
    """Return the tasks with these comma-separated names, or all tasks whose files are in a folder."""
    if names is None:
        folder = _downstream(data)
        return [
            task
            for task in TASKS.values()
            if all((folder / path).is_file() for file in task.files for path in file.paths)
        ]
    selected = [name.strip() for name in names.split(",")]
    for name in selected:
        if name not in TASKS:
            raise ParameterError(f"there is no task {name!r}: choose from {', '.join(TASKS)}")
    return [TASKS[name] for name in selected]


def check(data: Folder, task: Task) -> dict[str, str]:
    """Return the sha256 of each file of a task; raise FileError for the first missing or wrong one."""
    folder = _downstream(data)
    hashes = file_hashes(data, task)
    for file in task.files:
        digest, known = hashes[file.path], list(dict.fromkeys(file.sha256.values()))
        if known and digest not in known:
            expected = " or ".join(f"{one[:12]}…" for one in known)
            raise FileError(
                f"{folder / file.path} is not the file that {task.name} is scored on (sha256 {digest[:12]}…, "
                f"not {expected})",
                hint="get SentEval's copy, or score it with unchecked=True",
            )
        rows = len(_read_file(folder, file, task))
        if rows != file.rows:
            raise FileError(
                f"{folder / file.path} has {rows} rows, not {file.rows}",
                hint="get SentEval's copy, or score it with unchecked=True",
            )
    if any(file.sha256 for file in task.files) and source_of(task, hashes) is None:
        raise FileError(
            f"{folder} holds some files of {task.name} as published and some as SentEval writes them",
            hint="convert all of them with `noppa paper prepare`",
        )
    return hashes


def source_of(task: Task, hashes: Mapping[str, str]) -> str | None:
    """Return the source that all files of a task share: SENTEVAL, RAW, or None for anything else."""
    for source in (SENTEVAL, RAW):
        if all(file.sha256.get(source) == hashes[file.path] for file in task.files):
            return source
    return None


def file_hashes(data: Folder, task: Task) -> dict[str, str]:
    """Return the sha256 of each file of a task without checking it."""
    return {
        path: hashlib.sha256(read_bytes(data, path, task)).hexdigest()
        for file in task.files
        for path in file.paths
    }


def read_bytes(data: Folder, path: str, task: Task) -> bytes:
    """Return the content of a file of a task."""
    file = _downstream(data) / path
    try:
        return file.read_bytes()
    except OSError as error:
        raise FileError(
            f"{task.name} needs {file}, which cannot be read ({error.strerror}): put SentEval's file {file.name} there"
        ) from error


def read(data: Folder, task: Task) -> dict[str, list[Row]]:
    """Return the rows of a task by part, sorted by length and label as SentEval does.

    On SentEval's own files the folds equal SentEval's. The published files have other lengths, so most rows fall into
    other folds.
    """
    folder = _downstream(data)
    parts: dict[str, list[Row]] = {}
    for file in task.files:
        parts.setdefault(file.part, []).extend(_read_file(folder, file, task))
    if task.layout == "similarity":
        return parts
    return {name: sorted(rows, key=_senteval_order) for name, rows in parts.items()}


def _senteval_order(row: Row) -> tuple[object, ...]:
    return (*(len(text.split()) for text in row.texts), row.label)


def _downstream(data: Folder) -> Path:
    """Return the folder that holds MR, CR and so on: `data` itself, or `downstream` in it."""
    path = Path(data)
    if not path.is_dir():
        raise FileError(
            f"{path} is not a folder: give SentEval's data folder, which holds downstream/"
        )
    return path / "downstream" if (path / "downstream").is_dir() else path


def _read_file(folder: Path, file: File, task: Task) -> list[Row]:
    lines, *gold = (_lines(read_bytes(folder, path, task)) for path in file.paths)
    if gold:
        if len(lines) != len(gold[0]):
            raise FileError(
                f"{folder / file.path} has {len(lines)} pairs and {file.paths[1]} {len(gold[0])} scores: "
                "get both files again"
            )
        lines = [f"{score}\t{pair}" for score, pair in zip(gold[0], lines, strict=True)]
    if file.format == "lines":
        return [Row((line,), float(file.label or 0)) for line in lines]
    if file.format == "trec":
        return [_trec_row(line) for line in lines]
    try:
        return _table_rows(lines, file)
    except ValueError as error:
        raise FileError(f"{folder / file.path} cannot be read: {error}; get it again") from error


def _lines(content: bytes) -> list[str]:
    """Decode UTF-8 with or without a BOM, else Latin-1, and split at line feeds.

    Not `splitlines`: the Latin-1 files of MR, SUBJ and TREC contain NEL characters, where it would split too.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def _trec_row(line: str) -> Row:
    target, _, question = line.partition(" ")
    return Row((question,), target.partition(":")[0])


def _table_rows(lines: list[str], file: File) -> list[Row]:
    """Parse tab-separated lines; pairs of a SemEval year without a score are skipped."""
    texts, label, least, header = TABLES[file.format]
    rows = []
    for number, line in enumerate(lines[header:], header + 1):
        cells = line.split("\t")
        if len(cells) < least:
            raise FileError(
                f"line {number} of {file.path} has {len(cells)} columns, not {least}: get the file again"
            )
        value = cells[label]
        if file.format == "sts-year" and not value.strip():
            continue
        entailment = file.format == "sick-entailment"
        score = float(ENTAILMENT.index(value) if entailment else value)
        rows.append(Row(tuple(cells[column] for column in texts), score))
    return rows

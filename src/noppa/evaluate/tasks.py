"""The tasks as one table: their files, readers, expected rows and checksums, and metrics."""

from __future__ import annotations

from dataclasses import dataclass

#: Of the files as SentEval's scripts write them. STS12 to STS16 are not pinned: no copy was available.
SHA256 = {
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


@dataclass(frozen=True)
class File:
    """One file of a task in SentEval's layout: its part, reader, number of rows, and their label if all share one."""

    path: str
    part: str
    reader: str
    rows: int
    label: int | None = None

    @property
    def sha256(self) -> str | None:
        return SHA256.get(self.path)


@dataclass(frozen=True)
class Task:
    """A task and its files.

    layout: "folds" (one set of rows, ten outer folds), "train-test" (folds within train choose), "train-dev-test", or
    "similarity" (cosines against human scores; train is only text to fit on).
    """

    name: str
    layout: str
    metric: str
    files: tuple[File, ...]


def _polarity(name: str, one: str, ones: int, zero: str, zeros: int) -> Task:
    """Two files of lines, one a class."""
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
    """A SemEval year: scored pairs of several subsets, nothing to train on."""
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

TASKS: dict[str, Task] = {task.name: task for task in _ROWS}

#: The paper's Table 1.
CLASSIFICATION = tuple(name for name, task in TASKS.items() if task.layout != "similarity")

"""Items of a long study: each gives a few records, knows which of them a file lacks, and how long they take."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from noppa import _native as kernels
from noppa.encoder.encoder import Encoder
from noppa.methods.protocol import Method
from noppa.methods.registry import to_dict
from noppa.paper import bench, perceptron, probes, task_files, tuning
from noppa.paper.bench import Conditions
from noppa.paper.candidates import Candidate, Encoded, Encodes, Recipe
from noppa.paper.protocols import OUTER_FOLDS
from noppa.paper.results import Record
from noppa.paper.tasks import Task
from noppa.processes import Run
from noppa.words.word_vectors import WordVectors

#: Checks of a network until its sixth without a gain, on average over the tasks.
CHECKS = 11


@dataclass(frozen=True)
class Words:
    """Word vectors, the same with probability 0 for words without a count, and the files they came from."""

    words: WordVectors
    as_authors: WordVectors
    files: Record


@dataclass(frozen=True)
class Study:
    """What the parts run on. corpus: texts that FastSent and Sent2Vec are trained on; without them, their rows are left out."""

    data: str
    sources: Sequence[Words]
    tasks: Sequence[Task]
    corpus: Corpus | None = None
    others: Sequence[Candidate] = ()
    unchecked: bool = False
    quick: bool = False

    def conditions(self, protocol: str, transductive: bool = False) -> Conditions:
        return Conditions(self.data, protocol, transductive=transductive, unchecked=self.unchecked)

    def chosen(self, names: Sequence[str]) -> list[Task]:
        return [task for task in self.tasks if task.name in names]

    def some(self, values: Sequence[Any], few: int = 2) -> list[Any]:
        """All of them; a few, spread over them, in the quick form."""
        if not self.quick or len(values) <= few:
            return list(values)
        return [values[at] for at in np.linspace(0, len(values) - 1, few).astype(int)]


@dataclass(frozen=True)
class Corpus:
    """Texts with the fingerprint of their file."""

    texts: Sequence[str]
    file: Record


@dataclass(frozen=True)
class Pretrained:
    """A method that is trained once on a corpus of its own, when it is first needed, and then scored as it is."""

    words: WordVectors
    method: Method
    corpus: Corpus
    name: str
    learns: bool = field(default=False, init=False)

    def to_dict(self) -> dict[str, Any]:
        method = to_dict(self.method)
        return {"method": method.pop("name"), **method, "refine": [], "corpus": self.corpus.file}

    @cached_property
    def encoder(self) -> Encoder:
        return Encoder(self.words, self.method).fit(self.corpus.texts)

    def fitted(self, texts: Sequence[str]) -> Encodes:
        return self.encoder


class Item(Protocol):
    """Something that gives records."""

    def left(self, old: Sequence[Record]) -> int:
        """How many records the old ones lack."""

    def records(self, old: Sequence[Record], run: Run) -> Iterator[Record]:
        """The records that are left."""

    def seconds(self, cost: Cost) -> float:
        """CPU time of one record."""


@dataclass(frozen=True)
class Cost:
    """Measured here and now: CPU seconds of a network for one row and dimension, and of `fast`."""

    network: float
    logistic: float

    @classmethod
    def measured(cls) -> Cost:
        random = np.random.default_rng(0)
        rows, labels = random.normal(size=(640, 200)).astype(np.float32), np.arange(640) % 2
        state, order = perceptron._start(200, 2, 0), np.arange(640, dtype=np.int32)
        start = time.process_time()
        kernels.network_steps(state, rows, labels.astype(np.int32), order, 640, 64, 2, 1e-4, 0)
        network = time.process_time() - start
        data = probes.ProbeData((rows, labels), None, (rows, labels), 2, 0)
        return cls(network / rows.size, probes.fast(data).cpu_seconds / rows.size)

    def of(self, task: Task, width: int, protocol: str) -> float:
        """CPU seconds of a candidate of that width on a task."""
        if task.layout == "similarity":
            return 1.0
        rows = sum(file.rows for file in task.files if file.part in ("train", "all"))
        numbers = rows * width * (2 if task.name in ("MRPC", "SICK-E") else 1)
        folds = OUTER_FOLDS if task.layout == "folds" else 1
        if protocol == "fast":
            return self.logistic * numbers * folds
        l2 = len(probes.SENTEVAL_L2)
        inner = l2 if task.layout == "train-dev-test" else l2 * probes.SENTEVAL_FOLDS + 1
        return self.network * numbers * folds * inner * perceptron.EPOCH_SIZE * CHECKS * 0.85


def plain(record: Record) -> Record:
    """As JSON gives it back."""
    same: Record = json.loads(json.dumps(record))
    return same


@dataclass(frozen=True)
class Cell:
    """One candidate on one task."""

    task: Task
    candidate: Candidate
    conditions: Conditions
    files: Record

    @cached_property
    def _marks(self) -> Record:
        return plain(
            {
                "task": self.task.name,
                "encoder": self.candidate.name,
                "parameters": self.candidate.to_dict(),
                "protocol": self.conditions.protocol,
                "seed": self.conditions.seed,
                "transductive": self.conditions.transductive,
                "checked": not self.conditions.unchecked,
                "data": task_files.hashes_of(self.conditions.data, self.task),
                **self.files,
            }
        )

    def left(self, old: Sequence[Record]) -> int:
        marks = self._marks
        return int(not any(all(row.get(key) == marks[key] for key in marks) for row in old))

    def records(self, old: Sequence[Record], run: Run) -> Iterator[Record]:
        if self.left(old):
            for row in bench.results([self.task], [self.candidate], self.conditions, run):
                yield row | self.files

    def seconds(self, cost: Cost) -> float:
        return cost.of(self.task, width(self.candidate), self.conditions.protocol)


def width(candidate: Candidate) -> int:
    """Of its vectors; a guess for encoders from elsewhere, which only the estimate of time needs."""
    if isinstance(candidate, (Recipe, Pretrained)):
        return candidate.method.width(candidate.words)
    if isinstance(candidate, Encoded):
        return int(candidate.vectors.shape[1])
    return 400


@dataclass(frozen=True)
class Search:
    """One search over the parameters of a method on one task."""

    task: Task
    plan: tuning.Plan
    conditions: Conditions
    files: Record
    seed: int = 0

    def _own(self, old: Sequence[Record]) -> list[Record]:
        hashes = task_files.hashes_of(self.conditions.data, self.task)
        marks = plain({"task": self.task.name, "data": hashes, **self.files})
        return [row for row in old if all(row.get(key) == marks[key] for key in marks)]

    @cached_property
    def _example(self) -> Candidate:
        """The candidate at the upper end of the space."""
        return self.plan.make({part.name: part.last for part in self.plan.space})

    def _selected(self, own: Sequence[Record]) -> bool:
        """Whether the record of the selection is there; the trials behind it are then no longer needed."""
        marks = {
            "encoder": tuning.searched(self._example.name),
            "protocol": self.conditions.protocol,
            "seed": self.conditions.seed,
            "transductive": self.conditions.transductive,
            "selected_on": self.plan.select_on,
            "search": self.plan.to_dict(self.seed),
        }
        fixed = plain(self.plan.fixed(self._example.to_dict()))
        return any(
            all(row.get(key) == marks[key] for key in marks)
            and {**row.get("parameters", {}), "chosen": None} == {**fixed, "chosen": None}
            for row in own
        )

    def left(self, old: Sequence[Record]) -> int:
        own = self._own(old)
        if self._selected(own):
            return 0
        trials = tuning.trials_of(own, self.task, self.seed, self.plan, self.conditions)
        return self.plan.count - len(trials) + 1

    def records(self, old: Sequence[Record], run: Run) -> Iterator[Record]:
        if self.left(old):
            rows = tuning.searches(
                [self.task], [self.seed], self.plan, self.conditions, self._own(old), run
            )
            for row in rows:
                yield row | self.files

    def seconds(self, cost: Cost) -> float:
        wide = width(self._example)
        share = self.plan.count / (self.plan.count + 1)  # the selection costs nothing
        return share * cost.of(self.task, wide, self.conditions.protocol)


@dataclass(frozen=True)
class Timing:
    """Seconds to encode SICK's sentences, several runs of one method on one thread."""

    task: Task
    recipe: Recipe
    conditions: Conditions
    files: Record
    runs: int

    @cached_property
    def _marks(self) -> Record:
        return plain(
            {
                "encoder": self.recipe.name,
                "parameters": self.recipe.to_dict(),
                "protocol": "speed",
                "data": task_files.hashes_of(self.conditions.data, self.task),
                **self.files,
            }
        )

    def left(self, old: Sequence[Record]) -> int:
        marks = self._marks
        done = [row for row in old if all(row.get(key) == marks[key] for key in marks)]
        return int(not any(len(row["folds"]) >= self.runs for row in done))

    def records(self, old: Sequence[Record], run: Run) -> Iterator[Record]:
        if not self.left(old):
            return
        parts, _ = bench.load(self.task, self.conditions)
        texts = [text for rows in parts.values() for row in rows for text in row.texts]
        encoder = self.recipe.fitted(texts)
        assert isinstance(encoder, Encoder)
        encoder.encode(texts, threads=1)  # the first run also pays for fresh memory
        seconds = []
        for _ in range(self.runs):
            start = time.process_time()
            encoder.encode(texts, threads=1)
            seconds.append(round(time.process_time() - start, 5))
        yield {
            "task": self.task.name,
            "score": float(np.mean(seconds)),
            "metric": "CPU seconds",
            "folds": seconds,
            "sentences": len(texts),
            "dim": self.recipe.words.dim,
            "seed": self.conditions.seed,
            "checked": not self.conditions.unchecked,
            **self._marks,
        }

    def seconds(self, cost: Cost) -> float:
        return 1.0 * self.runs


def total_of(items: Sequence[Item], old: Sequence[Record], cost: Cost) -> tuple[int, float]:
    """Records that are left, and their CPU seconds."""
    left = [(item.left(old), item) for item in items]
    return sum(n for n, _ in left), sum(n * item.seconds(cost) for n, item in left if n)

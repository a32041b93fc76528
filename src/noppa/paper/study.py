"""The paper's experiments in parts that can be interrupted and resumed: what `noppa paper run` runs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import prod
from typing import Any, Protocol

import numpy as np

from noppa.encoder.encoder import Encoder
from noppa.methods import DCT, GEM, METHODS, S3E, SIF, USIF, VLAWE, Average, NoPPA
from noppa.methods.method import Method
from noppa.paper import records, tasks, tuning
from noppa.paper.protocols import Candidate, Pretrained, Recipe
from noppa.paper.records import Conditions, Record
from noppa.paper.tasks import CLASSIFICATION, Task
from noppa.paper.tuning import Plan, Range
from noppa.processes import Run
from noppa.refine import CommonComponents, Whitening
from noppa.words.word_vectors import WordVectors

#: The a and k of the ablations: in the middle of the range that the paper searched.
A, K = 0.05, 12
SIMILARITY = ("STS-B", "SICK-R")
#: Frequency weights far beyond the paper's 0.01 to 0.15 on either side: cosines are best outside it.
GRID_A = (1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0)
GRID_K = (0, 1, 6, 12, 24)
#: The grids in the papers of the baselines.
BASELINES: dict[type[Any], tuple[str, ...]] = {
    SIF: ("a=0.0001|0.0003|0.001|0.003|0.01",),
    USIF: ("m=1|3|5",),
    DCT: ("k=1|2|3|4|5|6",),
    S3E: ("k=5|10|15|20",),
    GEM: ("h=1|2|5",),
    VLAWE: ("k=2|5|10",),
}
REPLAYED_SPACE = ("a=0.01:0.15", "k=1:23")
#: Trials on a task with outer folds, where the network takes minutes for each.
REPLAYED_FOLD_TRIALS = 8
SPEED_RUNS = 10
#: Seeds of the search for a and k: as many as the paper has.
SEARCH_SEEDS = 5
#: The tasks of the quick form: the smallest of each layout.
QUICK_TASKS = ("CR", "TREC", "SICK-E", "STS-B", "SICK-R")


@dataclass(frozen=True)
class Words:
    """Word vectors, the same with probability 0 for words without a count, and the files they came from."""

    words: WordVectors
    as_authors: WordVectors
    files: Record


@dataclass(frozen=True)
class Study:
    """The input of the experiments.

    Attributes:
        data: SentEval's data folder.
        sources: word vectors.
        tasks: the tasks to run.
        corpus: texts for FastSent and Sent2Vec, which are left out without them.
        corpus_file: name and hash of the file of these texts.
        others: further rows of Table 1.
        unchecked: accept files with other checksums.
        quick: run few methods, trials and repetitions.
    """

    data: str
    sources: Sequence[Words]
    tasks: Sequence[Task]
    corpus: Sequence[str] | None = None
    corpus_file: Record | None = None
    others: Sequence[Candidate] = ()
    unchecked: bool = False
    quick: bool = False

    def conditions(self, protocol: str = "fast", transductive: bool = False) -> Conditions:
        return Conditions(self.data, protocol, transductive=transductive, unchecked=self.unchecked)

    def select(self, names: Sequence[str]) -> list[Task]:
        return [task for task in self.tasks if task.name in names]

    def thin(self, values: Sequence[Any], few: int = 2) -> list[Any]:
        """Return all values, or in the quick form a few of them, evenly spread."""
        if not self.quick or len(values) <= few:
            return list(values)
        return [values[index] for index in np.linspace(0, len(values) - 1, few).astype(int)]

    def quickened(self) -> Study:
        """Return the same study with few tasks, methods, trials and runs."""
        few = self.select(QUICK_TASKS) if len(self.tasks) > len(QUICK_TASKS) else self.tasks
        return replace(self, tasks=few, quick=True)


# Items: each yields a few records, and knows which of them a file lacks.


class Item(Protocol):
    """A source of records."""

    def missing(self, old: Sequence[Record]) -> int:
        """Return how many records the old ones lack."""

    def records(self, old: Sequence[Record], run: Run) -> Iterator[Record]:
        """Yield the missing records."""


@dataclass(frozen=True)
class Cell:
    """One candidate on one task."""

    task: Task
    candidate: Candidate
    conditions: Conditions
    files: Record

    def missing(self, old: Sequence[Record]) -> int:
        expected = {
            "task": self.task.name,
            "encoder": self.candidate.name,
            "parameters": self.candidate.to_dict(),
            "data": tasks.file_hashes(self.conditions.data, self.task),
            **self.conditions.to_dict(),
            **self.files,
        }
        return int(not records.matching(old, expected))

    def records(self, old: Sequence[Record], run: Run) -> Iterator[Record]:
        for row in records.score_all([self.task], [self.candidate], self.conditions, run):
            yield row | self.files


@dataclass(frozen=True)
class Search:
    """One search over the parameters of a method on one task."""

    task: Task
    plan: Plan
    conditions: Conditions
    files: Record
    seed: int = 0

    @cached_property
    def _example(self) -> Candidate:
        """The candidate at the upper end of the space."""
        return self.plan.make({part.name: part.last for part in self.plan.space})

    def _same_data(self, old: Sequence[Record]) -> list[Record]:
        hashes = tasks.file_hashes(self.conditions.data, self.task)
        return records.matching(old, {"task": self.task.name, "data": hashes, **self.files})

    def _is_selected(self, rows: Sequence[Record]) -> bool:
        """Return whether the record of the selection is there; the trials are then no longer needed."""
        expected = {
            "encoder": tuning.searched(self._example.name),
            **self.conditions.to_dict(),
            "selected_on": self.plan.select_on,
            "search": self.plan.to_dict(self.seed),
        }
        fixed = self.plan.fixed(self._example.to_dict())
        parameters = [
            {key: value for key, value in row["parameters"].items() if key != "chosen"}
            for row in records.matching(rows, expected)
        ]
        return json.loads(json.dumps(fixed)) in parameters

    def missing(self, old: Sequence[Record]) -> int:
        rows = self._same_data(old)
        if self._is_selected(rows):
            return 0
        done = tuning.trials_among(rows, self.task, self.plan, self.conditions, self.seed)
        return self.plan.count - len(done) + 1

    def records(self, old: Sequence[Record], run: Run) -> Iterator[Record]:
        rows = self._same_data(old)
        for row in tuning.search(self.task, self.plan, self.conditions, self.seed, rows, run):
            yield row | self.files


@dataclass(frozen=True)
class Timing:
    """Seconds to encode the sentences of a task, several runs of one method on one thread."""

    task: Task
    recipe: Recipe
    conditions: Conditions
    files: Record
    runs: int

    @cached_property
    def _identity(self) -> Record:
        return {
            "encoder": self.recipe.name,
            "parameters": self.recipe.to_dict(),
            "protocol": "speed",
            "data": tasks.file_hashes(self.conditions.data, self.task),
            **self.files,
        }

    def missing(self, old: Sequence[Record]) -> int:
        done = records.matching(old, self._identity)
        return int(not any(len(row["folds"]) >= self.runs for row in done))

    def records(self, old: Sequence[Record], run: Run) -> Iterator[Record]:
        parts, _ = self.conditions.load(self.task)
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
            **self._identity,
        }


# The parts of the study.


def table_rows(study: Study, words: WordVectors) -> list[Candidate]:
    """Return the rows of Table 1: baselines with their default parameters, then NoPPA and its parts."""
    rows: list[Candidate] = []
    for name, kind in METHODS.items():
        if name in ("fastsent", "sent2vec"):
            if study.corpus is not None and study.corpus_file is not None:
                rows.append(
                    Pretrained(words, kind(), study.corpus, study.corpus_file, kind.__name__)
                )
        elif kind is not NoPPA and kind.__module__.startswith("noppa."):
            rows.append(Recipe(words, kind(), kind.__name__))
    ablations = {
        "CE-avg": NoPPA(a=None, k=0),
        "CE-avg+NR": NoPPA(a=None, k=K),
        "CE+SFW": NoPPA(a=A, k=0),
        "NoPPA": NoPPA(a=A, k=K),
        "NoPPA, rich parts": NoPPA(a=A, k=K, parts=NoPPA.RICH),
    }
    return [*rows, *(Recipe(words, method, name) for name, method in ablations.items())]


def table_1(study: Study, protocol: str) -> list[Item]:
    """Score every method on every task; external encoders come with the first file of vectors."""
    conditions = study.conditions(protocol)
    similarity = SIMILARITY if protocol == "fast" else ()
    selected = study.select((*CLASSIFICATION, *similarity))
    items: list[Item] = []
    for number, source in enumerate(study.sources):
        rows = [(row, source.files) for row in study.thin(table_rows(study, source.words), 5)]
        if not number:
            rows += [(other, dict.fromkeys(source.files)) for other in study.others]
        items += [Cell(task, row, conditions, files) for task in selected for row, files in rows]
    return items


def ablations(study: Study) -> list[Item]:
    """Change one setting of NoPPA at a time: noise removal, kernel, positions, attention, whitening."""
    settings: dict[str, dict[str, Any]] = {
        "NoPPA": {},
        "NoPPA, noise=reference": {"noise": "reference"},
        "NoPPA, kernel=abs": {"kernel": "abs"},
        "NoPPA, kernel=square": {"kernel": "square"},
        "NoPPA, position=reference": {"position": "reference"},
        "NoPPA, no positions": {"position": None},
        "NoPPA, attend_self=False": {"attend_self": False},
    }
    selected = study.select((*CLASSIFICATION, *SIMILARITY))
    items: list[Item] = []
    for source in study.sources:
        words, plain = source.words, NoPPA(a=A, k=0)
        rows = [
            *(
                Recipe(words, NoPPA(a=A, k=K, **changed), name)
                for name, changed in settings.items()
            ),
            Recipe(words, plain, "NoPPA, first-k removed", (CommonComponents(K),)),
            Recipe(words, plain, "NoPPA, whitened", (Whitening(),)),
        ]
        for recipe in [Recipe(words, plain, "CE+SFW"), *study.thin(rows)]:
            items += [Cell(task, recipe, study.conditions(), source.files) for task in selected]
    return items


def grid(study: Study) -> list[Item]:
    """Score NoPPA for each a and k."""
    source = study.sources[0]
    return [
        Cell(
            task,
            Recipe(source.words, NoPPA(a=a, k=k), f"NoPPA(a={a:g}, k={k})"),
            study.conditions(),
            source.files,
        )
        for task in study.select((*CLASSIFICATION, *SIMILARITY))
        for a in study.thin(GRID_A)
        for k in study.thin(GRID_K)
    ]


def tuned(study: Study) -> list[Item]:
    """Search each baseline over the grid of its paper; each fold takes the best on its development rows."""
    items: list[Item] = []
    for source in study.sources:
        for kind, texts in study.thin([*BASELINES.items()]):
            space = tuple(map(Range.parse, texts))
            count = prod(len(part.choices) for part in space)
            plan = Plan(_maker(source.words, kind), space, count, exhaustive=True)
            items += [
                Search(task, plan, study.conditions(), source.files)
                for task in study.select(CLASSIFICATION)
            ]
    return items


def _maker(words: WordVectors, kind: type[Any], **fixed: Any) -> tuning.Make:
    def make(values: dict[str, Any]) -> Candidate:
        numbers = {name: _to_number(value) for name, value in values.items()}
        return Recipe(words, kind(**fixed | numbers), kind.__name__)

    return make


def _to_number(value: Any) -> Any:
    """Convert a choice of a grid, which is text, to a number."""
    if not isinstance(value, str):
        return value
    return int(value) if value.isdecimal() else float(value)


def searches(study: Study) -> list[Item]:
    """Search a and k with five seeds: on development rows, and as in the paper on test rows with test text."""
    source = study.sources[0]
    space = tuple(map(Range.parse, tuning.SPACE))
    make = _maker(source.words, NoPPA)
    count = 3 if study.quick else tuning.TRIALS
    return [
        Search(
            task,
            Plan(make, space, count, select_on),
            study.conditions(transductive=select_on == "test"),
            source.files,
            seed,
        )
        for seed in study.thin(range(SEARCH_SEEDS), 1)
        for task in study.select((*CLASSIFICATION, *SIMILARITY))
        for select_on in tuning.SELECT_ON
    ]


def replay(study: Study) -> list[Item]:
    """Replay the authors' run, and an honest search with the same classifier and as many trials.

    The authors' run has their positions, noise removal, weights of uncounted words and classifier, and is fitted and
    selected on test rows.
    """
    source = study.sources[0]
    authors = _maker(source.as_authors, NoPPA, position="reference", noise="reference")
    honest = _maker(source.words, NoPPA)
    items: list[Item] = []
    for task in study.select(CLASSIFICATION):
        count = REPLAYED_FOLD_TRIALS if task.layout == "folds" else tuning.TRIALS
        count = 2 if study.quick else count
        for make, space, select_on in (
            (authors, REPLAYED_SPACE, "test"),
            (honest, tuning.SPACE, "dev"),
        ):
            plan = Plan(make, tuple(map(Range.parse, space)), count, select_on)
            conditions = study.conditions("senteval", transductive=select_on == "test")
            items.append(Search(task, plan, conditions, source.files))
    return items


def speed(study: Study) -> list[Item]:
    """Time NoPPA with and without log2, S3E, GEM and the average on SICK's sentences."""
    methods: dict[str, Method] = {
        "NoPPA": NoPPA(a=A, k=K),
        "NoPPA, kernel=square": NoPPA(a=A, k=K, kernel="square"),
        "NoPPA, kernel=abs": NoPPA(a=A, k=K, kernel="abs"),
        "S3E": S3E(),
        "GEM": GEM(),
        "Average": Average(),
    }
    runs = 2 if study.quick else SPEED_RUNS
    return [
        Timing(task, Recipe(source.words, method, name), study.conditions(), source.files, runs)
        for source in study.sources
        for task in study.select(("SICK-R",))
        for name, method in methods.items()
    ]


#: The parts of the study, which run by themselves: a title, and the function that lists the items.
PARTS: dict[str, tuple[str, Callable[[Study], list[Item]]]] = {
    "fast": ("Table 1 with logistic regression", partial(table_1, protocol="fast")),
    "senteval": ("Table 1 with the paper's classifier", partial(table_1, protocol="senteval")),
    "ablations": ("one setting of NoPPA changed at a time", ablations),
    "speed": ("the speed study", speed),
    "grid": ("scores by a and k", grid),
    "tuned": ("baselines over the grids of their papers", tuned),
    "search": ("a and k chosen on development rows, and on test as in the paper", searches),
    "replay": ("the authors' run, and an honest search with the same classifier", replay),
}

"""The paper's experiments in parts that can be interrupted and resumed: what `noppa paper run` runs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np

from noppa.classify.probe import OUTER_FOLDS
from noppa.encoder.encoder import Encoder
from noppa.extras import needs
from noppa.methods import DCT, GEM, METHODS, S3E, SIF, USIF, VLAWE, Average, NoPPA
from noppa.methods.method import Method
from noppa.paper import records, tasks
from noppa.paper.protocols import Candidate, PerFold, Pretrained, Recipe
from noppa.paper.records import Conditions, Record
from noppa.paper.tasks import CLASSIFICATION, Task
from noppa.processes import Run
from noppa.refine import CommonComponents, Whitening
from noppa.words.word_vectors import WordVectors

Parameters = dict[str, Any]
Make = Callable[[Parameters], Candidate]

#: The a and k of the ablations: in the middle of the range that the paper searched.
A, K = 0.05, 12
SIMILARITY = ("STS-B", "SICK-R")
#: Frequency weights far beyond the paper's 0.01 to 0.15 on either side: cosines are best outside it.
GRID_A = (1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0)
GRID_K = (0, 1, 6, 12, 24)
#: The grids in the papers of the baselines.
BASELINES: dict[type[Any], str] = {
    SIF: "a=0.0001|0.0003|0.001|0.003|0.01",
    USIF: "m=1|3|5",
    DCT: "k=1|2|3|4|5|6",
    S3E: "k=5|10|15|20",
    GEM: "h=1|2|5",
    VLAWE: "k=2|5|10",
}
SPACE = ("a=0.01:0.15", "k=0:24")
REPLAYED_SPACE = ("a=0.01:0.15", "k=1:23")
TRIALS = 40
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
        corpus: Texts for FastSent and Sent2Vec, which are left out without them.
        corpus_file: Name and hash of the file of these texts.
        others: Further rows of Table 1.
        quick: Run few methods, trials and repetitions.
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


@dataclass(frozen=True)
class Item:
    """A source of records of one task, which knows which of them a file lacks."""

    task: Task
    conditions: Conditions
    files: Record

    @cached_property
    def source(self) -> Record:
        """The fields of a record that identify its task and its files."""
        hashes = tasks.file_hashes(self.conditions.data, self.task)
        return {"task": self.task.name, "data": hashes, **self.files}

    def missing(self, old: Sequence[Record]) -> int:
        """Return how many records the old ones lack."""
        raise NotImplementedError

    def records(self, old: Sequence[Record], run: Run) -> Iterator[Record]:
        """Yield the missing records."""
        raise NotImplementedError


@dataclass(frozen=True)
class Cell(Item):
    """One candidate on one task."""

    candidate: Candidate

    def missing(self, old: Sequence[Record]) -> int:
        parameters = {"encoder": self.candidate.name, "parameters": self.candidate.to_dict()}
        expected = {**parameters, **self.conditions.to_dict(), **self.source}
        return int(not records.matching(old, expected))

    def records(self, old: Sequence[Record], run: Run) -> Iterator[Record]:
        for row in records.score_all([self.task], [self.candidate], self.conditions, run):
            yield row | self.files


@dataclass(frozen=True)
class Timing(Item):
    """Seconds to encode the sentences of a task, several runs of one method on one thread."""

    recipe: Recipe
    runs: int

    @cached_property
    def _identity(self) -> Record:
        parameters = {"encoder": self.recipe.name, "parameters": self.recipe.to_dict()}
        return {**parameters, "protocol": "speed", **self.source}

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
            "score": float(np.mean(seconds)),
            "metric": "CPU seconds",
            "folds": seconds,
            "sentences": len(texts),
            "dim": self.recipe.words.dim,
            "seed": self.conditions.seed,
            "checked": not self.conditions.unchecked,
            **self._identity,
        }


@dataclass(frozen=True)
class Search(Item):
    """A search over the parameters of a method on a task: each trial is a record, and so is the selection.

    Honest selection: each outer fold takes the trial with the best score on development rows inside its own training
    part. On tasks with outer folds, each fold has a separate search guided by these rows alone, because the mean
    development score over folds depends on rows that are test rows of other folds. A trial is then one proposal per fold,
    which costs as much as one proposal for all. `select_on="test"` replays the paper: sampling and selection follow the
    test score.

    Attributes:
        space: Ranges `a=0.01:0.15`, `k=0:24` (whole numbers), or choices `k=5|10`.
        count: Number of trials.
        select_on: The rows whose score selects, "dev" or "test".
        exhaustive: Let trial n take the n-th of all combinations of choices.
    """

    make: Make
    space: Sequence[str]
    count: int = TRIALS
    select_on: str = "dev"
    seed: int = 0
    exhaustive: bool = False

    @cached_property
    def ranges(self) -> dict[str, list[Any]]:
        """The lowest and highest number of each parameter, or its choices, which stay text."""
        pairs = (text.split("=") for text in self.space)
        return {
            name: list(map(json.loads, values.split(":"))) if ":" in values else values.split("|")
            for name, values in pairs
        }

    def missing(self, old: Sequence[Record]) -> int:
        rows = records.matching(old, self.source)
        return 0 if self._is_selected(rows) else self.count - len(self._trials_among(rows)) + 1

    def records(self, old: Sequence[Record], run: Run) -> Iterator[Record]:
        done = self._trials_among(records.matching(old, self.source))
        for trial in self.trials(tuple(done), run):
            done.append(trial)
            yield trial | self.files
        yield self.select(done) | self.files

    def _is_selected(self, rows: Sequence[Record]) -> bool:
        """Return whether the record of the selection is there; the trials are then no longer needed."""
        example = self.make({name: values[-1] for name, values in self.ranges.items()})
        searched = {"encoder": f"{example.name}, searched", "search": self._about}
        expected = {**searched, **self.conditions.to_dict(), "selected_on": self.select_on}
        parameters = [
            {key: value for key, value in row["parameters"].items() if key != "chosen"}
            for row in records.matching(rows, expected)
        ]
        return json.loads(json.dumps(self._fixed(example.to_dict()))) in parameters

    @property
    def _about(self) -> Record:
        return {"trials": self.count, "seed": self.seed, "space": list(self.space)}

    def _fixed(self, parameters: Parameters) -> Parameters:
        """Return the parameters of a candidate that are not searched."""
        return {name: value for name, value in parameters.items() if name not in self.ranges}

    def _candidate(self, parameters: Parameters | list[Parameters]) -> Candidate:
        """Return the candidate of a trial, given its parameters or a list with those of each fold."""
        if isinstance(parameters, list):
            return PerFold(tuple(map(self.make, parameters)))
        return self.make(parameters)

    def _trials_among(self, rows: Sequence[Record]) -> list[Record]:
        trials = []
        for row in records.matching(
            rows, {"selected_on": self.select_on, **self.conditions.to_dict()}
        ):
            about = row.get("trial") or {}
            if (about.get("seed"), about.get("space")) == (self.seed, list(self.space)):
                candidate = self._candidate(about["parameters"])
                expected = {"encoder": candidate.name, "parameters": candidate.to_dict()}
                trials += records.matching([row], expected)
        return trials[: self.count]

    def trials(self, done: Sequence[Record] = (), run: Run = map) -> Iterator[Record]:
        """Yield the trials that are not in `done`; a resumed search continues with the same proposals."""
        with needs("eval", "the search"):
            import optuna
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        per_fold = self.task.layout == "folds" and self.select_on == "dev" and not self.exhaustive
        studies = [
            optuna.create_study(direction="maximize") for _ in range(OUTER_FOLDS if per_fold else 1)
        ]
        kinds: dict[type, Callable[..., Any]] = {
            str: lambda *choices: optuna.distributions.CategoricalDistribution(choices),
            int: optuna.distributions.IntDistribution,
            float: optuna.distributions.FloatDistribution,
        }
        distributions = {
            name: kinds[type(values[0])](*values) for name, values in self.ranges.items()
        }
        for old in done:
            for fold, study in enumerate(studies):
                finished = optuna.trial.create_trial(
                    params=_fold_parameters(old["trial"]["parameters"], fold),
                    distributions=distributions,
                    value=self._objective(old, fold if per_fold else None),
                )
                study.add_trial(finished)
        combinations = list(product(*self.ranges.values()))
        for number in range(len(done), self.count):
            for study in studies:
                if self.exhaustive:
                    study.enqueue_trial(dict(zip(distributions, combinations[number], strict=True)))
                study.sampler = optuna.samplers.TPESampler(seed=1000 * self.seed + number)
            asked = [study.ask(distributions) for study in studies]
            proposed = [trial.params for trial in asked]
            parameters = proposed if per_fold else proposed[0]
            candidate = self._candidate(parameters)
            (record,) = records.score_all([self.task], [candidate], self.conditions, run)
            about = {"number": number, "seed": self.seed, "space": list(self.space)}
            record |= {"selected_on": self.select_on, "trial": about | {"parameters": parameters}}
            for fold, (study, trial) in enumerate(zip(studies, asked, strict=True)):
                study.tell(trial, self._objective(record, fold if per_fold else None))
            yield record

    def _objective(self, record: Record, fold: int | None) -> float:
        """Return the score to maximize: on test rows, on development rows, or on those of one fold."""
        if fold is not None:
            return float(record["dev_folds"][fold])
        return float(record["score"] if self.select_on == "test" else record["dev"])

    def select(self, done: Sequence[Record]) -> Record:
        """Return the record of a whole search: the best trial of each fold, or the paper's single best test score."""
        first = done[0]
        if self.select_on == "test":
            best = [int(np.argmax([trial["score"] for trial in done]))] * len(first["folds"])
        else:
            best = np.argmax([trial["dev_folds"] for trial in done], axis=0).tolist()
        folds, dev_folds = (
            [done[trial][key][fold] for fold, trial in enumerate(best)]
            for key in ("folds", "dev_folds")
        )
        chosen = [
            _fold_parameters(done[trial]["trial"]["parameters"], fold)
            for fold, trial in enumerate(best)
        ]
        searched = chosen[0] if all(parameters == chosen[0] for parameters in chosen) else chosen
        dropped = ("trial", "l2", "f1", "pearson")
        return {key: value for key, value in first.items() if key not in dropped} | {
            "score": round(float(np.mean(folds)), 4),
            "encoder": f"{first['encoder']}, searched",
            "folds": folds,
            "dev_folds": dev_folds,
            "dev": round(float(np.mean(dev_folds)), 4),
            "parameters": {**self._fixed(first["parameters"]), "chosen": searched},
            "selected_on": self.select_on,
            "search": self._about,
            "seconds": round(sum(trial["seconds"] for trial in done), 2),
            "cpu_seconds": round(sum(trial.get("cpu_seconds", 0) for trial in done), 2),
        }


def _fold_parameters(parameters: Parameters | list[Parameters], fold: int) -> Parameters:
    return parameters[fold] if isinstance(parameters, list) else parameters


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
        items += [Cell(task, conditions, files, row) for task in selected for row, files in rows]
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
            Recipe(words, NoPPA(a=A, k=K, **changed), name) for name, changed in settings.items()
        ]
        rows.append(Recipe(words, plain, "NoPPA, first-k removed", (CommonComponents(K),)))
        rows.append(Recipe(words, plain, "NoPPA, whitened", (Whitening(),)))
        for recipe in [Recipe(words, plain, "CE+SFW"), *study.thin(rows)]:
            items += [Cell(task, study.conditions(), source.files, recipe) for task in selected]
    return items


def grid(study: Study) -> list[Item]:
    """Score NoPPA for each a and k."""
    source = study.sources[0]
    rows = [
        Recipe(source.words, NoPPA(a=a, k=k), f"NoPPA(a={a:g}, k={k})")
        for a in study.thin(GRID_A)
        for k in study.thin(GRID_K)
    ]
    selected = study.select((*CLASSIFICATION, *SIMILARITY))
    return [Cell(task, study.conditions(), source.files, row) for task in selected for row in rows]


def tuned(study: Study) -> list[Item]:
    """Search each baseline over the grid of its paper; each fold takes the best on its development rows."""
    items: list[Item] = []
    for source in study.sources:
        for kind, text in study.thin([*BASELINES.items()]):
            make, count = _maker(source.words, kind), text.count("|") + 1
            for task in study.select(CLASSIFICATION):
                where = (task, study.conditions(), source.files)
                items.append(Search(*where, make, (text,), count, exhaustive=True))
    return items


def _maker(words: WordVectors, kind: type[Any], **fixed: Any) -> Make:
    def make(values: Parameters) -> Candidate:
        # The choices of a grid are text.
        numbers = {name: json.loads(str(value)) for name, value in values.items()}
        return Recipe(words, kind(**fixed | numbers), kind.__name__)

    return make


def searches(study: Study) -> list[Item]:
    """Search a and k with five seeds: on development rows, and as in the paper on test rows with test text."""
    source = study.sources[0]
    make = _maker(source.words, NoPPA)
    count = 3 if study.quick else TRIALS
    items: list[Item] = []
    for seed in study.thin(range(SEARCH_SEEDS), 1):
        for task in study.select((*CLASSIFICATION, *SIMILARITY)):
            for select_on in ("dev", "test"):
                conditions = study.conditions(transductive=select_on == "test")
                where = (task, conditions, source.files)
                items.append(Search(*where, make, SPACE, count, select_on, seed))
    return items


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
        count = REPLAYED_FOLD_TRIALS if task.layout == "folds" else TRIALS
        count = 2 if study.quick else count
        for make, space, select_on in ((authors, REPLAYED_SPACE, "test"), (honest, SPACE, "dev")):
            conditions = study.conditions("senteval", transductive=select_on == "test")
            items.append(Search(task, conditions, source.files, make, space, count, select_on))
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
        Timing(task, study.conditions(), source.files, Recipe(source.words, method, name), runs)
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

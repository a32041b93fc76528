"""Search the parameters of a method on a task: each trial is a record, and so is the selection.

Honest selection: each outer fold takes the trial with the best score on development rows inside its own training part.
On tasks with outer folds, each fold has a separate search guided by these rows alone, because the mean development score
over folds depends on rows that are test rows of other folds. A trial is then one proposal per fold, which costs as much
as one proposal for all. `select_on="test"` replays the paper: sampling and selection follow the test score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from noppa.classify.probe import OUTER_FOLDS
from noppa.errors import ParameterError
from noppa.extras import needs
from noppa.paper import records
from noppa.paper.protocols import Candidate, PerFold
from noppa.paper.records import Conditions, Record
from noppa.paper.tasks import Task
from noppa.parameters import LARGEST, one_of, validate_fields, whole
from noppa.processes import Run

SPACE = ("a=0.01:0.15", "k=0:24")
TRIALS = 40
SELECT_ON = ("dev", "test")
#: Each trial has its own sampler seed, 1000 * search + trial, which must fit optuna's 32 bits.
MOST_SEARCHES = (1 << 32) // 1000 - TRIALS

Parameters = dict[str, Any]
Make = Callable[[Parameters], Candidate]


@dataclass(frozen=True)
class Range:
    """The range of one parameter: numbers from low to high, both included, or a list of choices."""

    text: str
    name: str
    low: float = 0
    high: float = 0
    choices: tuple[str, ...] = ()

    @property
    def last(self) -> float | str:
        """The upper end, or the last choice."""
        return self.choices[-1] if self.choices else self.high

    @classmethod
    def parse(cls, text: str) -> Range:
        """Parse `a=0.01:0.15`, `k=0:24` (whole numbers) or `noise=paper|reference`."""
        name, equals, values = text.partition("=")
        low, colon, high = values.partition(":")
        try:
            if not equals or not name:
                raise ValueError
            if not colon:
                return cls(text, name, choices=tuple(values.split("|")))
            kind = int if low.lstrip("-").isdigit() and high.lstrip("-").isdigit() else float
            least, most = kind(low), kind(high)
            if not -LARGEST <= least <= most <= LARGEST:
                raise ValueError
            return cls(text, name, least, most)
        except ValueError:
            raise ParameterError(
                f"{text!r} is no range: write a=0.01:0.15, k=0:24 or noise=paper|reference"
            ) from None


@dataclass(frozen=True)
class Plan:
    """A search over the parameters of a method.

    Attributes:
        make: creates a candidate from parameters.
        space: the range of each parameter.
        count: number of trials.
        select_on: the rows whose score selects, "dev" or "test".
        exhaustive: let trial n take the n-th of all combinations of choices.
    """

    make: Make
    space: tuple[Range, ...]
    count: int = TRIALS
    select_on: str = "dev"
    exhaustive: bool = False

    def __post_init__(self) -> None:
        validate_fields(self, count=partial(whole, least=1))
        one_of(self.select_on, "select_on", SELECT_ON)

    @property
    def space_texts(self) -> list[str]:
        return [part.text for part in self.space]

    def to_dict(self, seed: int) -> Record:
        """Return the description of the search for the record of its selection."""
        return {"trials": self.count, "seed": seed, "space": self.space_texts}

    def fixed(self, parameters: Parameters) -> Parameters:
        """Return the parameters of a candidate that are not searched."""
        names = {part.name for part in self.space}
        return {name: value for name, value in parameters.items() if name not in names}

    def candidate(self, parameters: Parameters | list[Parameters]) -> Candidate:
        """Return the candidate of a trial, given its parameters or a list with those of each fold."""
        if isinstance(parameters, list):
            return PerFold(tuple(map(self.make, parameters)))
        return self.make(parameters)


def searched(name: str) -> str:
    """Return the row name of a candidate whose parameters were selected."""
    return f"{name}, searched"


def search(
    task: Task,
    plan: Plan,
    conditions: Conditions,
    seed: int = 0,
    old: Sequence[Record] = (),
    run: Run = map,
) -> Iterator[Record]:
    """Yield the trials that are not among the old records, then the record of the selection."""
    whole(seed, "seed", most=MOST_SEARCHES)
    done = trials_among(old, task, plan, conditions, seed)
    for trial in trials(task, plan, conditions, seed, tuple(done), run):
        done.append(trial)
        yield trial
    yield select(done, plan, seed)


def trials_among(
    rows: Sequence[Record], task: Task, plan: Plan, conditions: Conditions, seed: int
) -> list[Record]:
    """Return the records that are trials of one search."""
    return [row for row in rows if _is_trial(row, task, plan, conditions, seed)][: plan.count]


def _is_trial(row: Record, task: Task, plan: Plan, conditions: Conditions, seed: int) -> bool:
    trial = row.get("trial")
    if trial is None or trial["seed"] != seed or trial.get("space") != plan.space_texts:
        return False
    candidate = plan.candidate(trial["parameters"])
    expected = {
        "task": task.name,
        "encoder": candidate.name,
        "parameters": candidate.to_dict(),
        "selected_on": plan.select_on,
    }
    return bool(records.matching([row], expected | conditions.to_dict()))


def trials(
    task: Task,
    plan: Plan,
    conditions: Conditions,
    seed: int = 0,
    done: Sequence[Record] = (),
    run: Run = map,
) -> Iterator[Record]:
    """Yield the trials that are not in `done`; a resumed search continues with the same proposals."""
    with needs("eval", "the search"):
        import optuna
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    per_fold = task.layout == "folds" and plan.select_on == "dev" and not plan.exhaustive
    studies = [
        optuna.create_study(direction="maximize") for _ in range(OUTER_FOLDS if per_fold else 1)
    ]
    distributions = {part.name: _distribution(optuna, part) for part in plan.space}
    for old in done:
        for fold, study in enumerate(studies):
            finished = optuna.trial.create_trial(
                params=_fold_parameters(old["trial"]["parameters"], fold),
                distributions=distributions,
                value=_objective(old, plan.select_on, fold if per_fold else None),
            )
            study.add_trial(finished)
    combinations = list(product(*(part.choices for part in plan.space)))
    for number in range(len(done), plan.count):
        for study in studies:
            if plan.exhaustive:
                study.enqueue_trial(dict(zip(distributions, combinations[number], strict=True)))
            study.sampler = optuna.samplers.TPESampler(seed=1000 * seed + number)
        asked = [study.ask(distributions) for study in studies]
        proposed = [trial.params for trial in asked]
        parameters = proposed if per_fold else proposed[0]
        (record,) = records.score_all([task], [plan.candidate(parameters)], conditions, run)
        about = {
            "number": number,
            "seed": seed,
            "space": plan.space_texts,
            "parameters": parameters,
        }
        record |= {"selected_on": plan.select_on, "trial": about}
        for fold, (study, trial) in enumerate(zip(studies, asked, strict=True)):
            study.tell(trial, _objective(record, plan.select_on, fold if per_fold else None))
        yield record


def select(done: Sequence[Record], plan: Plan, seed: int) -> Record:
    """Return the record of a whole search: the best trial of each fold, or the paper's single best test score."""
    first = done[0]
    if plan.select_on == "test":
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
    all_same = all(parameters == chosen[0] for parameters in chosen)
    dropped = ("trial", "l2", "f1", "pearson")
    return {key: value for key, value in first.items() if key not in dropped} | {
        "score": round(float(np.mean(folds)), 4),
        "encoder": searched(first["encoder"]),
        "folds": folds,
        "dev_folds": dev_folds,
        "dev": round(float(np.mean(dev_folds)), 4),
        "parameters": {
            **plan.fixed(first["parameters"]),
            "chosen": chosen[0] if all_same else chosen,
        },
        "selected_on": plan.select_on,
        "search": plan.to_dict(seed),
        "seconds": round(sum(trial["seconds"] for trial in done), 2),
        "cpu_seconds": round(sum(trial.get("cpu_seconds", 0) for trial in done), 2),
    }


def _fold_parameters(parameters: Parameters | list[Parameters], fold: int) -> Parameters:
    return parameters[fold] if isinstance(parameters, list) else parameters


def _objective(record: Record, select_on: str, fold: int | None) -> float:
    """Return the score that a search maximizes: on test rows, on development rows, or on those of one fold."""
    if fold is not None:
        return float(record["dev_folds"][fold])
    value = record["score"] if select_on == "test" else record["dev"]
    if value is None:
        raise ParameterError(
            f"{record['task']} has no development rows to choose on: leave it out of the search"
        )
    return float(value)


def _distribution(optuna: Any, part: Range) -> Any:
    if part.choices:
        return optuna.distributions.CategoricalDistribution(part.choices)
    kind = "IntDistribution" if isinstance(part.low, int) else "FloatDistribution"
    return getattr(optuna.distributions, kind)(part.low, part.high)

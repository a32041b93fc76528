"""Search over the parameters of a method: each trial is a record, and so is the selected result.

Honest selection: each outer fold takes the trial with the best score on development rows inside its own training part.
On tasks with outer folds each fold has a search of its own, guided by these rows alone: the mean development score over
folds depends on rows that are test rows of other folds. A trial is then one proposal for each fold, which costs as much
as one proposal for all. `select_on="test"` replays the paper: sampling and selection follow the test score.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from noppa.errors import ParameterError
from noppa.extras import needs
from noppa.paper import bench
from noppa.paper.bench import Conditions
from noppa.paper.candidates import Candidate, PerFold
from noppa.paper.protocols import OUTER_FOLDS
from noppa.paper.results import Record
from noppa.paper.tasks import Task
from noppa.parameters import LARGEST, one_of, validate_fields, whole
from noppa.processes import Run

SPACE = ("a=0.01:0.15", "k=0:24")
TRIALS = 40
SELECT_ON = ("dev", "test")
#: Each trial has its own sampler seed, 1000 * search + trial, which must fit optuna's 32 bits.
MOST_SEARCHES = (1 << 32) // 1000 - TRIALS

Make = Callable[[dict[str, Any]], Candidate]


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
    def of(cls, text: str) -> Range:
        """From `a=0.01:0.15`, `k=0:24` (whole numbers) or `noise=paper|reference`."""
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
    """A search: how to make a candidate, the space, the number of trials, and the score that selects.

    exhaustive: trial n takes the n-th of all combinations of choices.
    """

    make: Make
    space: tuple[Range, ...]
    count: int = TRIALS
    select_on: str = "dev"
    exhaustive: bool = False

    def __post_init__(self) -> None:
        validate_fields(self, count=partial(whole, least=1))
        one_of(self.select_on, "select_on", SELECT_ON)

    def to_dict(self, seed: int) -> Record:
        """What the record of a selection says of its search."""
        return {"trials": self.count, "seed": seed, "space": _texts_of(self.space)}

    def fixed(self, parameters: Record) -> Record:
        """Those of a candidate's parameters that are not searched."""
        names = {part.name for part in self.space}
        return {name: value for name, value in parameters.items() if name not in names}


def searched(name: str) -> str:
    """How a candidate is called whose parameters were selected."""
    return f"{name}, searched"


def searches(
    tasks: Sequence[Task],
    seeds: Sequence[int],
    plan: Plan,
    conditions: Conditions,
    old: Sequence[Record] = (),
    run: Run = map,
) -> Iterator[Record]:
    """For each task and seed, the trials that are not among the old records, then the record of the selection."""
    for task in tasks:
        for seed in seeds:
            whole(seed, "seed", most=MOST_SEARCHES)
            done = trials_of(old, task, seed, plan, conditions)
            for row in trials(task, plan, conditions, seed, tuple(done), run):
                done.append(row)
                yield row
            yield chosen(done, plan, seed)


def trials_of(
    rows: Sequence[Record], task: Task, seed: int, plan: Plan, conditions: Conditions
) -> list[Record]:
    """The records that are trials of one search."""
    return [row for row in rows if _belongs(row, task, seed, plan, conditions)][: plan.count]


def _belongs(row: Record, task: Task, seed: int, plan: Plan, conditions: Conditions) -> bool:
    """Whether a record is a trial of this search."""
    trial = row.get("trial")
    if trial is None or trial["seed"] != seed or trial.get("space") != _texts_of(plan.space):
        return False
    candidate = _candidate(plan, trial["parameters"])
    expected = {
        "task": task.name,
        "encoder": candidate.name,
        "parameters": json.loads(json.dumps(candidate.to_dict())),
        "protocol": conditions.protocol,
        "seed": conditions.seed,
        "transductive": conditions.transductive,
        "checked": not conditions.unchecked,
        "selected_on": plan.select_on,
    }
    return all(row.get(key) == value for key, value in expected.items())


def _texts_of(space: Sequence[Range]) -> list[str]:
    return [part.text for part in space]


def trials(
    task: Task,
    plan: Plan,
    conditions: Conditions,
    seed: int = 0,
    done: Sequence[Record] = (),
    run: Run = map,
) -> Iterator[Record]:
    """The trials of one search that are not in `done`; a resumed search continues with the same proposals."""
    optuna = _optuna()
    apart = task.layout == "folds" and plan.select_on == "dev" and not plan.exhaustive
    studies = [
        optuna.create_study(direction="maximize") for _ in range(OUTER_FOLDS if apart else 1)
    ]
    distributions = {part.name: _distribution(optuna, part) for part in plan.space}
    for old in done:
        for fold, study in enumerate(studies):
            trial = optuna.trial.create_trial(
                params=_of_fold(old["trial"]["parameters"], fold),
                distributions=distributions,
                value=_value(old, plan.select_on, fold if apart else None),
            )
            study.add_trial(trial)
    names = [part.name for part in plan.space]
    combinations = list(product(*(part.choices for part in plan.space)))
    for number in range(len(done), plan.count):
        for study in studies:
            if plan.exhaustive:
                study.enqueue_trial(dict(zip(names, combinations[number], strict=True)))
            study.sampler = optuna.samplers.TPESampler(seed=1000 * seed + number)
        asked = [study.ask(distributions) for study in studies]
        proposed = [trial.params for trial in asked]
        parameters = proposed if apart else proposed[0]
        (record,) = bench.results([task], [_candidate(plan, parameters)], conditions, run)
        about = {
            "number": number,
            "seed": seed,
            "space": _texts_of(plan.space),
            "parameters": parameters,
        }
        record |= {"selected_on": plan.select_on, "trial": about}
        for fold, (study, trial) in enumerate(zip(studies, asked, strict=True)):
            study.tell(trial, _value(record, plan.select_on, fold if apart else None))
        yield record


def _candidate(plan: Plan, parameters: dict[str, Any] | list[dict[str, Any]]) -> Candidate:
    """The candidate of a trial, whose parameters are those of all folds or a list with those of each."""
    if isinstance(parameters, list):
        return PerFold(tuple(plan.make(each) for each in parameters))
    return plan.make(parameters)


def _of_fold(parameters: dict[str, Any] | list[dict[str, Any]], fold: int) -> dict[str, Any]:
    return parameters[fold] if isinstance(parameters, list) else parameters


def chosen(done: Sequence[Record], plan: Plan, seed: int) -> Record:
    """The record of a whole search: the best trial of each fold, or the paper's single best test score."""
    first = done[0]
    if plan.select_on == "test":
        best = [int(np.argmax([trial["score"] for trial in done]))] * len(first["folds"])
    else:
        best = np.argmax([trial["dev_folds"] for trial in done], axis=0).tolist()
    folds, dev_folds = (
        [done[at][key][fold] for fold, at in enumerate(best)] for key in ("folds", "dev_folds")
    )
    parameters = [_of_fold(done[at]["trial"]["parameters"], fold) for fold, at in enumerate(best)]
    same = all(each == parameters[0] for each in parameters)
    dropped = ("trial", "l2", "f1", "pearson")
    return {key: value for key, value in first.items() if key not in dropped} | {
        "score": round(float(np.mean(folds)), 4),
        "encoder": searched(first["encoder"]),
        "folds": folds,
        "dev_folds": dev_folds,
        "dev": round(float(np.mean(dev_folds)), 4),
        "parameters": {
            **plan.fixed(first["parameters"]),
            "chosen": parameters[0] if same else parameters,
        },
        "selected_on": plan.select_on,
        "search": plan.to_dict(seed),
        "seconds": round(sum(trial["seconds"] for trial in done), 2),
        "cpu_seconds": round(sum(trial.get("cpu_seconds", 0) for trial in done), 2),
    }


def _value(record: Record, select_on: str, fold: int | None) -> float:
    """What a search follows: the test score, that on development rows, or that on the development rows of one fold."""
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


def _optuna() -> Any:
    with needs("eval", "the search"):
        import optuna
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna

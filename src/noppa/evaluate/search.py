"""Search over the parameters of a method: trials, which are records too, and the choice among them.

Honest choice: each outer fold takes the trial that did best on development rows inside its own training part. Where a
task has outer folds the proposals are random, because a proposal that followed the mean of development scores would
follow the test rows of the other folds. `select_on="test"` replays the paper: proposals and choice follow the test score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noppa.errors import NoppaError, ParameterError
from noppa.evaluate import bench
from noppa.evaluate.bench import Conditions
from noppa.evaluate.candidates import Candidate
from noppa.evaluate.protocols import Run
from noppa.evaluate.records import Record
from noppa.evaluate.tasks import Task
from noppa.parameters import one_of

INSTALL = "pip install 'noppa[eval]'"
SPACE = ("a=0.01:0.15", "k=0:24")
TRIALS = 40
SELECT_ON = ("dev", "test")

Make = Callable[[dict[str, Any]], Candidate]


@dataclass(frozen=True)
class Range:
    """Values that one parameter may take: numbers from low to high, both included, or some choices."""

    name: str
    low: float = 0
    high: float = 0
    choices: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> Range:
        """From `a=0.01:0.15`, `k=0:24` (whole numbers) or `noise=paper|reference`."""
        name, equals, values = text.partition("=")
        low, colon, high = values.partition(":")
        try:
            if not equals or not name:
                raise ValueError
            if not colon:
                return cls(name, choices=tuple(values.split("|")))
            kind = int if low.lstrip("-").isdigit() and high.lstrip("-").isdigit() else float
            return cls(name, kind(low), kind(high))
        except ValueError:
            raise ParameterError(
                f"{text!r} is no range: write a=0.01:0.15, k=0:24 or noise=paper|reference"
            ) from None


def trials(
    task: Task,
    make: Make,
    space: Sequence[Range],
    conditions: Conditions,
    *,
    count: int = TRIALS,
    seed: int = 0,
    select_on: str = "dev",
    done: Sequence[Record] = (),
    run: Run = map,
) -> Iterator[Record]:
    """The trials of one search that are not in `done`; an interrupted search goes on as if it had not been."""
    one_of(select_on, "select_on", SELECT_ON)
    optuna = _optuna()
    guided = select_on == "test" or task.layout != "folds"
    study = optuna.create_study(direction="maximize")
    distributions = {part.name: _distribution(optuna, part) for part in space}
    for old in done:
        study.add_trial(
            optuna.trial.create_trial(
                params=old["trial"]["parameters"],
                distributions=distributions,
                value=_value(old, select_on),
            )
        )
    for number in range(len(done), count):
        kind = optuna.samplers.TPESampler if guided else optuna.samplers.RandomSampler
        study.sampler = kind(seed=1000 * seed + number)
        trial = study.ask(distributions)
        (record,) = bench.results([task], [make(trial.params)], conditions, run)
        about = {"number": number, "seed": seed, "parameters": trial.params}
        record |= {"selected_on": select_on, "trial": about}
        study.tell(trial, _value(record, select_on))
        yield record


def chosen(done: Sequence[Record], name: str, select_on: str) -> Record:
    """The record of a whole search: the honest choice fold by fold, or the paper's single best test score."""
    first = done[0]
    if select_on == "test":
        best = [int(np.argmax([trial["score"] for trial in done]))] * len(first["folds"])
    else:
        best = np.argmax([trial["dev_folds"] for trial in done], axis=0).tolist()
    folds = [done[at]["folds"][fold] for fold, at in enumerate(best)]
    picked = [done[at]["trial"]["parameters"] for at in best]
    dropped = ("trial", "l2", "f1", "pearson")
    return {key: value for key, value in first.items() if key not in dropped} | {
        "score": round(float(np.mean(folds)), 4),
        "encoder": name,
        "folds": folds,
        "dev_folds": [done[at]["dev_folds"][fold] for fold, at in enumerate(best)],
        "dev": round(float(np.mean([done[at]["dev"] for at in best])), 4),
        "parameters": {"chosen": picked if len(set(best)) > 1 else picked[0]},
        "selected_on": select_on,
        "search": {"trials": len(done), "seed": first["trial"]["seed"]},
        "seconds": round(sum(trial["seconds"] for trial in done), 2),
    }


def _value(record: Record, select_on: str) -> float:
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
    try:
        import optuna
    except ImportError as error:
        raise NoppaError(f"the search needs optuna, which is not installed: {INSTALL}") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna

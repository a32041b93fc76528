"""How good the vectors are: tasks, protocols, and results as JSON lines.

task_files -> tasks -> folds -> protocols (probes: logistic, perceptron; correlation) -> results -> report
                                candidates, recipes: what is scored, and what it may be fitted on
                                tuning: a search over the parameters of a method
"""

from __future__ import annotations

from noppa.paper.candidates import Candidate, Fixed, Recipe
from noppa.paper.protocols import PROTOCOLS, Outcome, score
from noppa.paper.task_files import check, read
from noppa.paper.tasks import TASKS, Task

__all__ = [
    "PROTOCOLS",
    "TASKS",
    "Candidate",
    "Fixed",
    "Outcome",
    "Recipe",
    "Task",
    "check",
    "read",
    "score",
]

"""How good the vectors are: tasks, protocols, and results as JSON lines.

files -> tasks -> splits -> protocols (logistic, perceptron, similarity) -> records -> report
                            candidates: what is scored, and what it may be fitted on
"""

from __future__ import annotations

from noppa.evaluate.candidates import Candidate, Fixed, Recipe
from noppa.evaluate.protocols import PROTOCOLS, Outcome, score
from noppa.evaluate.task_files import check, read
from noppa.evaluate.tasks import TASKS, Task

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

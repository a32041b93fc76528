"""Everything that exists only to reproduce the paper; nothing outside this package and its command imports it.

tasks -> protocols -> records -> report, study (the paper's experiments); figures (the paper's figures)
"""

from __future__ import annotations

from noppa.paper.protocols import PROTOCOLS, Candidate, Fixed, Outcome, Recipe, score
from noppa.paper.tasks import TASKS, Row, Task, check, read

__all__ = [
    "PROTOCOLS",
    "TASKS",
    "Candidate",
    "Fixed",
    "Outcome",
    "Recipe",
    "Row",
    "Task",
    "check",
    "read",
    "score",
]

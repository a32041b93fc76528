"""What an encoder has learnt from text, and how that is written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.refine import STEPS, Step


@dataclass(frozen=True)
class Fitted:
    """The steps after pooling, the method's own arrays, and from how many sentences they were learnt."""

    steps: tuple[Step, ...] = ()
    learnt: dict[str, NDArray[Any]] = field(default_factory=dict)
    sentences: int = 0

    def header(self) -> dict[str, Any]:
        """All but the arrays, as JSON."""
        steps = []
        for step in self.steps:
            plain = {name: value for name, value in vars(step).items() if not _is_array(value)}
            steps.append({"kind": step.described()[0], **plain})
        return {"steps": steps, "learnt": sorted(self.learnt), "sentences": self.sentences}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by the names under which they are saved."""
        return {**self.learnt, **self.step_arrays()}

    def step_arrays(self) -> dict[str, NDArray[Any]]:
        """Those of the steps alone."""
        return {
            f"step{at}.{name}": value
            for at, step in enumerate(self.steps)
            for name, value in vars(step).items()
            if _is_array(value)
        }

    @classmethod
    def of(cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Fitted:
        """What `header` and `arrays` wrote down."""
        steps = []
        for at, described in enumerate(header["steps"]):
            fields = dict(described)
            kind = STEPS[fields.pop("kind")]
            prefix = f"step{at}."
            for name, array in arrays.items():
                if name.startswith(prefix):
                    fields[name.removeprefix(prefix)] = array
            steps.append(kind(**fields))
        learnt = {name: arrays[name] for name in header["learnt"]}
        return cls(tuple(steps), learnt, header["sentences"])


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray)

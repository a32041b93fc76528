"""What an encoder has learnt from text, and how that is written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.display import dataclass_repr
from noppa.errors import FileError
from noppa.io import schema
from noppa.io.schema import Check
from noppa.io.storage import HEADER, Folder
from noppa.refine import STEPS, Step

_is_step_kind = schema.one_of(STEPS)
#: The fields of a header that `Fitted.header` gives.
FIELDS: dict[str, Check] = {
    "steps": lambda steps: (
        type(steps) is list
        and all(type(step) is dict and _is_step_kind(step.get("kind")) for step in steps)
    ),
    "learnt": schema.is_texts,
    "sentences": schema.whole(0, 2**62),
}


@dataclass(frozen=True)
class Fitted:
    """The steps after pooling, the method's own arrays, and from how many sentences they were learnt."""

    __repr__ = dataclass_repr

    steps: tuple[Step, ...] = ()
    learnt: dict[str, NDArray[Any]] = field(default_factory=dict)
    sentences: int = 0

    def header(self) -> dict[str, Any]:
        """All but the arrays, as JSON."""
        steps = []
        for step in self.steps:
            plain = {name: value for name, value in vars(step).items() if not _is_array(value)}
            steps.append({"kind": step.to_dict()[0], **plain})
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
    def read(
        cls, folder: Folder, declared: Mapping[str, str], sizes: dict[str, int], width: int
    ) -> Fitted:
        """What a folder holds, whose header has the `FIELDS`.

        declared: the arrays that the method learns, of these `sizes`. width: of the vectors that it gives.
        """
        header = folder.header
        if header["learnt"] != sorted(declared):
            raise FileError(
                f"{folder.path / HEADER} is damaged: 'learnt' are {', '.join(header['learnt']) or 'no'} arrays "
                f"where this method has {', '.join(sorted(declared)) or 'none'}"
            )
        learnt = folder.read(declared, sizes)
        steps: list[Step] = []
        for at, described in enumerate(header["steps"]):
            step, width = _read_step(folder, at, described, width)
            steps.append(step)
        return cls(tuple(steps), learnt, header["sentences"])


def _read_step(folder: Folder, at: int, described: dict[str, Any], width: int) -> tuple[Step, int]:
    """One step for vectors of a width, and the width of what it gives."""
    fields = dict(described)
    kind = STEPS[fields.pop("kind")]
    sizes = {"width": width}
    arrays = folder.read(kind.ARRAYS, sizes, f"step{at}.")
    if fields != ({} if kind.ARRAYS else {"width": width}):
        raise FileError(
            f"{folder.path / HEADER} is damaged: step {at} does not fit vectors of {width} dimensions"
        )
    return kind(**fields, **arrays), sizes.get("out", width)


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray)

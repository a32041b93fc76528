"""rows -> vectors: what is learnt from a corpus and applied after pooling.

`Moments` are gathered in one pass; a refinement is fitted from them and becomes a step that the kernels apply.
"""

from __future__ import annotations

from noppa.refine.moments import Moments
from noppa.refine.refinements import (
    REFINEMENTS,
    CommonComponents,
    NoiseRemoval,
    Normalize,
    Refinement,
    Whitening,
    fit_steps,
    steps_without_text,
)
from noppa.refine.steps import STEPS, Map, Remove, Step, Unit, kernel_steps

__all__ = [
    "REFINEMENTS",
    "STEPS",
    "CommonComponents",
    "Map",
    "Moments",
    "NoiseRemoval",
    "Normalize",
    "Refinement",
    "Remove",
    "Step",
    "Unit",
    "Whitening",
    "fit_steps",
    "kernel_steps",
    "steps_without_text",
]

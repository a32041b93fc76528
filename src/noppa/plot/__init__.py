"""Pictures: what an `Explanation` tells, as .png and .svg (`pip install 'noppa[plot]'`) or one self-contained .html.

from noppa import plot

plot.attention(model.explain("the girl eats a cake")).save("attention.html")
"""

from __future__ import annotations

import noppa.plot.writers  # noqa: F401  fills the table of writers
from noppa.plot.decisions import decision, training_page, training_pictures
from noppa.plot.pictures import Bars, Heatmap, Lines, Picture, Scatter, save
from noppa.plot.views import (
    A_VALUES,
    alignment,
    attention,
    contributions,
    sentence_map,
    weights,
)

__all__ = [
    "A_VALUES",
    "Bars",
    "Heatmap",
    "Lines",
    "Picture",
    "Scatter",
    "alignment",
    "attention",
    "contributions",
    "decision",
    "save",
    "sentence_map",
    "training_page",
    "training_pictures",
    "weights",
]

"""Pictures of explanations, classifiers and topics: self-contained .html and .svg, or .png with `noppa[plot]`.

from noppa import plot

plot.attention(model.explain("the girl eats a cake")).save("attention.html")
"""

from __future__ import annotations

from noppa.plot.pictures import Bars, Heatmap, Lines, Picture, Scatter, save
from noppa.plot.views import (
    A_VALUES,
    alignment,
    attention,
    contributions,
    decision,
    sentence_map,
    topic_map,
    topic_page,
    training_page,
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
    "topic_map",
    "topic_page",
    "training_page",
    "weights",
]

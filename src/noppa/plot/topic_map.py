"""Topics as a page: their names, sizes and representatives, the outliers, and a map of the texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from noppa.errors import ParameterError
from noppa.plot.page import page, table
from noppa.plot.pictures import Scatter
from noppa.topics.find_topics import Topics
from noppa.topics.groups import group_plane, spread

#: Texts on a map: more would hide each other, and make a page slow.
POINTS = 2_000
#: Representatives of a topic on the page.
SHOWN = 3


def topic_map(topics: Topics) -> Scatter:
    """Texts as points, in the plane in which the topics lie furthest apart; of many, some spread over all."""
    if not len(topics.texts):
        raise ParameterError("there are no texts, so there is nothing to draw")
    rows = np.array(spread(len(topics.texts), POINTS))
    rows = rows[
        np.argsort(topics.labels[rows], kind="stable")
    ]  # the legend has the order of the topics
    labels = topics.labels[rows]
    points = group_plane(np.asarray(topics.vectors[rows], float), _dense(labels))
    names = _names(topics)
    note = f"{len(rows):,} of {len(topics.texts):,} texts, in the plane in which the topics lie furthest apart."
    return Scatter(
        "Map of the texts",
        note,
        points,
        tuple(topics.texts[row] for row in rows.tolist()),
        tuple(names[label] for label in labels.tolist()),
        "first axis",
        "second axis",
    )


def topic_page(topics: Topics, title: str = "Topics") -> str:
    """One self-contained HTML page."""
    names = _names(topics)
    shown = [
        [name, f"{topic.size:,}", _joined(topics, topic.representatives[:SHOWN])]
        for name, topic in zip(names, topics.topics, strict=True)
    ]
    strange = [[topics.texts[row], f"{topics.outlier_scores[row]:.4f}"] for row in topics.outliers]
    body = (
        f"<p>{len(topics.topics)} topics of {len(topics.texts):,} texts.</p>\n"
        f'<div class="scroll texts">{table([["topic", "texts", "in its middle"], *shown])}</div>\n'
        "<h2>Like no others</h2>\n"
        f'<div class="scroll texts">{table([["text", "1 - mean cosine of the nearest"], *strange])}</div>\n'
    )
    return page([topic_map(topics)], title, body)


def _names(topics: Topics) -> list[str]:
    """A different name for each topic."""
    return [f"{at}. {topic.name or 'without a name'}" for at, topic in enumerate(topics.topics, 1)]


def _joined(topics: Topics, rows: Sequence[int]) -> str:
    return " · ".join(topics.texts[row] for row in rows)


def _dense(labels: np.ndarray) -> np.ndarray:
    """The same groups without gaps in their numbers: a small topic may have no text on the map."""
    return np.unique(labels, return_inverse=True)[1]

"""Near-duplicates, clusters and a map of the lines of a session, as JSON; a watch can stop the work."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.serve.served_models import Watch
from noppa.topics.groups import grouped, joined_groups
from noppa.topics.plane import principal_plane

LISTED_GROUPS = 500

Vectors = NDArray[np.float32]


def alike(rows: Vectors, threshold: float, watch: Watch) -> list[dict[str, Any]]:
    """Groups of lines joined by cosines from `threshold` on, the largest first, each with its smallest such cosine."""
    groups = joined_groups(rows, threshold, watch.check)
    return [{"lines": lines.tolist(), "least": least} for lines, least in groups[:LISTED_GROUPS]]


def clustered(rows: Vectors, count: int, watch: Watch) -> dict[str, Any]:
    """k-means over the lines: the cluster of each, and of each cluster its size and most central lines; largest first."""
    groups = grouped(rows, count, watch.check)
    clusters = [
        {"size": size, "central": central.tolist()}
        for size, central in zip(groups.sizes.tolist(), groups.central, strict=True)
    ]
    return {"labels": groups.labels.tolist(), "clusters": clusters}


def plane(rows: Vectors, watch: Watch) -> dict[str, Any]:
    """The first two principal axes: a point a line, and their shares of the variance."""
    return principal_plane(rows, watch.check)._asdict()

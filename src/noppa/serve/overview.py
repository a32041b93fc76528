"""Near-duplicates, clusters and a map of the lines of a session, as JSON; a watch can stop the work."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.serve.problems import too_large
from noppa.serve.served_models import Watch
from noppa.serve.umap_process import umap_plane
from noppa.topics.groups import group_rows, linked_groups, principal_plane

LISTED_GROUPS = 500
#: Lines that UMAP is given, which takes seconds for each thousand; and how many it needs.
MOST_UMAP, FEWEST_UMAP = 5_000, 5

Vectors = NDArray[np.float32]


def alike(rows: Vectors, threshold: float, watch: Watch) -> list[dict[str, Any]]:
    """Groups of lines joined by cosines from `threshold` on, the largest first, each with its smallest such cosine."""
    groups = linked_groups(rows, threshold, watch.check)
    return [{"lines": lines.tolist(), "least": least} for lines, least in groups[:LISTED_GROUPS]]


def clustered(rows: Vectors, count: int, watch: Watch) -> dict[str, Any]:
    """k-means over the lines: the cluster of each, and of each cluster its size and most central lines; largest first."""
    groups = group_rows(rows, count, watch.check)
    clusters = [
        {"size": size, "central": central.tolist()}
        for size, central in zip(groups.sizes.tolist(), groups.central, strict=True)
    ]
    return {"labels": groups.labels.tolist(), "clusters": clusters}


def plane(rows: Vectors, watch: Watch, layout: str = "pca") -> dict[str, Any]:
    """A point a line: on the first two principal axes, with their shares of the variance, or where UMAP places it."""
    if layout == "pca" or len(rows) < FEWEST_UMAP:
        return principal_plane(rows, watch.check)._asdict()
    if len(rows) > MOST_UMAP:
        raise too_large(
            f"there are {len(rows)} lines and UMAP takes up to {MOST_UMAP} here: send layout pca, or fewer lines",
            "layout",
        )
    return {"points": umap_plane(rows, watch.check), "shares": []}


def layouts() -> list[str]:
    """How a map can be laid out: UMAP only where it is installed."""
    return ["pca", "umap"] if find_spec("umap") else ["pca"]

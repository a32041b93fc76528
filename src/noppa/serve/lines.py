"""What the page does with many lines: keep them for a while, near-duplicates, clusters, a map, vectors to take home."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from noppa.clusters import k_means, nearest
from noppa.records.write import WRITERS
from noppa.serve import body
from noppa.serve.explore import dumped
from noppa.serve.models import Watch
from noppa.serve.problems import Problem, invalid, too_large
from noppa.serve.service import Service
from noppa.serve.sessions import COOKIE
from noppa.serve.variants import note

BLOCK = 1024
MOST_CLUSTERS = 50
CENTRAL = 3
ROUNDS = 40
LISTED_GROUPS = 500
FORMATS = {"npy": "application/octet-stream", "csv": "text/csv", "jsonl": "application/jsonl"}

Vectors = NDArray[np.float32]


def routes(service: Service) -> list[Route]:
    settings, sessions, variants = service.settings, service.sessions, service.variants

    async def sent(request: Request) -> dict[str, Any]:
        """The fields of a request that says it is JSON, which a form of another site cannot say."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Problem(
                415,
                f"the body is {kind[:100] or 'of no content type'}: send application/json",
                code="unsupported_media_type",
            )
        return await service.fields(request)

    async def keep(request: Request) -> Response:
        fields = await sent(request)
        lines = fields.get("lines")
        if (
            not isinstance(lines, list)
            or not lines
            or not all(isinstance(line, str) for line in lines)
        ):
            raise invalid("lines must be an array of at least one string", "lines")
        if len(lines) > settings.max_lines:
            raise too_large(
                f"lines has {len(lines)} lines and this server keeps up to {settings.max_lines} for a browser",
                "lines",
            )
        session = sessions.keep(request, lines)
        answer = JSONResponse({"lines": len(session.lines)})
        answer.set_cookie(
            COOKIE,
            session.token,
            max_age=int(settings.line_seconds),
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return answer

    async def drop(request: Request) -> Response:
        sessions.drop(request)
        answer = Response(status_code=204)
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return answer

    async def worked(
        request: Request,
        fields: dict[str, Any],
        job: Callable[[Vectors, Watch], dict[str, Any] | bytes],
    ) -> bytes:
        """What `job` makes of the vectors of the session's lines, with a note on the method."""
        key = variants.check(fields)
        session = sessions.of(request).needed()

        def work(watch: Watch, threads: int) -> bytes:
            encoder = variants.encoder(key, *session.corpus)
            rows = session.vectors(service, encoder, key, watch, threads)
            watch.check()
            found = job(rows, watch)
            if isinstance(found, bytes):
                return found
            return dumped({**found, "note": note(encoder, key, session.own)})

        return await service.work(request, work)

    async def duplicates(request: Request) -> Response:
        fields = await sent(request)
        threshold = body.number(fields, "threshold", 0.5, 1.0) or 0.95
        found = await worked(
            request, fields, lambda rows, watch: {"groups": alike(rows, threshold, watch)}
        )
        return Response(found, media_type="application/json")

    async def clusters(request: Request) -> Response:
        fields = await sent(request)
        count = body.whole(fields, "count", MOST_CLUSTERS) or 6
        found = await worked(request, fields, lambda rows, watch: clustered(rows, count))
        return Response(found, media_type="application/json")

    async def map_(request: Request) -> Response:
        fields = await sent(request)
        found = await worked(request, fields, lambda rows, watch: plane(rows))
        return Response(found, media_type="application/json")

    async def vectors(request: Request) -> Response:
        fields = await sent(request)
        form = body.one_of(fields, "format", tuple(FORMATS), "npy")
        found = await worked(request, fields, lambda rows, watch: written(rows, form))
        headers = {"content-disposition": f'attachment; filename="vectors.{form}"'}
        return Response(found, media_type=FORMATS[form], headers=headers)

    return [
        Route("/lines", keep, methods=["POST"]),
        Route("/lines", drop, methods=["DELETE"]),
        Route("/lines/duplicates", duplicates, methods=["POST"]),
        Route("/lines/clusters", clusters, methods=["POST"]),
        Route("/lines/map", map_, methods=["POST"]),
        Route("/lines/vectors", vectors, methods=["POST"]),
    ]


def alike(rows: Vectors, threshold: float, watch: Watch) -> list[dict[str, Any]]:
    """Groups of lines joined by cosines from `threshold` on, the largest first, each with its smallest such cosine."""
    group, least = np.arange(len(rows)), np.ones(len(rows))
    for start in range(0, len(rows), BLOCK):
        watch.check()
        cosines = rows[start : start + BLOCK] @ rows.T
        near = cosines >= threshold - 1e-6
        least[start : start + BLOCK] = np.where(near, cosines, 1).min(axis=1)
        for at in np.flatnonzero(np.count_nonzero(near, axis=1) > 1).tolist():
            joined = np.unique(group[near[at]])
            if len(joined) > 1:
                group[np.isin(group, joined)] = joined[0]
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    found = [lines for lines in np.split(order, starts[1:]) if len(lines) > 1]
    found.sort(key=lambda lines: (-len(lines), lines[0]))
    return [
        {"lines": lines.tolist(), "least": float(least[lines].min())}
        for lines in found[:LISTED_GROUPS]
    ]


def clustered(rows: Vectors, count: int) -> dict[str, Any]:
    """k-means over the lines: the cluster of each, and of each cluster its size and most central lines; largest first."""
    centroids = k_means(rows, min(count, len(rows)))
    labels = nearest(rows.astype(float), centroids)
    sizes = np.bincount(labels, minlength=len(centroids))
    order = np.argsort(-sizes, kind="stable")
    rank = np.argsort(order)
    told = []
    for at in order[sizes[order] > 0].tolist():
        members = np.flatnonzero(labels == at)
        close = np.argsort(-(rows[members] @ centroids[at]), kind="stable")[:CENTRAL]
        told.append({"size": len(members), "central": members[close].tolist()})
    return {"labels": rank[labels].tolist(), "clusters": told}


def plane(rows: Vectors) -> dict[str, Any]:
    """The first two principal axes: a point a line, and their shares of the variance."""
    centred = rows.astype(float) - rows.mean(axis=0)
    products = centred.T @ centred
    # Two of many eigenvectors are wanted: a few more than two, multiplied again and again, turn to the first ones.
    some = min(products.shape[0], 10)
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(len(products), some)))[0]
    for _ in range(ROUNDS):
        basis = np.linalg.qr(products @ basis)[0]
    values, turn = np.linalg.eigh(basis.T @ products @ basis)
    two = (basis @ turn)[:, ::-1][:, :2]
    # The sign of an axis is free: the largest entry is positive, so that a picture stays the same.
    two = two * np.where(two[np.abs(two).argmax(axis=0), np.arange(two.shape[1])] < 0, -1, 1)
    points = np.zeros((len(rows), 2))
    points[:, : two.shape[1]] = centred @ two
    total = max(float(np.trace(products)), np.finfo(float).tiny)
    return {"points": points, "shares": [max(0.0, float(v / total)) for v in values[::-1][:2]]}


def written(rows: Vectors, form: str) -> bytes:
    """The vectors as a file."""
    file = io.BytesIO()
    writer = WRITERS[form](file, rows.shape[1], 0)
    writer.write(np.arange(len(rows)), rows)
    writer.finish()
    return file.getvalue()

"""Routes for many lines: keep them for a while, near-duplicates, clusters, a map, vectors to take home."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from noppa import Encoder
from noppa.records.write import WRITERS
from noppa.serve import body
from noppa.serve.explore import dumped
from noppa.serve.overview import Vectors, alike, clustered, plane
from noppa.serve.problems import Problem, invalid, too_large
from noppa.serve.served_models import Watch
from noppa.serve.service import Service
from noppa.serve.sessions import COOKIE
from noppa.serve.variants import note

MOST_CLUSTERS = 50
#: Numbers of one piece of a download: about half a megabyte of text.
PIECE_VALUES = 1 << 16
FORMATS = {"npy": "application/octet-stream", "csv": "text/csv", "jsonl": "application/jsonl"}


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
        job: Callable[[Vectors, Watch], dict[str, Any]],
    ) -> Response:
        """What `job` makes of the vectors of the session's lines, with a note on the method."""
        key = variants.check(fields)
        session = sessions.of(request).needed()

        def work(watch: Watch, threads: int) -> bytes:
            with sessions.large(watch):
                encoder = variants.encoder(key, session, len(session.lines), watch, threads)
                rows = session.vectors(service.models, encoder, key, watch, threads)
                return dumped({**job(rows, watch), "note": note(encoder, key, session.own)})

        answer = await service.work(request, work)
        sessions.forget()
        return Response(answer, media_type="application/json")

    async def duplicates(request: Request) -> Response:
        fields = await sent(request)
        threshold = body.number(fields, "threshold", 0.5, 1.0) or 0.95
        return await worked(
            request, fields, lambda rows, watch: {"groups": alike(rows, threshold, watch)}
        )

    async def clusters(request: Request) -> Response:
        fields = await sent(request)
        count = body.whole(fields, "count", MOST_CLUSTERS) or 6
        return await worked(request, fields, lambda rows, watch: clustered(rows, count, watch))

    async def map_(request: Request) -> Response:
        return await worked(request, await sent(request), plane)

    async def vectors(request: Request) -> Response:
        fields = await sent(request)
        form = body.one_of(fields, "format", tuple(FORMATS), "npy")
        key, session = variants.check(fields), sessions.of(request).needed()
        lines = session.lines

        def begin(watch: Watch, threads: int) -> Encoder:
            return variants.encoder(key, session, len(lines), watch, threads)

        encoder = await service.work(request, begin)  # what is wrong is said before the file begins

        file = io.BytesIO()
        # The number of rows stands at the beginning of an .npy file, which is gone when its end is written.
        writer = WRITERS[form](file, encoder.dim, len(lines) if form == "npy" else 0)
        step = max(1, PIECE_VALUES // encoder.dim)

        def piece(start: int, watch: Watch, threads: int) -> bytes:
            some = lines[start : start + step]
            rows, _ = service.models.encode(encoder, some, watch, threads, "lines", truncate=True)
            writer.write(np.arange(start, start + len(some)), rows)
            written = file.getvalue()
            file.seek(0)
            file.truncate()
            return written

        async def pieces() -> AsyncIterator[bytes]:
            for start in range(0, len(lines), step):
                yield await service.work(request, partial(piece, start))

        return Download(pieces(), form)

    return [
        Route("/lines", keep, methods=["POST"]),
        Route("/lines", drop, methods=["DELETE"]),
        Route("/lines/duplicates", duplicates, methods=["POST"]),
        Route("/lines/clusters", clusters, methods=["POST"]),
        Route("/lines/map", map_, methods=["POST"]),
        Route("/lines/vectors", vectors, methods=["POST"]),
    ]


class Download(StreamingResponse):
    """Pieces of a file, each made when the one before is on its way."""

    def __init__(self, pieces: AsyncIterator[bytes], form: str) -> None:
        headers = {"content-disposition": f'attachment; filename="vectors.{form}"'}
        super().__init__(pieces, headers=headers, media_type=FORMATS[form])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.stream_response(send)  # the work on each piece looks for a client that left

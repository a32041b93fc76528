"""Routes over the lines of a session: near-duplicates, clusters, a map, a download of the vectors."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from noppa import Encoder
from noppa.files.write import WRITERS
from noppa.serve import fields
from noppa.serve.answers import dumped
from noppa.serve.method_field import Choice, method_field
from noppa.serve.operations import (
    NUMBER,
    NUMBERS,
    TABLE,
    TEXT,
    WHOLE,
    WHOLES,
    Operation,
    at_least,
    exactly,
)
from noppa.serve.overview import Vectors, alike, clustered, layouts, plane
from noppa.serve.served_models import Watch
from noppa.serve.service import Service
from noppa.serve.sessions import COOKIE
from noppa.serve.variants import Key, about
from noppa.topics.keywords import Language, name_groups

MOST_CLUSTERS = 50
#: Words in the name of a cluster.
NAME_WORDS = 3
#: Numbers in one piece of a download, about half a megabyte of text.
PIECE_VALUES = 1 << 16
PROGRESS = "application/jsonl"
FORMATS = {"npy": "application/octet-stream", "csv": "text/csv", "jsonl": "application/jsonl"}


class KeptLines(NamedTuple):
    """The lines of a session, their vectors (lines, dim), and the encoder that made these."""

    lines: Sequence[str]
    rows: Vectors
    encoder: Encoder


def operations(service: Service) -> list[Operation]:
    settings, models = service.settings, service.models
    sessions, variants = service.sessions, service.variants

    async def keep(request: Request, lines: list[str]) -> Response:
        session = await sessions.keep(request, lines)
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

    async def read(request: Request) -> Response:
        lines = (await sessions.of(request)).lines
        # Not JSONResponse, which cannot write half a character.
        return Response(dumped({"lines": lines}), media_type="application/json")

    async def drop(request: Request) -> Response:
        sessions.drop(request)
        answer = Response(status_code=204)
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return answer

    async def over_lines(
        request: Request, key: Key, job: Callable[[KeptLines, Watch], dict[str, Any]]
    ) -> Response:
        """What `job` makes of the session's lines and their vectors, with a note on the method."""
        session = (await sessions.of(request)).needed()

        def work(watch: Watch, threads: int) -> bytes:
            with sessions.large(watch):
                encoder = variants.encoder(key, session, len(session.lines), watch, threads)
                rows = session.vectors(models, encoder, key, watch, threads)
                answer = job(KeptLines(session.lines, rows, encoder), watch)
                return dumped({**answer, **about(encoder, key, session.own)})

        answer = await service.work(request, work)
        sessions.forget()
        return Response(answer, media_type="application/json")

    async def encode(request: Request, model: str, method: Choice) -> Response:
        key, session = (model, *method), (await sessions.of(request)).needed()
        loop, counts = asyncio.get_running_loop(), asyncio.Queue[int | None]()

        def done(lines: int | None) -> None:
            loop.call_soon_threadsafe(counts.put_nowait, lines)

        def job(watch: Watch, threads: int) -> None:
            with sessions.large(watch):
                encoder = variants.encoder(key, session, len(session.lines), watch, threads)
                session.vectors(models, encoder, key, watch, threads, done)

        work = asyncio.ensure_future(service.work(request, job))
        work.add_done_callback(lambda _: done(None))
        first = await counts.get()
        if first is None:
            await work  # what was wrong is said before the answer begins

        async def progress() -> AsyncIterator[bytes]:
            lines = first
            try:
                while lines is not None:
                    yield dumped({"done": lines, "of": len(session.lines)}) + b"\n"
                    lines = await counts.get()
                await work
            finally:
                work.cancel()
                sessions.forget()

        return Stream(progress(), media_type=PROGRESS)

    async def duplicates(
        request: Request, threshold: float, model: str, method: Choice
    ) -> Response:
        def job(kept: KeptLines, watch: Watch) -> dict[str, Any]:
            return {"groups": alike(kept.rows, threshold, watch)}

        return await over_lines(request, (model, *method), job)

    async def clusters(request: Request, count: int, model: str, method: Choice) -> Response:
        def job(kept: KeptLines, watch: Watch) -> dict[str, Any]:
            found = clustered(kept.rows, count, watch)
            named = name_groups(
                kept.lines, found["labels"], Language(kept.encoder), NAME_WORDS, watch.check
            )
            for at, (cluster, words) in enumerate(zip(found["clusters"], named, strict=True)):
                cluster["name"] = ", ".join(words) or f"cluster {at + 1}"
            return found

        return await over_lines(request, (model, *method), job)

    async def map_(request: Request, layout: str, model: str, method: Choice) -> Response:
        def job(kept: KeptLines, watch: Watch) -> dict[str, Any]:
            return plane(kept.rows, watch, layout)

        return await over_lines(request, (model, *method), job)

    async def vectors(request: Request, format: str, model: str, method: Choice) -> Response:
        key, session = (model, *method), (await sessions.of(request)).needed()
        lines = session.lines

        def begin(watch: Watch, threads: int) -> Encoder:
            return variants.encoder(key, session, len(lines), watch, threads)

        # Whatever is wrong must be said before the file begins.
        encoder = await service.work(request, begin)

        file = io.BytesIO()
        # An .npy file begins with its number of rows, which cannot be filled in once those bytes are sent.
        writer = WRITERS[format](file, encoder.dim, len(lines) if format == "npy" else 0)
        step = max(1, PIECE_VALUES // encoder.dim)

        def piece(start: int, watch: Watch, threads: int) -> bytes:
            block = lines[start : start + step]
            rows, _ = models.encode(encoder, block, watch, threads, "lines", truncate=True)
            writer.write(np.arange(start, start + len(block)) + 1, None, rows)
            written = file.getvalue()
            file.seek(0)
            file.truncate()
            return written

        async def pieces() -> AsyncIterator[bytes]:
            for start in range(0, len(lines), step):
                yield await service.work(request, partial(piece, start))

        headers = {"content-disposition": f'attachment; filename="vectors.{format}"'}
        return Stream(pieces(), headers=headers, media_type=FORMATS[format])

    encoder_fields = {"model": models.field(), "method": method_field()}
    group = exactly({"lines": WHOLES, "least": NUMBER})
    cluster = exactly({"name": TEXT, "size": WHOLE, "central": WHOLES})
    return [
        Operation(
            "POST", "/lines", "Keep lines for this browser.", keep,
            exactly({"lines": WHOLE}), body={"lines": fields.lines(settings.max_lines)}, json_only=True,
        ),
        Operation(
            "GET", "/lines", "The lines that are kept for this browser.", read,
            exactly({"lines": {"type": "array", "items": TEXT}}),
        ),
        Operation("DELETE", "/lines", "Forget them.", drop),
        Operation(
            "POST", "/lines/encode", "Encode the lines, telling how many are done, so that what follows is quick.", encode,
            kinds=(PROGRESS,), body=encoder_fields, json_only=True,
        ),
        Operation(
            "POST", "/lines/duplicates", "Groups of lines that say nearly the same.", duplicates,
            at_least({"groups": {"type": "array", "items": group}}, "groups"),
            body={"threshold": fields.number(0.5, 1.0).optional(0.95), **encoder_fields}, json_only=True,
        ),
        Operation(
            "POST", "/lines/clusters", "Lines in clusters, named by the words that tell one from the others.", clusters,
            at_least({"labels": WHOLES, "clusters": {"type": "array", "items": cluster}}, "labels", "clusters"),
            body={"count": fields.whole(1, MOST_CLUSTERS).optional(6), **encoder_fields}, json_only=True,
        ),
        Operation(
            "POST", "/lines/map", "A point a line, on two principal axes or, where it is installed, by UMAP.", map_,
            at_least({"points": TABLE, "shares": NUMBERS}, "points", "shares"),
            body={"layout": fields.one_of(layouts()).optional("pca"), **encoder_fields}, json_only=True,
        ),
        Operation(
            "POST", "/lines/vectors", "The vectors of the lines as a file.", vectors,
            kinds=FORMATS.values(),
            body={"format": fields.one_of([*FORMATS]).optional("npy"), **encoder_fields}, json_only=True,
        ),
    ]  # fmt: skip


class Stream(StreamingResponse):
    """An answer in pieces, each made when the one before has been sent."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Without Starlette's own wait for a disconnect: the work on each piece looks for a client that left.
        await self.stream_response(send)

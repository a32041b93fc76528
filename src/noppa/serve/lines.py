"""Views of many lines: a map, clusters, near-duplicates, and a download of the vectors."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from noppa import Encoder
from noppa import _native as kernels
from noppa.serve.explore import MAX_LINES
from noppa.serve.methods import MethodField, about
from noppa.serve.models import Vectors
from noppa.serve.routing import Body, Operation, json_response
from noppa.serve.service import Task
from noppa.topics.groups import group_rows, linked_groups, principal_plane
from noppa.topics.keywords import Language, name_groups

if TYPE_CHECKING:
    from noppa.serve.app import Application

MAX_CLUSTERS = 50
MAX_GROUPS = 500
#: Words in the name of a cluster.
NAME_WORDS = 3
MEDIA_TYPES = {"npy": "application/octet-stream", "csv": "text/csv", "jsonl": "application/jsonl"}
EXAMPLE = {"lines": ["a girl is eating", "the bank sells shares", "a girl eats"]}


class LinesRequest(Body):
    lines: list[str]
    model: str | None = None
    method: MethodField | None = None


class DuplicatesRequest(LinesRequest):
    threshold: Annotated[float, Meta(ge=0.5, le=1)] = 0.95


class ClustersRequest(LinesRequest):
    count: Annotated[int, Meta(ge=1, le=MAX_CLUSTERS)] = 6


class VectorsRequest(LinesRequest):
    format: Literal["npy", "csv", "jsonl"] = "npy"


def operations(app: Application) -> list[Operation]:
    models, methods, service = app.models, app.methods, app.service

    async def encode_lines(
        request: Request, body: LinesRequest, view: Callable[[Vectors, Encoder, Task], Any]
    ) -> Any:
        """Encode the lines of a request, and return the view of them together with facts about the encoder."""
        lines = models.texts(body.lines, "lines", MAX_LINES)

        def job(task: Task) -> tuple[Any, dict[str, Any]]:
            encoder = methods.encoder(body.model, body.method, task, lines)
            rows, counts = models.encode(encoder, lines, task, "lines", truncate=True)
            notes = {**about(encoder, body.method, lines), "warning": counts.warning}
            return view(rows, encoder, task), notes

        return await service.run(request, job)

    async def show_map(request: Request, body: LinesRequest) -> Response:
        plane, notes = await encode_lines(
            request, body, lambda rows, _, task: principal_plane(rows, task.check)._asdict()
        )
        return json_response({**plane, **notes})

    async def clusters(request: Request, body: ClustersRequest) -> Response:
        def view(rows: Vectors, encoder: Encoder, task: Task) -> dict[str, Any]:
            groups = group_rows(rows, body.count, task.check)
            named = name_groups(body.lines, groups.labels, Language(encoder), NAME_WORDS, task.check)  # fmt: skip
            listed = [
                {"name": ", ".join(words) or f"cluster {number}", "size": size, "central": central}
                for number, (size, central, words) in enumerate(
                    zip(groups.sizes.tolist(), groups.central, named, strict=True), 1
                )
            ]
            return {"labels": groups.labels, "clusters": listed}

        found, notes = await encode_lines(request, body, view)
        return json_response({**found, **notes})

    async def duplicates(request: Request, body: DuplicatesRequest) -> Response:
        def view(rows: Vectors, encoder: Encoder, task: Task) -> list[dict[str, Any]]:
            groups = linked_groups(rows, body.threshold, task.check)[:MAX_GROUPS]
            return [{"lines": lines, "least": least} for lines, least in groups]

        groups, notes = await encode_lines(request, body, view)
        return json_response({"groups": groups, **notes})

    async def vectors(request: Request, body: VectorsRequest) -> Response:
        content, _ = await encode_lines(
            request, body, lambda rows, _, task: _file(body.format, rows, task.threads)
        )
        headers = {"content-disposition": f'attachment; filename="vectors.{body.format}"'}
        return Response(content, headers=headers, media_type=MEDIA_TYPES[body.format])

    facts = dict[str, Any]
    return [
        Operation(
            "POST", "/lines/map", "One point per line, on the first two principal axes.", show_map, facts,
            body=LinesRequest, example=EXAMPLE,
        ),
        Operation(
            "POST", "/lines/clusters", "Clusters of lines, named by their most characteristic words.", clusters, facts,
            body=ClustersRequest, example={**EXAMPLE, "count": 2},
        ),
        Operation(
            "POST", "/lines/duplicates", "Groups of lines with nearly the same meaning.", duplicates, facts,
            body=DuplicatesRequest, example={**EXAMPLE, "threshold": 0.9},
        ),
        Operation(
            "POST", "/lines/vectors", "The vectors of lines as a file.", vectors,
            body=VectorsRequest, example={**EXAMPLE, "format": "csv"}, media_types=[*MEDIA_TYPES.values()],
        ),
    ]  # fmt: skip


def _file(format: str, rows: Vectors, threads: int) -> bytes:
    """Return vectors as a file; its lines have the number of the text, from 1, and its vector."""
    if format == "npy":
        file = io.BytesIO()
        np.save(file, rows)
        return file.getvalue()
    numbered = enumerate(kernels.format_rows(rows, ",", threads), 1)
    if format == "jsonl":
        return b"".join(b'{"record":%d,"vector":[%b]}\n' % row for row in numbered)
    header = ",".join(["record", *(f"v{column}" for column in range(rows.shape[1]))]).encode()
    return b"\n".join([header, *(b"%d,%b" % row for row in numbered), b""])

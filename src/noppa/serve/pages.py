"""The web page at /, the API reference at /docs, and GET /health, /ready and /metrics."""

from __future__ import annotations

import hashlib
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from noppa.serve import monitoring
from noppa.serve.errors import busy
from noppa.serve.routing import Operation, json_response

if TYPE_CHECKING:
    from noppa.serve.app import Application

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}
SECURITY = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-cache",
}


def operations(app: Application) -> list[Operation]:
    folder = resources.files("noppa.serve") / "page"
    files = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    etags = {
        name: f'"{hashlib.sha256(content).hexdigest()[:16]}"' for name, content in files.items()
    }

    async def send(request: Request, name: str = "") -> Response:
        name = name or request.path_params["name"]
        if name not in files:
            raise HTTPException(404)
        headers = {**SECURITY, "etag": etags[name]}
        if request.headers.get("if-none-match") == etags[name]:
            return Response(status_code=304, headers=headers)
        media_type = MEDIA_TYPES[name.rpartition(".")[2]]
        return Response(files[name], headers=headers, media_type=media_type)

    async def health(request: Request) -> Response:
        try:
            _self_test(app)
        except Exception as error:
            monitoring.logger.error("self-test failed", exc_info=error)
            raise busy(
                "the self-test of this server failed: restart it", code="self_test_failed"
            ) from error
        return json_response({"status": "ok"})

    async def metrics(request: Request) -> Response:
        return Response(monitoring.metrics_text(), media_type=METRICS_TYPE)

    status = dict[str, str]
    return [
        Operation("GET", "/health", "Encode a text with every model, to check that it works.", health, status),
        Operation("GET", "/ready", "Same as /health.", health, status),
        Operation("GET", "/metrics", "Metrics for Prometheus.", metrics, media_types=["text/plain"]),
        Operation("GET", "/", "", partial(send, name="index.html"), listed=False),
        Operation("GET", "/docs", "", partial(send, name="docs.html"), listed=False),
        Operation("GET", "/page/{name}", "", send, listed=False),
    ]  # fmt: skip


def _self_test(app: Application) -> None:
    """Raise if a model cannot encode a text, or the index is gone."""
    for encoder in app.models.encoders.values():
        rows, _ = encoder.encode_ids(*encoder.look_up(["a test"], 1), 1)
        if rows.shape != (1, encoder.dim) or not np.isfinite(rows).all():
            raise ArithmeticError("a vector is not finite")
    if app.classifier is not None:
        pair = ("a test",) * (1 + app.classifier.paired)
        if not np.isfinite(app.classifier.probabilities([pair])).all():
            raise ArithmeticError("a probability is not finite")
    if app.index is not None:
        app.index.check()

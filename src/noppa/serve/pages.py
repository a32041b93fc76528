"""The page at / and a viewer of the OpenAPI document at /docs: files of the package, nothing from other hosts."""

from __future__ import annotations

import hashlib
from importlib import resources

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from noppa.serve.operations import Operation, hidden
from noppa.serve.service import Service

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
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


def operations(service: Service) -> list[Operation]:
    if not service.settings.page:
        return []
    folder = resources.files("noppa.serve") / "page"
    files = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    tags = {
        name: f'"{hashlib.sha256(content).hexdigest()[:16]}"' for name, content in files.items()
    }

    def answer(request: Request, name: str) -> Response:
        if name not in files:
            raise HTTPException(404)
        headers = {**SECURITY, "etag": tags[name]}
        if request.headers.get("if-none-match") == tags[name]:
            return Response(status_code=304, headers=headers)
        kind = KINDS["." + name.rpartition(".")[2]]
        return Response(files[name], headers=headers, media_type=kind)

    async def index(request: Request) -> Response:
        return answer(request, "index.html")

    async def docs(request: Request) -> Response:
        return answer(request, "docs.html")

    async def file(request: Request) -> Response:
        return answer(request, request.path_params["name"])

    return [hidden("/", index), hidden("/docs", docs), hidden("/page/{name}", file)]

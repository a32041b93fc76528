"""The application: routes behind the gate."""

from __future__ import annotations

from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from noppa.serve import (
    explore,
    health,
    index_routes,
    line_routes,
    ollama,
    openai,
    openapi,
    pages,
    predict_routes,
    rerank,
    tei,
)
from noppa.serve.gate import Gate
from noppa.serve.metrics import Metrics
from noppa.serve.served import Served
from noppa.serve.service import Service
from noppa.serve.settings import Settings
from noppa.serve.warning_header import HEADER

PARTS = (
    openai,
    tei,
    rerank,
    ollama,
    predict_routes,
    index_routes,
    explore,
    line_routes,
    health,
    pages,
)
EXPOSED = ("x-request-id", "retry-after", HEADER)


class Application:
    """Everything that a process serves; an ASGI application."""

    def __init__(self, settings: Settings, served: Served | None = None) -> None:
        self.service = Service(
            settings, served or Served.load(settings), Metrics(settings.counters)
        )
        operations = [one for part in PARTS for one in part.operations(self.service)]
        self.operations = [*operations, openapi.operation(operations, settings)]
        routes = [operation.route(self.service) for operation in self.operations]
        app: ASGIApp = Gate(Router(routes, redirect_slashes=False), self.service)
        if settings.origins:
            app = CORSMiddleware(
                app,
                allow_origins=settings.origins,
                allow_methods=["GET", "POST", "DELETE"],
                allow_headers=["authorization", "content-type"],
                expose_headers=EXPOSED,
            )
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)

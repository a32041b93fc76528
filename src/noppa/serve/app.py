"""The application: routes behind the gate."""

from __future__ import annotations

from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from noppa.serve import explore, health, line_routes, openai, openapi, pages, tei
from noppa.serve.gate import Gate
from noppa.serve.metrics import Metrics
from noppa.serve.served_models import Models
from noppa.serve.service import Service
from noppa.serve.settings import Settings

PARTS = (openai, tei, explore, line_routes, health, pages)
EXPOSED = ("x-request-id", "retry-after")


class Application:
    """Everything that a process serves; an ASGI application."""

    def __init__(self, settings: Settings, models: Models | None = None) -> None:
        models = models or Models.load(settings)
        self.service = Service(settings, models, Metrics(settings.counters))
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

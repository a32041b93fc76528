"""The application: routes behind the gate."""

from __future__ import annotations

from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from noppa.serve import explore, health, openai, openapi, pages, tei
from noppa.serve import line_routes as lines
from noppa.serve.gate import Gate
from noppa.serve.metrics import Metrics
from noppa.serve.served_models import Models
from noppa.serve.service import Service
from noppa.serve.settings import Settings

PARTS = (openai, tei, explore, lines, health, openapi, pages)
#: Routes that the OpenAPI document does not name, and what they are the same as.
ALIASES = {"/": "/embed"}
EXPOSED = ("x-request-id", "retry-after")


class Application:
    """Everything that a process serves; an ASGI application."""

    def __init__(self, settings: Settings, models: Models | None = None) -> None:
        metrics = Metrics(settings.counters)
        for path in ROUTES:
            metrics.add_route(path)
        self.service = Service(settings, models or Models.load(settings), metrics)
        fields = openapi.body_fields(settings)
        routes = [_counted(route, fields) for part in PARTS for route in part.routes(self.service)]
        assert {route.path for route in routes} <= set(ROUTES)
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


ROUTES = (
    "/v1/embeddings",
    "/embeddings",
    "/v1/models",
    "/models",
    "/v1/models/{id:path}",
    "/embed",
    "/",
    "/info",
    "/explain",
    "/similarity",
    "/search",
    "/methods",
    "/lines",
    "/lines/duplicates",
    "/lines/clusters",
    "/lines/map",
    "/lines/vectors",
    "/health",
    "/ready",
    "/metrics",
    "/openapi.json",
    "/docs",
    "/page/{name}",
)


def _counted(route: Route, fields: dict[str, frozenset[str]]) -> Route:
    """The same route, which leaves its path as a name of few possible ones and its body's fields in the scope."""
    inner, path = route.app, route.path
    known = fields.get(ALIASES.get(path, path), frozenset())

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scope["noppa.route"] = path
        scope["noppa.fields"] = known
        await inner(scope, receive, send)

    route.app = app
    return route

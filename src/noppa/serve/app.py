"""The ASGI application: the served models, and the routes behind the middleware."""

from __future__ import annotations

import warnings
from pathlib import Path

from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

import noppa
from noppa.classify.storage import KIND as CLASSIFIER
from noppa.errors import NoppaWarning
from noppa.io import storage
from noppa.io.hub import locate
from noppa.serve import classify, embeddings, explore, lines, pages, rerank
from noppa.serve import index as index_routes
from noppa.serve.classify import ServedClassifier
from noppa.serve.index import ServedIndex
from noppa.serve.methods import MethodCache
from noppa.serve.middleware import WARNING_HEADER, RequestMiddleware
from noppa.serve.models import Models, preset_encoders, served_name
from noppa.serve.routing import Operation, json_response, openapi
from noppa.serve.service import Service
from noppa.serve.settings import Settings


class Application:
    """An ASGI application that serves encoders, and a classifier and an index if there are any."""

    def __init__(
        self,
        settings: Settings,
        models: Models,
        classifier: ServedClassifier | None = None,
        index: ServedIndex | None = None,
    ) -> None:
        self.settings, self.models = settings, models
        self.classifier, self.index = classifier, index
        self.methods, self.service = MethodCache(models), Service(settings)
        modules = (embeddings, rerank, classify, index_routes, explore, lines, pages)
        self.operations = [operation for module in modules for operation in module.operations(self)]
        self.operations.append(Operation("GET", "/openapi.json", "", self._openapi, listed=False))
        routes = [operation.route(settings) for operation in self.operations]
        app: ASGIApp = RequestMiddleware(Router(routes, redirect_slashes=False), self.service)
        if settings.allowed_hosts and not settings.keys:
            # Against DNS rebinding: a site whose name resolves to this server could read its answers.
            app = TrustedHostMiddleware(app, [*settings.allowed_hosts], www_redirect=False)
        if settings.cors_origins:
            app = CORSMiddleware(
                app,
                allow_origins=settings.cors_origins,
                allow_methods=["GET", "POST"],
                allow_headers=["authorization", "content-type"],
                expose_headers=["x-request-id", "retry-after", WARNING_HEADER],
            )
        self.app = app

    @classmethod
    def load(cls, settings: Settings) -> Application:
        """Load the model, the classifier and the index of the settings.

        Next to a classifier, the presets are served, and its own encoder unless it is a preset.
        """
        # Rows without a known word are counted in /metrics, and reported to the client.
        warnings.filterwarnings("ignore", category=NoppaWarning)
        index = None
        if settings.index is not None:
            opened = noppa.Index.open(settings.index, create=False, threads=1)
            index = ServedIndex(Path(settings.index).absolute().name, opened)
        folder = locate(settings.model)
        if folder is None or storage.kind_of(Path(folder)) != CLASSIFIER:
            return cls(settings, Models.load(settings), index=index)
        name = settings.name or served_name(settings.model or "")
        classifier = noppa.load_classifier(folder).set_params(threads=1)
        encoders, encoder = preset_encoders("noppa"), classifier.encoder_
        if encoder is not None and not encoder.identity.is_preset:
            encoders[name] = encoder
        return cls(settings, Models(encoders, settings), ServedClassifier(name, classifier), index)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)

    async def _openapi(self, request: Request) -> Response:
        return json_response(openapi(self.operations, self.settings))

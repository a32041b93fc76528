"""GET /health, /ready and /metrics, which need no key; the first two really encode."""

from __future__ import annotations

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from noppa.serve import logs
from noppa.serve.metrics import CONTENT_TYPE
from noppa.serve.operations import TEXT, Operation, exactly
from noppa.serve.problems import busy
from noppa.serve.service import Service


def operations(service: Service) -> list[Operation]:
    def test() -> None:
        """Encode something with every model, and classify it; 503 if that fails."""
        try:
            for encoder in service.models.encoders.values():
                rows, _ = encoder.encode_ids(*encoder.look_up(["a test"], 1), 1)
                if rows.shape != (1, encoder.dim) or not np.isfinite(rows).all():
                    raise ArithmeticError("a vector is not finite")
            if service.classifier is not None and not np.isfinite(service.classifier.test()).all():
                raise ArithmeticError("a probability is not finite")
            if service.index is not None:
                service.index.test()
        except Exception as error:
            logs.write("self-test failed", error=type(error).__name__, places=logs.places_of(error))
            raise busy(
                "the self-test of the encoder failed: restart this server", code="self_test_failed"
            ) from error

    async def health(request: Request) -> Response:
        test()
        return JSONResponse({"status": "ok"})

    async def ready(request: Request) -> Response:
        if service.draining:
            raise busy("this server is stopping: use another one", code="draining")
        test()
        return JSONResponse({"status": "ready"})

    async def metrics(request: Request) -> Response:
        return Response(service.metrics.text(), media_type=CONTENT_TYPE)

    status = exactly({"status": TEXT})
    return [
        Operation("GET", "/health", "Whether the encoder works, by encoding.", health, status),
        Operation("GET", "/ready", "Whether to send requests here.", ready, status),
        Operation("GET", "/metrics", "Numbers for Prometheus.", metrics, kinds=["text/plain"]),
    ]

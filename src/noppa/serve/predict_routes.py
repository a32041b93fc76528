"""Where a classifier is served: POST /predict as text-embeddings-inference and Hugging Face have it, POST /predict/explain."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from noppa.serve import fields
from noppa.serve.answers import dumped
from noppa.serve.explore import explicable
from noppa.serve.fields import Field, Schema, kind_of
from noppa.serve.operations import NUMBER, NUMBERS, TEXT, Operation, exactly
from noppa.serve.problems import invalid
from noppa.serve.served_classifier import MOST_SCORES, Item, ServedClassifier
from noppa.serve.served_models import Counts, Watch
from noppa.serve.service import Service
from noppa.serve.settings import Settings

PREDICTION = exactly({"score": NUMBER, "label": TEXT})
ROW: Schema = {"type": "array", "items": PREDICTION}
ROWS: Schema = {"type": "array", "items": ROW}
EXPLAINED = exactly(
    {
        "label": TEXT,
        "logit": NUMBER,
        "predictions": ROW,
        "texts": {"type": "array", "items": exactly({"tokens": {"type": "array", "items": TEXT}, "shares": NUMBERS})},
        "reasons": {"type": "array", "items": exactly({"name": TEXT, "share": NUMBER})},
    }
)  # fmt: skip


def operations(service: Service) -> list[Operation]:
    served, models, settings = service.classifier, service.models, service.settings
    if served is None:
        return []

    async def predict(
        request: Request,
        inputs: tuple[list[Item], bool],
        raw_scores: bool,
        truncate: bool,
        truncation_direction: str,
    ) -> Response:
        items, single = inputs

        def job(watch: Watch, threads: int) -> tuple[bytes, Counts]:
            scores, counts = served.scores(
                models, items, watch, threads, raw=raw_scores, truncate=truncate
            )
            rows = b",".join(map(served.written, scores))
            return rows if single else b"[%b]" % rows, counts

        return await service.answer(request, job, _texts(items))

    async def pipeline(
        request: Request, inputs: tuple[list[Item], bool], parameters: dict[str, Any]
    ) -> Response:
        items, raw = inputs[0], parameters["function_to_apply"] == "none"

        def job(watch: Watch, threads: int) -> tuple[bytes, Counts]:
            scores, counts = served.scores(models, items, watch, threads, raw=raw)
            rows = (served.written(row, parameters["top_k"]) for row in scores)
            return b"[%b]" % b",".join(rows), counts

        return await service.answer(request, job, _texts(items))

    async def explain(
        request: Request, inputs: tuple[list[Item], bool], label: str | None
    ) -> Response:
        items, single = inputs
        if not single:
            raise invalid("inputs is a list: explain one at a time", "inputs")

        def job(watch: Watch, threads: int) -> tuple[bytes, Counts]:
            (row,), counts = served.scores(models, items, watch, threads)
            for text in items[0]:
                explicable(served.encoder(models), text, "inputs")
            decision = served.explain(items[0])
            at = int(row.argmax()) if label is None else served.number_of(label)
            reasons = decision.reasons(decision.classes[at])
            shares = [side[:, at] for side in decision.token_shares()]
            head = dumped(
                {
                    "label": served.labels[at],
                    "logit": float(decision.logits[at]),
                    "texts": [
                        {"tokens": side.tokens, "shares": own}
                        for side, own in zip(decision.sides, shares, strict=True)
                    ],
                    "reasons": [{"name": name, "share": share} for name, share in reasons],
                }
            )
            return b'%b,"predictions":%b}' % (head[:-1], served.written(row)), counts

        return await service.answer(request, job)

    inputs = _inputs(served, settings)
    body = {
        "inputs": inputs,
        "raw_scores": fields.flag(False),
        "truncate": fields.flag(False),
        "truncation_direction": fields.one_of(["Right"]).optional("Right"),
    }
    parameters = {
        "top_k": fields.whole(1, MOST_SCORES).optional(),  # clients ask for more than there are
        "function_to_apply": fields.one_of(["none"]).optional(),
    }
    pipeline_body = {"inputs": inputs, "parameters": fields.record(parameters)}
    other = Operation("POST", "", "", pipeline, ROWS, body=pipeline_body, mark="parameters", foreign=True)  # fmt: skip
    contracts: dict[str, Any] = {"body": body, "other": other, "foreign": True}
    summary = (
        "Labels with their probabilities, best first, as text-embeddings-inference gives them."
    )
    why = "The same with reasons: words and n-grams whose shares add up to the logit of a label."
    answer = {"anyOf": [ROW, ROWS]}
    explained_body = {"inputs": inputs, "label": fields.text().optional()}
    return [
        Operation("POST", "/predict", summary, predict, answer, **contracts),
        Operation("POST", "/", summary, predict, answer, **contracts, listed=False),
        Operation("POST", "/predict/explain", why, explain, EXPLAINED, body=explained_body),
    ]


def _texts(items: list[Item]) -> list[str]:
    return [text for item in items for text in item]


def _inputs(served: ServedClassifier, settings: Settings) -> Field:
    """One text or many; for a classifier of pairs, one pair or many. Gives a list, and whether there was one alone."""
    size, texts = 1 + served.paired, fields.texts(settings)
    wanted = "two strings, or a list of such pairs" if served.paired else "a string, or a list of strings"  # fmt: skip

    def check(value: Any, name: str) -> tuple[list[Item], bool]:
        is_single = _are_texts(value) if served.paired else isinstance(value, str)
        rows = [value] if is_single else value
        if not isinstance(rows, list):
            raise invalid(f"{name} is {kind_of(value)}: send {wanted}", name)
        items = [(row,) if isinstance(row, str) else row for row in rows]
        for at, item in enumerate(items):
            if not isinstance(item, (list, tuple)) or len(item) != size:
                raise invalid(f"{name}[{at}] is {kind_of(rows[at])}: send {wanted}", name)
        texts.check([text for item in items for text in item], name)
        return [tuple(item) for item in items], is_single

    return Field(_schema(served.paired, settings), check)


def _schema(paired: bool, settings: Settings) -> Schema:
    text: Schema = {"type": "string", "minLength": int(settings.empty_input == "error")}
    item: Schema = {"type": "array", "items": text, "minItems": 1 + paired, "maxItems": 1 + paired}
    most = settings.max_inputs // (1 + paired)

    def many(one: Schema) -> Schema:
        return {"type": "array", "items": one, "minItems": 1, "maxItems": most}

    return {"anyOf": [item, many(item)] if paired else [text, many(text), many(item)]}


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)

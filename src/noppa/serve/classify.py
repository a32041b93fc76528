"""A served classifier: POST /predict as in text-embeddings-inference and Hugging Face's pipelines, and explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response

from noppa import Encoder
from noppa.serve.errors import invalid, too_large
from noppa.serve.explore import check_explainable
from noppa.serve.models import Counts, Models
from noppa.serve.routing import Body, Contract, Count, Operation
from noppa.serve.service import Task

if TYPE_CHECKING:
    from noppa import Classifier
    from noppa.serve.app import Application

#: A text, or the two texts of a pair.
Item = tuple[str, ...]
Scores = NDArray[np.float64]

#: Most scores of an answer, texts × labels.
MAX_SCORES = 1 << 20
#: Most labels that GET /methods lists.
MAX_LABELS = 1000
#: One text, or several; the texts of a pair, or several pairs.
Inputs = str | list[str | Annotated[list[str], Meta(min_length=1, max_length=2)]]


class PipelineParameters(Struct):
    top_k: Count | None = None
    function_to_apply: Literal["none"] | None = None


class PredictRequest(Contract):
    """With `parameters`, the contract of Hugging Face's pipelines."""

    inputs: Inputs
    raw_scores: bool = False
    truncate: bool = False
    truncation_direction: Literal["Right"] = "Right"
    parameters: PipelineParameters | None = None


class ExplainPrediction(Body):
    inputs: Inputs
    label: str | None = None


class Prediction(Struct):
    score: float
    label: str


class TokenShares(Struct):
    tokens: list[str]
    shares: list[float]


class Reason(Struct):
    name: str
    share: float


class ExplainedPrediction(Struct):
    label: str
    logit: float
    predictions: list[Prediction]
    texts: list[TokenShares]
    reasons: list[Reason]


class ServedClassifier:
    """A classifier, its name, and its labels as strings."""

    def __init__(self, name: str, classifier: Classifier) -> None:
        self.name, self.classifier = name, classifier
        self.labels = [str(label) for label in classifier.classes_.tolist()]
        self.paired = classifier.contents.features.paired
        self.exclusive = classifier.contents.labels.exclusive

    def facts(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "labels": self.labels[:MAX_LABELS],
            "count": len(self.labels),
            "pairs": self.paired,
            "exclusive": self.exclusive,
        }

    @property
    def model_type(self) -> dict[str, Any]:
        """The labels, as TEI's /info describes them."""
        numbers = {label: number for number, label in enumerate(self.labels)}
        names = {str(number): label for label, number in numbers.items()}
        return {"classifier": {"id2label": names, "label2id": numbers}}

    def scores(
        self,
        models: Models,
        items: list[Item],
        task: Task,
        raw: bool = False,
        truncate: bool = False,
    ) -> tuple[Scores, Counts]:
        """Return probabilities (items, labels), or logits if `raw`, and counts."""
        size = len(items) * len(self.labels)
        if size > MAX_SCORES:
            raise too_large(
                f"{len(items)} inputs with {len(self.labels)} labels have {size} scores and this server allows "
                f"{MAX_SCORES}: send up to {MAX_SCORES // len(self.labels)} inputs at a time",
                "inputs",
            )
        encoder, parts, counts, done = self.encoder(models), [], Counts(), 0
        if truncate:
            items = [_truncated(encoder, item, models.settings.max_tokens) for item in items]
        joined = [" ".join(item) for item in items]
        for ids, offsets in models.token_blocks(encoder, joined, task, "inputs", False):
            block = items[done : done + len(offsets) - 1]
            parts.append(self._logits(block) if raw else self.probabilities(block))
            known = np.add.reduceat(np.append(ids >= 0, False), offsets[:-1], dtype=np.int64)
            counts += Counts.from_ids(ids, known * (np.diff(offsets) > 0))
            done += len(block)
        return np.concatenate(parts), counts

    def probabilities(self, items: list[Item]) -> Scores:
        return self.classifier.predict_proba(self._texts(items))

    def _logits(self, items: list[Item]) -> Scores:
        logits = self.classifier.decision_function(self._texts(items))
        # As in scikit-learn, two classes share one logit.
        return np.stack([-logits, logits], axis=1) if logits.ndim == 1 else logits

    def _texts(self, items: list[Item]) -> Any:
        return items if self.paired else [text for (text,) in items]

    def encoder(self, models: Models) -> Encoder:
        """Return the encoder that counts tokens: the classifier's, or the default one if it has n-grams alone."""
        encoder = self.classifier.encoder_
        return encoder if isinstance(encoder, Encoder) else models.encoders[models.default]

    def predictions(self, row: Scores, top: int | None = None) -> list[Prediction]:
        """Return the best labels of one item; equal scores keep the order of the labels."""
        order = np.argsort(-row, kind="stable")[:top]
        scores = np.round(row[order], 9).tolist()
        return [Prediction(score, self.labels[i]) for score, i in zip(scores, order, strict=True)]

    def items(self, inputs: Inputs) -> tuple[list[Item], bool]:
        """Return the inputs as items, and whether there is only one that is not in a list."""
        single = self.paired and not isinstance(inputs, str) and all(isinstance(text, str) for text in inputs)  # fmt: skip
        single = single or isinstance(inputs, str)
        rows = [inputs] if single else inputs
        items = [(row,) if isinstance(row, str) else tuple(row) for row in rows]
        if any(len(item) != 1 + self.paired for item in items):
            wanted = "two texts, or a list of pairs" if self.paired else "a text, or a list of texts"  # fmt: skip
            raise invalid(f"inputs must be {wanted}", "inputs")
        return items, single  # type: ignore[return-value]


def _truncated(encoder: Encoder, item: Item, limit: int) -> Item:
    tokens = [list(encoder.split(text)) for text in item]
    if sum(map(len, tokens)) <= limit:
        return item
    return tuple(" ".join(side[: limit // len(item)]) for side in tokens)


def operations(app: Application) -> list[Operation]:
    classifier, models, service = app.classifier, app.models, app.service
    if classifier is None:
        return []

    async def predict(request: Request, body: PredictRequest) -> Response:
        items, single = classifier.items(body.inputs)
        texts = models.texts([text for item in items for text in item], "inputs")
        parameters = body.parameters or PipelineParameters()
        raw = body.raw_scores or parameters.function_to_apply == "none"

        def job(task: Task) -> tuple[Any, Counts]:
            scores, counts = classifier.scores(models, items, task, raw, body.truncate)
            rows = [classifier.predictions(row, parameters.top_k) for row in scores]
            return rows[0] if single and body.parameters is None else rows, counts

        return await service.answer(request, job, texts)

    async def explain(request: Request, body: ExplainPrediction) -> Response:
        items, single = classifier.items(body.inputs)
        if not single:
            raise invalid("inputs is a list: explain one at a time", "inputs")
        models.texts(items[0], "inputs")
        if body.label is not None and body.label not in classifier.labels:
            listed = ", ".join(classifier.labels[:10])
            raise invalid(f"the label {body.label[:100]!r} does not exist: this classifier has {listed}", "label")  # fmt: skip

        def job(task: Task) -> tuple[ExplainedPrediction, Counts]:
            (row,), counts = classifier.scores(models, items, task)
            for text in items[0]:
                check_explainable(classifier.encoder(models), text, "inputs")
            decision = classifier.classifier.explain(items[0] if classifier.paired else items[0][0])
            label = int(row.argmax()) if body.label is None else classifier.labels.index(body.label)
            sides = zip(decision.sides, decision.token_shares(), strict=True)
            return ExplainedPrediction(
                classifier.labels[label],
                float(decision.logits[label]),
                classifier.predictions(row),
                [TokenShares(list(side.tokens), shares[:, label].tolist()) for side, shares in sides],
                [Reason(*reason) for reason in decision.reasons(decision.classes[label])],
            ), counts  # fmt: skip

        return await service.answer(request, job)

    texts = ["a girl is eating", "a child eats"]
    example = {"inputs": texts if classifier.paired else "a lovely film"}
    rows = list[Prediction | list[Prediction]]
    summary = "Labels with probabilities, best first, as in text-embeddings-inference."
    reasons = "The words and n-grams whose contributions add up to the logit of a label."
    return [
        Operation("POST", "/predict", summary, predict, rows, PredictRequest, example),
        Operation("POST", "/", "", predict, body=PredictRequest, listed=False),
        Operation("POST", "/predict/explain", reasons, explain, ExplainedPrediction, ExplainPrediction, example),
    ]  # fmt: skip

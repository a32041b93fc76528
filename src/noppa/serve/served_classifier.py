"""The served classifier: scores of texts or pairs of texts in blocks, so that work can be stopped between two of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noppa import Encoder
from noppa.serve.problems import invalid, too_large
from noppa.serve.served_models import Counts, Models, Watch

if TYPE_CHECKING:
    from noppa import Classifier
    from noppa.classify.explain import Decision

#: A text, or the two texts of a pair.
Item = tuple[str, ...]
Scores = NDArray[np.float64]

#: Scores of an answer, texts × labels; each takes some 40 bytes of JSON.
MOST_SCORES = 1 << 20


class ServedClassifier:
    """A classifier, its name, and its labels as texts."""

    def __init__(self, name: str, classifier: Classifier) -> None:
        self.name, self.classifier = name, classifier
        self.labels = [str(label) for label in classifier.classes_.tolist()]
        self.paired = classifier.contents.features.paired
        self.exclusive = classifier.contents.labels.exclusive
        self._names = [json.dumps(label) for label in self.labels]

    def scores(
        self,
        models: Models,
        items: list[Item],
        watch: Watch,
        threads: int,
        *,
        raw: bool = False,
        truncate: bool = False,
    ) -> tuple[Scores, Counts]:
        """Probabilities (items, labels), or logits where `raw`; an error calls the items inputs."""
        if len(items) * len(self.labels) > MOST_SCORES:
            raise too_large(
                f"{len(items)} texts with {len(self.labels)} labels are {len(items) * len(self.labels)} scores and this "
                f"server takes up to {MOST_SCORES}: send up to {MOST_SCORES // len(self.labels)} texts at a time",
                "inputs",
            )
        encoder = self.encoder(models)
        if truncate:
            items = [self._cut(encoder, item, models.settings.max_tokens) for item in items]
        parts, counts, done = [], Counts(), 0
        joined = [" ".join(item) for item in items]
        for ids, offsets in models.pieces(encoder, joined, watch, threads, "inputs", False):
            block = items[done : done + len(offsets) - 1]
            parts.append(self._logits(block) if raw else self._probabilities(block))
            counts += _counts(ids, offsets)
            done += len(block)
        return np.concatenate(parts), counts

    def explain(self, item: Item) -> Decision:
        return self.classifier.explain(item if self.paired else item[0])

    def test(self) -> Scores:
        """The probabilities of a short text."""
        return self._probabilities([("a test",) * (1 + self.paired)])

    def number_of(self, label: str) -> int:
        """The number of a label; 400 where there is no such one."""
        if label not in self.labels:
            raise invalid(
                f"label is {label[:100]!r}, and this classifier has {', '.join(self.labels[:10])}"
                + ("" if len(self.labels) <= 10 else f" and {len(self.labels) - 10} more"),
                "label",
            )
        return self.labels.index(label)

    def written(self, row: Scores, most: int | None = None) -> bytes:
        """The JSON of one item's scores, best first, of equal ones in the order of the labels."""
        order = np.argsort(-row, kind="stable")[:most]
        values = np.round(row[order], 9).tolist()
        # By hand: a request may ask for a million of them, and this takes a third of json's time.
        written = [
            f'{{"score":{value!r},"label":{self._names[at]}}}'
            for value, at in zip(values, order.tolist(), strict=True)
        ]
        return b"[%b]" % ",".join(written).encode()

    def encoder(self, models: Models) -> Encoder:
        """The encoder whose tokens count: the classifier's own, or, where it has n-grams alone, the default one."""
        own = self.classifier.encoder_
        return own if isinstance(own, Encoder) else models.encoders[models.default]

    def _texts(self, items: list[Item]) -> Any:
        return items if self.paired else [text for (text,) in items]

    def _probabilities(self, items: list[Item]) -> Scores:
        return self.classifier.predict_proba(self._texts(items))

    def _logits(self, items: list[Item]) -> Scores:
        logits = self.classifier.decision_function(self._texts(items))
        # As scikit-learn has it, two classes share one logit.
        return np.stack([-logits, logits], axis=1) if logits.ndim == 1 else logits

    def _cut(self, encoder: Encoder, item: Item, most: int) -> Item:
        split = encoder.split
        tokens = [list(split(text)) for text in item]
        if sum(map(len, tokens)) <= most:
            return item
        return tuple(" ".join(side[: most // len(item)]) for side in tokens)


def _counts(ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> Counts:
    texts = len(offsets) - 1
    of_text = np.repeat(np.arange(texts), np.diff(offsets))
    return Counts.of(ids, np.bincount(of_text[ids >= 0], minlength=texts))

"""Hugging Face datasets: a column of vectors by `dataset.map`, cached and in several processes.

>>> from datasets import Dataset
>>> from noppa.integrations.datasets import Encode
>>> rows = Dataset.from_dict({"text": ["a cake", "a lake"]}).map(Encode(), batched=True)
>>> len(rows[0]["vector"])
1668
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noppa.encoder.embedded import DEFAULT
from noppa.encoder.models import Model, resolve_model
from noppa.errors import InputError, ParameterError
from noppa.integrations import identity_of


class Encode:
    """A function for `Dataset.map(…, batched=True)` that adds the column `output` with vectors of `column`.

    Its fingerprint depends on the contents of the model, so that `datasets` finds its cache in every session and never
    confuses two models. Options are those of `Encoder.encode`, such as `normalize=True` or `on_error="empty"`.
    """

    def __init__(
        self,
        model: Model | None = None,
        column: str = "text",
        output: str = "vector",
        **options: Any,
    ) -> None:
        self.encoder = resolve_model(model, DEFAULT)
        self.column, self.output, self.options = column, output, options
        self.checksum = identity_of(self.encoder).checksum
        self.encoder.encode([], **options)  # lazy state would change the fingerprint later

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Return the new column of a batch."""
        if self.column not in batch:
            raise ParameterError(
                f"there is no column {self.column!r}, only {', '.join(map(repr, batch))}",
                "name it with column=",
            )
        texts = batch[self.column]
        if isinstance(texts, str):
            raise InputError("a batch is expected, not one row", "pass batched=True to map")
        return {self.output: self.encoder.encode(list(texts), **self.options)}

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
from noppa.encoder.models import resolve_model
from noppa.errors import InputError, ParameterError
from noppa.integrations import identity_of


class Encode:
    """What `Dataset.map(…, batched=True)` calls: from the column `column` to the column `output`, float32.

    model: an encoder, the folder of a saved one or a preset's name. normalize: scale each vector to length one.
    on_error: "empty" takes a missing value for an empty text.

    The same words, method and parameters have the same fingerprint in every session, so that `datasets` finds its cache;
    another model saved under the same name has another one.
    """

    def __init__(
        self,
        model: Any = None,
        column: str = "text",
        output: str = "vector",
        normalize: bool = False,
        on_error: str = "raise",
    ) -> None:
        self.encoder = resolve_model(model, DEFAULT)
        self.column, self.output = column, output
        self.options: dict[str, Any] = {}
        if normalize:
            self.options["normalize"] = True
        if on_error != "raise":
            self.options["on_error"] = on_error
        self.checksum = identity_of(self.encoder).checksum
        self.encoder.encode([])  # lazy state would change the fingerprint at the first real call

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """The new column of a batch."""
        if self.column not in batch:
            raise ParameterError(
                f"there is no column {self.column!r}, only {', '.join(map(repr, batch))}: name it with column="
            )
        texts = batch[self.column]
        if isinstance(texts, str):
            raise InputError(
                "one row was given where a batch is expected: pass batched=True to map"
            )
        return {self.output: self.encoder.encode(list(texts), **self.options)}

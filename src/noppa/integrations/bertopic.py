"""BERTopic: `NoppaBackend`, its `embedding_model`.

>>> from noppa.integrations.bertopic import NoppaBackend
>>> NoppaBackend().embed(["a cake", "a lake"]).shape
(2, 320)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.encoder.models import Model, resolve_model
from noppa.extras import needs
from noppa.integrations import unit_rows

with needs("bertopic", "noppa.integrations.bertopic"):
    from bertopic.backend import BaseEmbedder


class NoppaBackend(BaseEmbedder):
    """Embeds documents and words as vectors of length one; it is also a plain function from texts to rows."""

    def __init__(self, model: Model | None = None) -> None:
        super().__init__(embedding_model=resolve_model(model))

    def embed(self, documents: Any, verbose: bool = False) -> NDArray[np.float32]:
        """Return vectors (n, dim); `verbose` is ignored."""
        return unit_rows(self.embedding_model, documents)

    __call__ = embed

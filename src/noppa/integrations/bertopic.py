"""BERTopic: `NoppaBackend`, its `embedding_model`.

>>> from noppa.integrations.bertopic import NoppaBackend
>>> NoppaBackend().embed(["a cake", "a lake"]).shape
(2, 320)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.encoder.models import resolve_model
from noppa.extras import needs
from noppa.integrations import unit_rows

with needs("bertopic", "noppa.integrations.bertopic"):
    from bertopic.backend import BaseEmbedder


class NoppaBackend(BaseEmbedder):
    """Texts to vectors of length one, of documents and of words; also a plain function from texts to rows.

    model: an encoder, a path or a preset's name; the preset for cosines where it is left out.
    """

    def __init__(self, model: Any = None) -> None:
        super().__init__(embedding_model=resolve_model(model))

    def embed(self, documents: Any, verbose: bool = False) -> NDArray[np.float32]:
        """Vectors (n, dim); `verbose` is BERTopic's, and there is no time for a progress bar."""
        return unit_rows(self.embedding_model, documents)

    __call__ = embed

"""polars: `pl.col("text").noppa.encode()`, eager or lazy, once this module is imported.

>>> import polars
>>> import noppa.integrations.polars
>>> frame = polars.DataFrame({"text": ["a cake"]})
>>> frame.select(polars.col("text").noppa.encode("similarity")).schema["text"]
Array(Float32, shape=(320,))
"""

from __future__ import annotations

from typing import Any

from noppa.encoder.embedded import DEFAULT
from noppa.encoder.models import Model, resolve_model
from noppa.errors import ParameterError
from noppa.extras import needs
from noppa.integrations import paired_cosines

with needs("polars", "noppa.integrations.polars"):
    import polars


@polars.api.register_expr_namespace("noppa")
class Texts:
    """Methods of an expression of texts; options are those of `Encoder.encode`, such as `on_error="empty"`."""

    def __init__(self, expression: polars.Expr) -> None:
        self._expression = expression

    def encode(self, model: Model | None = None, **options: Any) -> polars.Expr:
        """Return vectors, Array(Float32, dim)."""
        encoder = resolve_model(model, DEFAULT)
        # An empty batch gives the width, and validates the options before a lazy frame is collected.
        dtype = polars.Array(polars.Float32, encoder.encode([], **options).shape[1])

        def vectors(texts: polars.Series) -> polars.Series:
            rows = encoder.encode(texts.to_list(), **options)
            return polars.Series(texts.name, rows, dtype=dtype)

        return self._expression.map_batches(vectors, dtype, is_elementwise=True)

    def similarity(self, other: Any, model: Model | None = None, **options: Any) -> polars.Expr:
        """Return the cosine of each text with that of another expression in the same row, or with one text."""
        if not isinstance(other, str | polars.Expr):
            raise ParameterError(
                f"other must be an expression, such as pl.col('b'), or one text, not {other!r}"
            )
        encoder = resolve_model(model)
        encoder.encode([], **options)

        def cosines(columns: Any) -> polars.Series:
            left, right = columns
            longer, shorter = (left, right) if len(right) == 1 else (right, left)
            values = paired_cosines(encoder, longer.to_list(), shorter.to_list(), **options)
            return polars.Series(left.name, values)

        right = polars.lit(other) if isinstance(other, str) else other
        return polars.map_batches(
            [self._expression, right], cosines, polars.Float64, is_elementwise=True
        )


@polars.api.register_series_namespace("noppa")
class Column:
    """Methods of a Series of texts."""

    def __init__(self, series: polars.Series) -> None:
        self._texts = Texts(polars.lit(series))

    def encode(self, model: Model | None = None, **options: Any) -> polars.Series:
        """Return vectors, Array(Float32, dim)."""
        return polars.select(self._texts.encode(model, **options)).to_series()

    def similarity(self, other: Any, model: Model | None = None, **options: Any) -> polars.Series:
        """Return the cosine of each text with that of another Series in the same place, or with one text."""
        right = polars.lit(other) if isinstance(other, polars.Series) else other
        return polars.select(self._texts.similarity(right, model, **options)).to_series()

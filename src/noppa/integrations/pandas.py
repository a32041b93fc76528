"""pandas: `df["text"].noppa.encode()`, once this module is imported.

>>> import pandas
>>> import noppa.integrations.pandas
>>> pandas.Series(["a cake", "a lake"], index=[7, 3]).noppa.encode().shape
(2, 1668)
"""

from __future__ import annotations

from typing import Any

from noppa.encoder.embedded import DEFAULT
from noppa.encoder.models import Model, resolve_model
from noppa.extras import needs
from noppa.integrations import paired_cosines

with needs("pandas", "noppa.integrations.pandas"):
    import pandas


@pandas.api.extensions.register_series_accessor("noppa")
class Texts:
    """Methods of a column of texts; options are those of `Encoder.encode`, such as `on_error="empty"`."""

    def __init__(self, series: pandas.Series[Any]) -> None:
        self._series = series

    def encode(self, model: Model | None = None, **options: Any) -> pandas.DataFrame:
        """Return one row of vectors per text, with the same index and the columns noppa_0, noppa_1, …."""
        rows = resolve_model(model, DEFAULT).encode(self._series, **options)
        columns = [f"noppa_{number}" for number in range(rows.shape[1])]
        return pandas.DataFrame(rows, index=self._series.index, columns=columns)

    def similarity(
        self, other: Any, model: Model | None = None, **options: Any
    ) -> pandas.Series[float]:
        """Return the cosine of each text with the text of `other` in the same place, or with one text."""
        cosines = paired_cosines(resolve_model(model), self._series, other, **options)
        return pandas.Series(cosines, index=self._series.index, name="similarity")

"""pandas: `df["text"].noppa.encode()`, once this module is imported.

>>> import pandas
>>> import noppa.integrations.pandas
>>> pandas.Series(["a cake", "a lake"], index=[7, 3]).noppa.encode().shape
(2, 1668)
"""

from __future__ import annotations

from typing import Any

from noppa.encoder.embedded import DEFAULT
from noppa.encoder.models import resolve_model
from noppa.extras import needs
from noppa.integrations import paired_cosines

with needs("pandas", "noppa.integrations.pandas"):
    import pandas

NAME = "noppa"


@pandas.api.extensions.register_series_accessor(NAME)
class Texts:
    """What a column of texts can do; the index is kept, and so is its order."""

    def __init__(self, series: pandas.Series[Any]) -> None:
        self._series = series

    def encode(self, model: Any = None, **options: Any) -> pandas.DataFrame:
        """A frame of vectors, a row for each text, with the columns noppa_0, noppa_1, ….

        model: an encoder, a path or a preset's name. options: those of `Encoder.encode`, such as `on_error="empty"`
        for columns with missing values.
        """
        rows = resolve_model(model, DEFAULT).encode(self._series, **options)
        columns = [f"{NAME}_{number}" for number in range(rows.shape[1])]
        return pandas.DataFrame(rows, index=self._series.index, columns=columns)

    def similarity(self, other: Any, model: Any = None, **options: Any) -> pandas.Series[float]:
        """The cosine of each text with the text of `other` in the same place, or with the one text given."""
        cosines = paired_cosines(resolve_model(model), self._series, other, **options)
        return pandas.Series(cosines, index=self._series.index, name="similarity")

"""DuckDB: `noppa_embed(text)` and `noppa_similarity(a, b)` in SQL.

>>> import duckdb
>>> from noppa.integrations.duckdb import register
>>> connection = register(duckdb.connect())
>>> connection.execute("SELECT noppa_similarity('a girl eats', 'a child is eating') > 0.5").fetchone()
(True,)
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from noppa.encoder.models import Model, resolve_model
from noppa.extras import needs
from noppa.integrations import paired_cosines, unit_rows

with needs("duckdb", "noppa.integrations.duckdb"):
    import duckdb
    import pyarrow

EMBED, COSINE = "noppa_embed", "noppa_similarity"


def register(connection: Any, model: Model | None = None) -> Any:
    """Add both functions to a connection, replacing those of an earlier call; returns the connection.

    `noppa_embed(text)` returns vectors of length one, FLOAT[dim], so that DuckDB's array_inner_product of two is their
    cosine. `noppa_similarity(a, b)` returns the cosine of two texts, DOUBLE. NULL gives NULL.
    """
    encoder = resolve_model(model)
    dim = encoder.dim

    def embed(texts: Any) -> Any:
        rows = unit_rows(encoder, texts)
        return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.ravel()), dim)

    def cosines(left: Any, right: Any) -> Any:
        # A constant arrives as a column of its copies.
        if len(left) and len(left.unique()) == 1:
            left, right = right, left
        if len(right) and len(right.unique()) == 1:
            right = right[:1]
        return pyarrow.array(paired_cosines(encoder, left, right))

    for name in (EMBED, COSINE):
        with suppress(duckdb.InvalidInputException):  # it is not registered yet
            connection.remove_function(name)
    connection.create_function(EMBED, embed, ["VARCHAR"], f"FLOAT[{dim}]", type="arrow")
    connection.create_function(COSINE, cosines, ["VARCHAR"] * 2, "DOUBLE", type="arrow")
    return connection

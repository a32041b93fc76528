"""Past one machine: the same encoder on Dask or Spark.

    inputs -> plan -> shards -> an engine's workers, each with the model mapped once -> parts of Parquet
                                                                                     -> sums, merged in a tree -> an encoder

`encode` and `fit` are all that a user needs. An engine only runs `shard` functions and knows nothing of texts; what was
asked and what is done stands in the output's own books, so that any run goes on where one stopped, on either engine.
"""

from __future__ import annotations

from noppa.cluster.encoding import Report, encode
from noppa.cluster.fitting import FitReport, fit
from noppa.cluster.request import ENGINES

__all__ = ["ENGINES", "FitReport", "Report", "encode", "fit"]

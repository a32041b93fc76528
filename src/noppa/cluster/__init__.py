"""Past one machine: the same encoder on Dask or Spark.

    inputs -> plan -> shards -> an engine's workers, each with the model mapped once -> parts of Parquet
                                                                                     -> sums, merged in a tree -> an encoder

`encode`, `predict` and `fit` are all that a user needs. An engine only runs shard jobs and knows nothing of texts. The manifest in the
output records the plan and what is done, so that a later run resumes where one stopped, on either engine.
"""

from __future__ import annotations

from noppa.cluster.encode_job import Report, encode
from noppa.cluster.engines import ENGINES
from noppa.cluster.fit_job import FitReport, fit
from noppa.cluster.predict_job import predict

__all__ = ["ENGINES", "FitReport", "Report", "encode", "fit", "predict"]

"""MTEB: an encoder for its runner, and tasks of your own data for it.

>>> import mteb
>>> from noppa.integrations.mteb import NoppaEncoder, sts_task
>>> task = sts_task("Cakes", ["a cake", "a cake"], ["some cake", "a train"], [5, 1])
>>> result = mteb.evaluate(NoppaEncoder("similarity"), task, cache=None)
>>> round(float(result.task_results[0].get_score()), 6)
1.0
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.encoder.embedded import DEFAULT
from noppa.encoder.models import Model, resolve_model
from noppa.errors import ParameterError
from noppa.extras import needs
from noppa.integrations import identity_of

with needs("mteb", "noppa.integrations.mteb"):
    from datasets import Dataset, DatasetDict
    from mteb.abstasks import AbsTaskClassification, AbsTaskSTS
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.models.abs_encoder import AbsEncoder
    from mteb.models.model_meta import ModelMeta, ScoringFunction


class NoppaEncoder(AbsEncoder):
    """An encoder for MTEB's runner, compared by cosine.

    Args:
        name: Name of the model in MTEB's results. The revision is a checksum of a saved model, and random for one in
            memory, so that results of two models never mix.
    """

    def __init__(self, model: Model | None = None, name: str | None = None) -> None:
        self.encoder = resolve_model(model, DEFAULT)
        identity = identity_of(self.encoder)
        path = identity.path
        self.mteb_model_meta = ModelMeta(
            loader=None,
            name=f"noppa/{name or (path.name if path else 'unsaved')}",
            revision=identity.fingerprint or uuid.uuid4().hex,
            release_date=None,
            languages=None,
            n_parameters=None,
            memory_usage_mb=None,
            max_tokens=None,
            embed_dim=self.encoder.dim,
            license=None,
            open_weights=True,
            public_training_code=None,
            public_training_data=None,
            framework=["NumPy"],
            similarity_fn_name=ScoringFunction.COSINE,
            use_instructions=False,
            training_datasets=None,
        )

    def encode(
        self,
        inputs: Any,
        *,
        task_metadata: Any,
        hf_split: str,
        hf_subset: str,
        prompt_type: Any = None,
        **_: Any,
    ) -> NDArray[np.float32]:
        """Return vectors (n, dim) of the texts of a data loader; options of neural models are ignored."""
        texts = [text for batch in inputs for text in batch["text"]]
        return np.asarray(self.encoder.encode(texts))


class _LocalData:
    """A task whose data is given and not downloaded."""

    def __init__(self, metadata: TaskMetadata, rows: DatasetDict) -> None:
        self.metadata = metadata
        super().__init__()
        self.dataset, self.data_loaded = rows, True

    def load_data(self, *_: Any, **__: Any) -> None:
        """Do nothing: the data is loaded."""


class _Classification(_LocalData, AbsTaskClassification):
    pass


class _Similarity(_LocalData, AbsTaskSTS):
    pass


def classification_task(
    name: str,
    train: tuple[Sequence[str], Sequence[int]],
    test: tuple[Sequence[str], Sequence[int]],
    samples_per_label: int = 8,
    experiments: int = 10,
) -> AbsTaskClassification:
    """Return MTEB's classification task over your own texts and labels.

    Each experiment draws `samples_per_label` rows of each label from `train`, as MTEB does, and predicts all of `test`.
    """
    parts = {}
    for part, (texts, labels) in {"train": train, "test": test}.items():
        if len(texts) != len(labels):
            raise ParameterError(f"{part} has {len(texts)} texts, but {len(labels)} labels")
        parts[part] = Dataset.from_dict({"text": list(texts), "label": list(labels)})
    task = _Classification(_metadata(name, "Classification", "accuracy"), DatasetDict(parts))
    task.samples_per_label, task.n_experiments = samples_per_label, experiments
    return task


def sts_task(
    name: str, left: Sequence[str], right: Sequence[str], scores: Sequence[float]
) -> AbsTaskSTS:
    """Return MTEB's similarity task over your own pairs; its score is Spearman's correlation of cosines."""
    if not len(left) == len(right) == len(scores):
        raise ParameterError(f"{len(left)} and {len(right)} texts, but {len(scores)} scores")
    marks = [float(score) for score in scores]
    pairs = {"sentence1": list(left), "sentence2": list(right), "score": marks}
    rows = DatasetDict(test=Dataset.from_dict(pairs))
    task = _Similarity(_metadata(name, "STS", "cosine_spearman"), rows)
    task.min_score, task.max_score = min(marks), max(marks)
    return task


def _metadata(name: str, kind: str, score: str) -> TaskMetadata:
    return TaskMetadata(
        dataset={"path": name, "revision": "local"},
        name=name,
        description="Data given by the user.",
        type=kind,
        eval_langs=["eng-Latn"],
        main_score=score,
        category="t2t",
    )

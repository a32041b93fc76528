"""A classifier without training rows: the class whose name or description is nearest in meaning."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.classify.classifier_folder import Contents
from noppa.classify.features import Features
from noppa.classify.labels import Labels
from noppa.classify.linear_model import LinearModel
from noppa.encoder.models import resolve_model
from noppa.errors import InputError, NoppaWarning, ParameterError
from noppa.words.texts import texts_of

#: How much a cosine of 1 adds to a logit.
SCALE = 20.0


def contents_of(labels: Iterable[str] | Mapping[Any, Any], encoder: Any) -> Contents:
    """A model whose logits are cosines with the vectors of labels, times `SCALE`.

    labels: names, or a mapping from each to a description or to several of them, whose mean vector is taken.
    """
    if isinstance(labels, str):
        raise InputError("one label was given where several are expected: give a list of labels")
    described = dict(labels) if isinstance(labels, Mapping) else {name: name for name in labels}
    if len(described) < 2:
        raise ParameterError(f"a choice needs at least two labels, and there are {len(described)}")
    made, _ = Labels.of([name for name in described for _ in range(2)])
    encoder = resolve_model(encoder)
    rows = [SCALE * _direction(encoder, name, described[name]) for name in made.classes.tolist()]
    weights = np.array(rows).T
    if len(rows) == 2:  # one column, of the second class against the first
        weights = weights[:, 1:] - weights[:, :1]
    columns = weights.shape[1]
    model = LinearModel(
        weights.astype(np.float32), np.zeros((0, columns), np.float32), np.zeros(columns)
    )
    facts = {"zero_shot": {str(name): described[name] for name in described}}
    return Contents(Features(encoder, None, paired=False, unit=True), made, model, 0, facts)


def _direction(encoder: Any, name: Any, given: Any) -> NDArray[np.float64]:
    """The mean vector of a label's descriptions, of length one."""
    texts = texts_of([given] if isinstance(given, str) else given)
    with warnings.catch_warnings():  # a label without a known word is an error below
        warnings.simplefilter("ignore", NoppaWarning)
        mean = encoder.encode(texts, normalize=True).astype(np.float64).mean(axis=0)
    length = float(np.linalg.norm(mean))
    if not length:
        raise ParameterError(f"no word of the label {name!r} is known: describe it in other words")
    return np.asarray(mean / length)

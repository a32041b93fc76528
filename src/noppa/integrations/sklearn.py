"""scikit-learn: texts in a Pipeline, with a grid over the method's own parameters.

>>> from sklearn.linear_model import LogisticRegression
>>> from sklearn.pipeline import make_pipeline
>>> from noppa.integrations.sklearn import NoppaTransformer
>>> model = make_pipeline(NoppaTransformer(), LogisticRegression())
>>> model.fit(["a fine film", "a dull film"], [1, 0]).predict(["a fine film"]).tolist()
[1]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import Classifier, Encoder
from noppa.classify.features import Texts
from noppa.encoder.embedded import DEFAULT
from noppa.encoder.models import Model, resolve_model
from noppa.errors import InputError, NotFittedError, ParameterError
from noppa.extras import needs
from noppa.words.texts import texts_of

with needs("sklearn", "noppa.integrations.sklearn"):
    from scipy import sparse
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import check_is_fitted


class NoppaTransformer(TransformerMixin, BaseEstimator):
    """Transforms texts to vectors (n, dim), float32.

    An encoder that is not fitted yet is fitted on the training texts, as a copy; `encoder_` is the one in use.

    Args:
        model: A preset's name, a path or an `Encoder`; None for the embedded model.
        a: Parameter of the encoder's method; None keeps the model's. If `a` or `k` is given, `fit` learns what the method
            needs, such as noise removal, from the training texts only.
        k: Parameter of the encoder's method; None keeps the model's.
        normalize: Scale each vector to length one.
        on_error: "empty" treats a missing value as an empty text.
        threads: Number of threads; choose 1 if `n_jobs` already uses all processors.
    """

    def __init__(
        self,
        model: Model | None = None,
        a: float | None = None,
        k: int | None = None,
        normalize: bool = False,
        on_error: str = "raise",
        threads: int | None = None,
    ) -> None:
        self.model = model
        self.a = a
        self.k = k
        self.normalize = normalize
        self.on_error = on_error
        self.threads = threads

    def fit(self, X: Any, y: Any = None) -> NoppaTransformer:
        """Learn what the method needs from the training texts, if anything."""
        texts = self._texts(X)
        encoder = resolve_model(self.model, DEFAULT)
        changes = {name: getattr(self, name) for name in "ak" if getattr(self, name) is not None}
        refit = bool(changes) or not _ready(encoder)
        self.encoder_ = self._refitted(encoder, changes, texts) if refit else encoder
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit and transform the same texts, which may be an iterator."""
        texts = list(X) if isinstance(X, Iterator) else X
        return self.fit(texts, y).transform(texts)

    def transform(self, X: Any) -> Any:
        """Return vectors of texts, (n, dim), in the container of `set_output`."""
        check_is_fitted(self)
        options: dict[str, Any] = {"normalize": True} if self.normalize else {}
        if self.threads is not None:  # an encoder of another library has no threads
            options["threads"] = self.threads
        return self.encoder_.encode(self._texts(X), **options)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return noppa_0, noppa_1, …."""
        check_is_fitted(self)
        return np.array([f"noppa_{number}" for number in range(self.encoder_.dim)], object)

    def _texts(self, X: Any) -> list[str]:
        if isinstance(X, str):
            raise InputError("a collection of texts is expected, not one text", "give [text]")
        return texts_of(X, self.on_error)

    def _refitted(self, encoder: Any, changes: dict[str, Any], texts: list[str]) -> Encoder:
        if not isinstance(encoder, Encoder):
            raise ParameterError(
                f"a and k are parameters of noppa's methods, and the model is a {type(encoder).__name__}"
            )
        for name in changes:
            if not hasattr(encoder.method, name):
                raise ParameterError(f"{encoder.method!r} has no parameter {name}")
        method = replace(encoder.method, **changes)  # type: ignore[type-var]
        refitted = Encoder(encoder.words, method, encoder.refine, encoder.tokenizer)
        return refitted.fit(texts, self.threads)

    def __sklearn_clone__(self) -> NoppaTransformer:
        """Return a copy that shares the encoder, which is never modified and may be large."""
        return type(self)(**self.get_params(deep=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


class ClassifierFeatures(TransformerMixin, BaseEstimator):
    """The features of a noppa `Classifier` as a sparse matrix (n, columns): vectors, then n-grams."""

    def __init__(self, classifier: Classifier) -> None:
        self.classifier = classifier

    def fit(self, X: Any, y: Any = None) -> ClassifierFeatures:
        """Do nothing: the classifier is trained."""
        return self

    def transform(self, X: Any) -> Any:
        """Return the features of texts, or of pairs of texts."""
        features = self.classifier.contents.features
        texts = Texts.parse(X)
        rows = features.sparse(texts, 1)
        ngrams = sparse.csr_matrix((rows.values, rows.ids, rows.offsets), (len(rows), rows.width))
        return sparse.hstack([*features.dense(texts, 1), ngrams], "csr")

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> ClassifierFeatures:
        return type(self)(self.classifier)


def pipeline_of(classifier: Classifier) -> Pipeline:
    """Return a trained noppa `Classifier` as a pipeline of its features and a `LogisticRegression` with its weights."""
    contents = classifier.contents
    labels, model = contents.labels, contents.model
    if not labels.exclusive:
        raise ParameterError("a classifier with several labels per text cannot become a pipeline")
    linear = LogisticRegression()
    linear.classes_ = labels.classes
    linear.coef_ = np.concatenate([model.dense, model.ngrams]).T.astype(np.float64)
    linear.intercept_ = np.asarray(model.biases, np.float64)
    linear.n_features_in_ = linear.coef_.shape[1]
    return Pipeline([("features", ClassifierFeatures(classifier)), ("model", linear)])


def _ready(encoder: Any) -> bool:
    try:
        return not isinstance(encoder, Encoder) or encoder.fitted_on >= 0
    except NotFittedError:
        return False

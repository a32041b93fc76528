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
from noppa.encoder.models import resolve_model
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
    """Texts to vectors (n, dim), float32.

    model: an encoder, the folder of a saved one or a preset's name; the embedded model where None.
    a, k: parameters of the encoder's method. With either, `fit` makes the method anew and learns what it needs, such as
        noise removal, from the training texts alone; None keeps what the model has.
    normalize: scale each vector to length one. on_error: "empty" takes a missing value for an empty text.
    threads: how many an `encode` may use; 1 is right where `n_jobs` already fills the machine.

    An encoder that was not fitted yet is fitted on the training texts; the one given is never changed. `encoder_` is the
    one in use.
    """

    def __init__(
        self,
        model: Any = None,
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
        """Learn from the training texts what the method needs, if it needs anything."""
        texts = self._texts(X)
        encoder = resolve_model(self.model, DEFAULT)
        changes = {name: getattr(self, name) for name in "ak" if getattr(self, name) is not None}
        refit = bool(changes) or not _ready(encoder)
        self.encoder_ = self._refitted(encoder, changes, texts) if refit else encoder
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """`fit` and `transform` of the same texts, also of an iterator, which can be read only once."""
        texts = list(X) if isinstance(X, Iterator) else X
        return self.fit(texts, y).transform(texts)

    def transform(self, X: Any) -> Any:
        """Vectors of texts, (n, dim), or what `set_output` asks for."""
        check_is_fitted(self)
        options: dict[str, Any] = {"normalize": True} if self.normalize else {}
        if self.threads is not None:  # an encoder from elsewhere knows no threads
            options["threads"] = self.threads
        return self.encoder_.encode(self._texts(X), **options)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """noppa_0, noppa_1, …; what went in has no names that would matter."""
        check_is_fitted(self)
        return np.array([f"noppa_{at}" for at in range(self.encoder_.dim)], object)

    def _texts(self, X: Any) -> list[str]:
        if isinstance(X, str):
            raise InputError("one text was given where a collection is expected: give [text]")
        return texts_of(X, self.on_error)

    def _refitted(self, encoder: Any, changes: dict[str, Any], texts: list[str]) -> Encoder:
        if not isinstance(encoder, Encoder):
            raise ParameterError(
                f"a and k are parameters of noppa's methods, and the model is a {type(encoder).__name__}: leave them out"
            )
        for name in changes:
            if not hasattr(encoder.method, name):
                raise ParameterError(
                    f"{encoder.method!r} has no parameter {name}: leave {name} out, or give a model whose method has it"
                )
        method = replace(encoder.method, **changes)  # type: ignore[type-var]
        refitted = Encoder(encoder.words, method, encoder.refine, encoder.tokenizer)
        return refitted.fit(texts, self.threads)

    def __sklearn_clone__(self) -> NoppaTransformer:
        """A copy with the same encoder: nothing here changes one, and its words may be large."""
        return type(self)(**self.get_params(deep=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


class ClassifierFeatures(TransformerMixin, BaseEstimator):
    """The columns that a noppa `Classifier` sees of texts, as a sparse matrix (n, columns): vectors, then n-grams."""

    def __init__(self, classifier: Classifier) -> None:
        self.classifier = classifier

    def fit(self, X: Any, y: Any = None) -> ClassifierFeatures:
        """Nothing to learn: the classifier was trained."""
        return self

    def transform(self, X: Any) -> Any:
        """Texts, or pairs, as rows of columns."""
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
    """A trained noppa `Classifier` as a scikit-learn pipeline: its features, and a `LogisticRegression` with its weights."""
    contents = classifier.contents
    labels, model = contents.labels, contents.model
    if not labels.exclusive:
        raise ParameterError("a pipeline holds one label a row, and this classifier gives several")
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

"""`Classifier`: learns labels from texts, predicts them, and explains its predictions."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from noppa.classify import storage
from noppa.classify.explain import (
    Decision,
    explain_text,
    strongest_ngrams,
)
from noppa.classify.features import Texts
from noppa.classify.labels import same_length
from noppa.classify.logistic import probabilities
from noppa.classify.report import SUSPICIOUS, TrainingReport, make_report
from noppa.classify.storage import Contents
from noppa.classify.training import learn, zero_shot_contents
from noppa.encoder import embedded
from noppa.encoder.models import Model
from noppa.errors import InputError, NotFittedError, ParameterError
from noppa.io import hub
from noppa.io.storage import EVERY_BYTE, VERIFIED_BYTES
from noppa.parameters import short_repr, whole
from noppa.text.tokenizer import Split, Tokenizer
from noppa.threads import thread_count

Float = NDArray[np.float64]


class Classifier:
    """A text classifier: logistic regression on the vectors of an encoder and on TF-IDF n-grams.

    It follows scikit-learn's conventions and needs NumPy only.

    Args:
        model: A preset's name, a path, an `Encoder` or any object with `encode`; None for the embedded model, False for no
            vectors.
        ngrams: The fewest and most words of an n-gram; None for no n-grams.
        l2_vectors: The l2 penalty of the vectors; None to choose it by cross-validation.
        l2_ngrams: The l2 penalty of the n-grams; None to choose it by cross-validation.
        folds: The number of folds.
        seed: The seed of the folds.
        threads: For encoding and training; predictions do not depend on them.

    >>> import noppa
    >>> texts = ["a fine film", "a lovely story", "dull and long", "a boring mess"] * 3
    >>> model = noppa.Classifier().fit(texts, ["good", "good", "bad", "bad"] * 3)
    >>> model.predict(["what a lovely film"]).tolist()
    ['good']
    """

    _estimator_type = "classifier"

    def __init__(
        self,
        model: Model | Literal[False] | None = None,
        ngrams: tuple[int, int] | None = (1, 2),
        l2_vectors: float | None = None,
        l2_ngrams: float | None = None,
        folds: int = 5,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        # Nothing is checked or changed here, so that scikit-learn's clone has the same parameters.
        self.model = model
        self.ngrams = ngrams
        self.l2_vectors = l2_vectors
        self.l2_ngrams = l2_ngrams
        self.folds = folds
        self.seed = seed
        self.threads = threads

    def __repr__(self) -> str:
        changed = ", ".join(
            f"{name}={getattr(self, name)!r}"
            for name, parameter in inspect.signature(type(self)).parameters.items()
            if getattr(self, name) is not parameter.default
            and getattr(self, name) != parameter.default
        )
        return f"Classifier({changed})"

    # Learning

    def fit(self, X: Any, y: Any, dev: tuple[Any, Any] | None = None) -> Classifier:
        """Learn from texts and their labels; return self.

        Args:
            X: Texts, or pairs of texts as `(left, right)` or as a list of pairs.
            y: One label per row; or several, as lists of labels or as a table of 0 and 1.
            dev: Texts and labels to choose the penalties by instead of folds; they are not trained on.
        """
        self._fitted, self.training_ = learn(self.get_params(), X, y, dev)
        return self

    @classmethod
    def zero_shot(
        cls, labels: Iterable[str] | Mapping[Any, str | Iterable[str]], model: Model | None = None
    ) -> Classifier:
        """Return a classifier without training: a text gets the label whose name or description is nearest by cosine.

        Probabilities are rough, since nothing calibrates them.

        Args:
            labels: Names, or a mapping from each name to a description or to a list of example texts.
            model: For the cosines; None for the preset "similarity".
        """
        return cls._from_contents(zero_shot_contents(labels, model))

    @classmethod
    def _from_contents(cls, contents: Contents) -> Classifier:
        ngrams, encoder = contents.features.ngrams, contents.features.encoder
        classifier = cls(
            False if encoder is None else encoder,
            None if ngrams is None else (ngrams.shortest, ngrams.longest),
        )
        classifier._fitted = contents
        return classifier

    def name_columns(self, columns: Sequence[str]) -> None:
        """Store the text columns of the training table, which are the defaults for tables to predict."""
        self._fitted = self.contents._replace(text_columns=tuple(columns))

    def report(
        self,
        suspicious: int = SUSPICIOUS,
        audit: bool = False,
        numbers: Sequence[int] | None = None,
    ) -> TrainingReport:
        """Report how good the model is on rows that it was not trained on; only right after `fit`.

        Args:
            suspicious: How many suspicious labels to list.
            audit: Also find near-duplicates with different labels.
            numbers: The numbers of the rows in the report; None for 0, 1, ….
        """
        if "training_" not in self.__dict__:
            raise NotFittedError(
                "a report needs the rows of a fit, right after fit", "call fit first"
            )
        training = replace(self.training_, numbers=numbers)
        return make_report(training, whole(suspicious, "suspicious"), audit)

    @property
    def contents(self) -> Contents:
        """Everything that was learnt."""
        if "_fitted" not in self.__dict__:
            raise NotFittedError("this Classifier is not fitted", "call fit(texts, labels) first")
        return self._fitted

    @property
    def classes_(self) -> NDArray[Any]:
        """The sorted classes, which are the columns of `predict_proba`."""
        return self.contents.labels.classes

    @property
    def encoder_(self) -> Any:
        """The encoder in use, None without vectors."""
        return self.contents.features.encoder

    # Predicting

    def predict(self, X: Any) -> NDArray[Any]:
        """Return one label per row; if rows have several labels, those above one half, as they were given to `fit`."""
        return self.labels_of(self.predict_proba(X))

    def labels_of(self, probabilities: Float) -> NDArray[Any]:
        """Return the labels that `predict` gives for probabilities (n, classes)."""
        labels = self.contents.labels
        if labels.exclusive:
            return np.asarray(labels.classes[probabilities.argmax(axis=1)])
        return labels.from_members(probabilities >= 0.5)

    def predict_proba(self, X: Any) -> Float:
        """Return calibrated probabilities (n, classes), which add up to 1 unless rows have several labels."""
        return self._probabilities(self._logits(self._texts(X)))

    def decision_function(self, X: Any) -> Float:
        """Return logits (n, classes); for two classes those of the second one (n,), as in scikit-learn."""
        logits = self._logits(self._texts(X))
        return logits[:, 0] if logits.shape[1] < len(self.classes_) else logits

    def score(self, X: Any, y: Any) -> float:
        """Return the share of rows whose label, or all of whose labels, are correct."""
        members = self.contents.labels.members(y)
        p = self.predict_proba(X)
        same_length(p, members)
        if self.contents.labels.exclusive:
            return float((p.argmax(axis=1) == members.argmax(axis=1)).mean())
        return float(((p >= 0.5) == (members > 0)).all(axis=1).mean())

    def _logits(self, texts: Texts) -> Float:
        """Return logits (n, columns of the model)."""
        features, threads = self.contents.features, thread_count(self.threads)
        dense, sparse = features.dense(texts, threads), features.sparse(texts, threads)
        return self.contents.model.logits(dense, sparse)

    def _probabilities(self, logits: Float) -> Float:
        # A single column is evaluated in both directions, so that the probabilities of two classes add up to 1.
        labels = self.contents.labels
        return np.asarray(probabilities(labels.by_class(logits), labels.softmax))

    def _texts(self, X: Any) -> Texts:
        texts, paired = Texts.parse(X), self.contents.features.paired
        if len(texts) and texts.paired != paired:
            raise InputError(
                "this classifier was trained on pairs of texts: give (left, right)"
                if paired
                else "this classifier was trained on single texts, and pairs were given"
            )
        return texts if len(texts) else Texts(([],) * (1 + paired))

    # Explaining

    def explain(self, text: str | Sequence[str]) -> Decision:
        """Explain the class of a text or a pair: shares of words and n-grams that add up exactly to each logit."""
        if not isinstance(text, str) and not (isinstance(text, (tuple, list)) and len(text) == 2):
            raise InputError(f"a text or a pair of texts is expected, not {short_repr(text)}")
        texts = self._texts([text if isinstance(text, str) else tuple(text)])
        logits, threads = self._logits(texts), thread_count(self.threads)
        return explain_text(self.contents, texts, logits, self._probabilities(logits), threads)

    def top_ngrams(self, n: int = 20) -> dict[Any, list[tuple[str, float]]]:
        """Return the n words and n-grams that add most to the logit of each class as a text of their own."""
        return strongest_ngrams(self.contents, whole(n, "n", 1), thread_count(self.threads))

    # Saving

    def save(self, path: str | PathLike[str]) -> None:
        """Write a folder that `noppa.load_classifier` reads; an embedded model is stored by name."""
        storage.write(path, self.contents)

    def push_to_hub(
        self,
        repo_id: str,
        *,
        revision: str | None = None,
        private: bool | None = None,
        token: str | None = None,
        message: str | None = None,
        license: str | None = None,
        figures: Mapping[str, float] | None = None,
    ) -> str:
        """Save to a repository of the Hugging Face Hub, see `Encoder.push_to_hub`; right after `fit` the card has the accuracy."""
        features, results = self.contents.features, {}
        encoder = features.encoder
        facts = {
            "classes": ", ".join(map(str, self.classes_.tolist())),
            "rows trained on": f"{self.contents.rows:,}",
            "vectors": "none" if encoder is None else repr(encoder),
            "n-grams": "none" if features.ngrams is None else f"{len(features.ngrams):,}",
        }
        if "training_" in self.__dict__:
            report = self.report(0)
            results = {
                "accuracy on held-out rows": report.accuracy,
                "standard error over folds": report.error,
                "calibration error": report.calibration_error,
            }
        card = hub.model_card(
            repo_id,
            task="text-classification",
            summary=f"A text classifier with {len(self.contents.labels.classes)} classes that explains its decisions.",
            usage=f'import noppa\nlabels = noppa.load_classifier("hf:{repo_id}").predict(["the first text"])',
            facts=facts,
            license=license or (None if encoder is None else embedded.license_of(encoder.words)),
            figures={**results, **(figures or {})},
        )
        return hub.push(repo_id, self.save, card, revision, private, token, message)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the training rows: a copy in another process only predicts."""
        return {name: value for name, value in self.__dict__.items() if name != "training_"}

    # scikit-learn's conventions, without scikit-learn

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **parameters: Any) -> Classifier:
        """Change parameters by name; return self."""
        known = self.get_params()
        for name, value in parameters.items():
            if name not in known:
                raise ParameterError(
                    f"Classifier has no parameter {name!r}", f"choose from {', '.join(known)}"
                )
            setattr(self, name, value)
        return self

    def __sklearn_clone__(self) -> Classifier:
        """Share the encoder with the copy: nothing changes it, and its words may be large."""
        return type(self)(**self.get_params())

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(multi_label=True),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True),
        )


def load_classifier(
    path: str | PathLike[str],
    tokenizer: Split | Tokenizer | str | None = None,
    verify: bool = False,
    refresh: bool = False,
) -> Classifier:
    """Load a classifier that `Classifier.save` or `noppa train` wrote.

    Args:
        path: Its folder, or `hf:owner/name@revision` on the Hugging Face Hub.
        tokenizer: The tokenizer of its encoder, if that was saved with a custom one.
        verify: Compare the checksums of large files too, which reads them completely.
        refresh: Ask the hub again which commit a branch or tag refers to.
    """
    verified = EVERY_BYTE if verify else VERIFIED_BYTES
    contents = storage.read(hub.locate(path, refresh), tokenizer, verified)
    return Classifier._from_contents(contents)

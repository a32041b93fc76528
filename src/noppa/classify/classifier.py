"""`Classifier`: labelled texts in, a small model out that predicts and explains itself."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.classify import classifier_folder, linear_fit
from noppa.classify.classifier_folder import Contents
from noppa.classify.decision import Decision, NgramShare, Side, shares_of
from noppa.classify.features import Texts
from noppa.classify.inspecting import Neighbour, Neighbours, strongest
from noppa.classify.learning import learn, same_length
from noppa.classify.training_report import SUSPICIOUS, TrainingReport, report_of
from noppa.classify.zero_shot import contents_of
from noppa.encoder import embedded
from noppa.errors import InputError, NotFittedError, ParameterError
from noppa.io import hub, storage
from noppa.parameters import short_repr, whole
from noppa.text.tokenizer import Split, Tokenizer
from noppa.threads import thread_count

Float = NDArray[np.float64]


class Classifier:
    """Labels for texts: logistic regression on an encoder's vectors beside TF-IDF n-grams.

    model: an `Encoder`, the name of a preset or a saved folder; the embedded model where None, no vectors where False.
    ngrams: the shortest and the longest n-gram in words; None for none.
    l2_vectors, l2_ngrams: strengths of regularization; those that are None are chosen by `folds` folds.
    keep_texts: save the training texts with the model, so that `nearest` can name them.
    seed: of the folds. threads: for encoding and training; predictions do not depend on them.

    >>> import noppa
    >>> texts = ["a fine film", "a lovely story", "dull and long", "a boring mess"] * 3
    >>> model = noppa.Classifier().fit(texts, ["good", "good", "bad", "bad"] * 3)
    >>> model.predict(["what a lovely film"]).tolist()
    ['good']
    """

    _estimator_type = "classifier"

    def __init__(
        self,
        model: Any = None,
        ngrams: tuple[int, int] | None = (1, 2),
        l2_vectors: float | None = None,
        l2_ngrams: float | None = None,
        folds: int = 5,
        keep_texts: bool = False,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        # As scikit-learn has it: nothing is checked or changed here, so that a clone has the same parameters.
        self.model = model
        self.ngrams = ngrams
        self.l2_vectors = l2_vectors
        self.l2_ngrams = l2_ngrams
        self.folds = folds
        self.keep_texts = keep_texts
        self.seed = seed
        self.threads = threads

    def __repr__(self) -> str:
        given = ", ".join(
            f"{name}={getattr(self, name)!r}"
            for name, parameter in inspect.signature(type(self)).parameters.items()
            if getattr(self, name) is not parameter.default
            and getattr(self, name) != parameter.default
        )
        return f"Classifier({given})"

    @property
    def _facts(self) -> dict[str, str]:
        """What a fitted classifier is, by name."""
        features = self.contents.features
        return {
            "classes": ", ".join(map(str, self.classes_.tolist())),
            "rows trained on": f"{self.contents.rows:,}",
            "vectors": "none" if features.encoder is None else repr(features.encoder),
            "n-grams": "none" if features.ngrams is None else f"{len(features.ngrams):,}",
        }

    # Learning

    def fit(self, X: Any, y: Any, dev: tuple[Any, Any] | None = None) -> Classifier:
        """Learn from texts and their labels; returns self.

        X: texts, or pairs of texts: `(left, right)`. y: a label a row; or several, as lists of labels or a table of 0 and 1.
        dev: texts and labels that choose the strengths in place of folds, and are not trained on.
        """
        contents, self.training_ = learn(self.get_params(), X, y, dev)
        self._set(contents)
        return self

    @classmethod
    def zero_shot(cls, labels: Any, model: Any = None) -> Classifier:
        """A classifier without training rows: a text gets the label whose name or description is nearest by cosine.

        labels: names, or a mapping from each to a description, or to a list of example texts. model: for cosines; the preset
        "similarity" where None. Probabilities are rough: nothing calibrates them.
        """
        return cls._of(contents_of(labels, model))

    @classmethod
    def _of(cls, contents: Contents) -> Classifier:
        known, encoder = contents.features.ngrams, contents.features.encoder
        made = cls(
            False if encoder is None else encoder,
            None if known is None else (known.shortest, known.longest),
            keep_texts=contents.texts is not None,
        )
        made._set(contents)
        return made

    def name_columns(self, columns: Sequence[str]) -> None:
        """Remember the text columns of the table that this was trained from: those of a table to predict are called alike."""
        self._fitted = self.contents._replace(text_columns=tuple(columns))

    def _set(self, contents: Contents) -> None:
        self._fitted = contents
        self._neighbours: Neighbours | None = None

    def report(
        self,
        suspicious: int = SUSPICIOUS,
        audit: bool = False,
        numbers: Sequence[int] | None = None,
    ) -> TrainingReport:
        """How good the model is on rows that it was not trained on, right after `fit`; a loaded model has no rows to tell of.

        suspicious: how many doubtful labels to list. audit: also find near-duplicates with different labels.
        numbers: of the rows, as the report shows them; from 0 on where None.
        """
        if "training_" not in self.__dict__:
            raise NotFittedError(
                "a report is made right after fit, whose rows it is about: call fit first"
            )
        training = replace(self.training_, numbers=numbers)
        return report_of(training, whole(suspicious, "suspicious"), audit)

    @property
    def contents(self) -> Contents:
        """All that was learnt."""
        if "_fitted" not in self.__dict__:
            raise NotFittedError(
                "this Classifier has learnt nothing yet: call fit(texts, labels) first"
            )
        return self._fitted

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, sorted; the columns of `predict_proba`."""
        return self.contents.labels.classes

    @property
    def encoder_(self) -> Any:
        """The encoder in use, None without vectors."""
        return self.contents.features.encoder

    @property
    def l2_(self) -> tuple[float, float]:
        """The strengths in use, on vectors and on n-grams."""
        first, second = self.contents.facts["l2"]
        return first, second

    # Predicting

    def predict(self, X: Any) -> NDArray[Any]:
        """A label a row; of several labels those above one half, as they came to `fit`."""
        return self.labels_of(self.predict_proba(X))

    def labels_of(self, probabilities: Float) -> NDArray[Any]:
        """The labels that `predict` gives for probabilities (n, classes)."""
        labels = self.contents.labels
        if labels.exclusive:
            return np.asarray(labels.classes[probabilities.argmax(axis=1)])
        return labels.of_members(probabilities >= 0.5)

    def predict_proba(self, X: Any) -> Float:
        """Calibrated probabilities (n, classes); of several labels each by itself, else adding up to 1."""
        return self._probabilities(self._logits(X))

    def decision_function(self, X: Any) -> Float:
        """Logits (n, classes), for two classes (n,), of the second one, as scikit-learn has it."""
        logits = self._logits(X)
        return logits[:, 0] if logits.shape[1] < len(self.classes_) else logits

    def score(self, X: Any, y: Any) -> float:
        """The share of rows whose label, or all labels, are right."""
        members = self.contents.labels.members(y)
        p = self.predict_proba(X)
        same_length(p, members)
        if self.contents.labels.exclusive:
            return float((p.argmax(axis=1) == members.argmax(axis=1)).mean())
        return float(((p >= 0.5) == (members > 0)).all(axis=1).mean())

    def _logits(self, X: Any) -> Float:
        """(n, columns of the model)"""
        texts = self._texts(X)
        threads = thread_count(self.threads)
        features = self.contents.features
        return self.contents.model.logits(
            features.dense(texts, threads), features.sparse(texts, threads)
        )

    def _probabilities(self, logits: Float) -> Float:
        labels = self.contents.labels
        if labels.softmax:
            return np.asarray(linear_fit.probabilities(logits, softmax=True))
        # Both directions of a single column, so that the probabilities of two classes add up to 1.
        return np.asarray(linear_fit.probabilities(labels.by_class(logits), softmax=False))

    def _texts(self, X: Any) -> Texts:
        texts, paired = Texts.of(X), self.contents.features.paired
        if len(texts) and texts.paired != paired:
            raise InputError(
                "this classifier was trained on pairs of texts: give (left, right)"
                if paired
                else "this classifier was trained on single texts, and pairs were given"
            )
        return texts if len(texts) else Texts(([],) * (1 + paired))

    # Seeing inside

    def explain(self, text: Any) -> Decision:
        """Why a text, or a pair `(left, right)`, gets its class: shares of words and n-grams that add up to each logit."""
        texts = self._texts(_one(text))
        state, threads = self.contents, thread_count(self.threads)
        shares = shares_of(texts, state.features, state.model, threads)
        logits = self._logits(_one(text))
        both = state.labels.by_class
        return Decision(
            classes=tuple(state.labels.classes.tolist()),
            sides=tuple(Side(one.text, one.tokens, both(one.shares)) for one in shares.sides),
            ngrams=tuple(
                NgramShare(one.name, both(one.shares), one.places) for one in shares.ngrams
            ),
            rest={name: both(values) for name, values in shares.rest.items()},
            logits=both(logits)[0],
            probabilities=self._probabilities(logits)[0],
        )

    def top_ngrams(self, n: int = 20) -> dict[Any, list[tuple[str, float]]]:
        """The words and n-grams that speak most for each class: what each gives to the logit when it stands alone."""
        return strongest(self.contents, whole(n, "n", 1), thread_count(self.threads))

    def nearest(self, text: Any, n: int = 5) -> list[Neighbour]:
        """The training rows nearest to a text by the cosine of their vectors; needs `keep_texts`."""
        threads = thread_count(self.threads)
        if self._neighbours is None:
            self._neighbours = Neighbours(self.contents, threads)
        return self._neighbours.nearest(self._texts(_one(text)), whole(n, "n", 1), threads)

    # Files

    def save(self, path: str | PathLike[str]) -> None:
        """Write a folder that `noppa.load_classifier` reads: no pickle, with checksums; the embedded words are only named."""
        classifier_folder.write(path, self.contents)

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
        """Save to a repository of the Hugging Face Hub: see `Encoder.push_to_hub`; right after `fit`, the accuracy stands in the card."""
        encoder = self.contents.features.encoder
        results = {}
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
            facts=self._facts,
            license=license or (None if encoder is None else embedded.license_of(encoder.words)),
            figures={**results, **(figures or {})},
        )
        return hub.push(repo_id, self.save, card, revision, private, token, message)

    def __getstate__(self) -> dict[str, Any]:
        """A copy in another process predicts; the rows that a report is made of stay here."""
        state = {**self.__dict__, "_neighbours": None}
        state.pop("training_", None)
        return state

    # scikit-learn's conventions, without scikit-learn

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor, by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **parameters: Any) -> Classifier:
        """Change parameters by name; returns self."""
        known = self.get_params()
        for name, value in parameters.items():
            if name not in known:
                raise ParameterError(
                    f"Classifier has no parameter {name!r}: it has {', '.join(known)}"
                )
            setattr(self, name, value)
        return self

    def __sklearn_clone__(self) -> Classifier:
        """A copy with the same encoder: nothing here changes one, and its words may be large."""
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
    """A classifier that `Classifier.save` or `noppa train` wrote, from its folder or from the hub, `hf:owner/name@revision`.

    tokenizer: that of its encoder, where it was saved with one of its own. verify: compare the checksums of large files too.
    refresh: ask the hub again which commit a branch or a tag is.
    """
    verified = storage.EVERY_BYTE if verify else storage.VERIFIED_BYTES
    contents = classifier_folder.read(hub.locate(path, refresh), tokenizer, verified)
    return Classifier._of(contents)


def _one(text: Any) -> list[Any]:
    """A text, or a pair, as a collection of one."""
    if not isinstance(text, str) and not (isinstance(text, (tuple, list)) and len(text) == 2):
        raise InputError(f"a text or a pair of texts is expected, not {short_repr(text)}")
    return [text if isinstance(text, str) else tuple(text)]

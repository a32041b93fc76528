"""From labelled texts to a fitted model: features, folds, the choice of strengths, and the model of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.classify import choosing, linear_fit, ngrams
from noppa.classify.choosing import Choice
from noppa.classify.classifier_folder import LONGEST, Contents
from noppa.classify.features import Features, Texts
from noppa.classify.folds import stratified_folds
from noppa.classify.labels import Labels
from noppa.classify.linear_fit import Axes, Design, Folds
from noppa.classify.linear_model import LinearModel
from noppa.classify.memory import require_memory
from noppa.display import dataclass_repr
from noppa.encoder import embedded
from noppa.encoder.models import resolve_model
from noppa.errors import InputError, ParameterError
from noppa.parameters import boolean, optional, positive, seed_number, short_repr, whole
from noppa.threads import thread_count

Members = NDArray[np.float32]
Index = NDArray[np.int64]

#: Weights of n-grams that a model holds at most: 6 MB.
MOST_WEIGHTS = 1_500_000
MOST_NGRAMS = 100_000
#: From this many rows on, an n-gram counts when two of them have it.
ROWS_FOR_REPEATED = 1000
#: Copies of the dense columns that are in memory at once: as encoded, standardized, rotated, and side by side.
COPIES = 4


@dataclass(frozen=True)
class Settings:
    """The parameters of a `Classifier`, checked."""

    encoder: Any
    lengths: tuple[int, int] | None
    l2: tuple[float | None, float | None]
    folds: int
    keep_texts: bool
    seed: int
    threads: int

    @classmethod
    def of(cls, parameters: dict[str, Any]) -> Settings:
        given = parameters["model"]
        encoder, lengths = (
            None if given is False else resolve_model(given, embedded.DEFAULT),
            _lengths(parameters["ngrams"]),
        )
        if encoder is None and lengths is None:
            raise ParameterError(
                "without vectors and without n-grams there is nothing to learn from"
            )
        strength = optional(positive)
        first, second = (strength(parameters[name], name) for name in ("l2_vectors", "l2_ngrams"))
        return cls(
            encoder,
            lengths,
            (first, second),
            whole(parameters["folds"], "folds", 2, 100),
            boolean(parameters["keep_texts"], "keep_texts"),
            seed_number(parameters["seed"], "seed") % (1 << 32),
            thread_count(parameters["threads"]),
        )


@dataclass(frozen=True, eq=False)
class Training:
    """What a fit saw and chose, for reports: texts, classes of each row (n, classes), and the choice of strengths.

    train (n,): the rows that were trained on; the others are development rows.
    """

    __repr__ = dataclass_repr

    texts: Texts
    labels: Labels
    members: Members
    train: NDArray[np.bool_]
    design: Design
    choice: Choice
    numbers: Sequence[int] | None = None
    """How reports number the rows; from 0 on where None."""

    def number(self, row: int) -> int:
        return row if self.numbers is None else self.numbers[row]


def learn(
    parameters: dict[str, Any], X: Any, y: Any, dev: tuple[Any, Any] | None
) -> tuple[Contents, Training]:
    """A fitted model, and what a report wants to know."""
    settings = Settings.of(parameters)
    texts, (labels, members) = Texts.of(X), Labels.of(y)
    same_length(texts, members)
    labels.check(members)
    if not any(text.strip() for text in texts.flat):
        raise InputError("every text is empty: give texts with words")
    features = _features(settings, texts, labels)
    train = np.ones(len(texts), bool)
    if dev is None:
        held_out = _held_out(settings, labels.strata(members))
    else:
        more, more_members = Texts.of(dev[0]), labels.members(dev[1])
        same_length(more, more_members)
        held_out = [np.arange(len(texts), len(texts) + len(more))]
        train = np.append(train, np.zeros(len(more), bool))
        texts = Texts(tuple(a + b for a, b in zip(texts.sides, more.sides, strict=True)))
        members = np.concatenate([members, more_members])
    design = _design(settings, texts, features, labels, members)
    choice = choosing.choose(design, held_out, train, settings.l2)
    model = _model(design, choice, train)
    facts = {"l2": list(choice.l2), "temperature": choice.temperature}
    kept = (texts.take(np.flatnonzero(train)).sides, members[train]) if settings.keep_texts else ()
    contents = Contents(features, labels, model, int(train.sum()), facts, *kept)
    return contents, Training(texts, labels, members, train, design, choice)


def _features(settings: Settings, texts: Texts, labels: Labels) -> Features:
    known = None
    if settings.lengths is not None:
        columns = labels.columns(np.zeros((1, len(labels.classes)), np.float32)).shape[1]
        known = ngrams.learn(
            texts.flat,
            getattr(settings.encoder, "other_split", None),
            settings.lengths,
            2 if len(texts) >= ROWS_FOR_REPEATED else 1,
            min(MOST_NGRAMS, MOST_WEIGHTS // (columns * len(texts.sides))),
        )
    return Features(settings.encoder, known, texts.paired)


def _held_out(settings: Settings, strata: Index) -> list[Index]:
    """The rows of each fold; a class of few rows is in some of the folds."""
    folds = min(settings.folds, int(np.bincount(strata).max()))
    return [rows for _, rows in stratified_folds(strata, folds, settings.seed)]


def _design(
    settings: Settings, texts: Texts, features: Features, labels: Labels, members: Members
) -> Design:
    width = 0 if features.encoder is None else features.encoder.dim * len(texts.sides)
    require_memory(
        4 * COPIES * len(texts) * width,
        f"training on {len(texts):,} rows of {width} numbers",
        "train on fewer rows, or with model=False on n-grams alone",
    )
    blocks = [Axes.of(block) for block in features.dense(texts, settings.threads)]
    sparse = features.sparse(texts, settings.threads)
    return Design(blocks, sparse, labels.columns(members), labels.softmax, settings.threads)


def _model(design: Design, choice: Choice, train: NDArray[np.bool_]) -> LinearModel:
    """Fitted on all training rows, and divided by the temperature, so that shares add up to calibrated logits."""
    folds = Folds.of(design, train[None].astype(np.float32))
    one = np.zeros(1, np.int64)
    weights = linear_fit.fit(
        design, folds, one, np.array([choice.l2]), choice.start[None]
    ).weights()
    return LinearModel(
        (weights.dense[0] / choice.temperature).astype(np.float32),
        (weights.ngrams[0] / choice.temperature).astype(np.float32),
        weights.biases[0] / choice.temperature,
    )


def _lengths(given: Any) -> tuple[int, int] | None:
    if given is None:
        return None
    try:
        shortest, longest = given
    except (TypeError, ValueError):
        raise ParameterError(
            f"ngrams are two numbers, such as (1, 2), or None, not {short_repr(given)}"
        ) from None
    checked = whole(shortest, "ngrams", 1, LONGEST), whole(longest, "ngrams", 1, LONGEST)
    if checked[0] > checked[1]:
        raise ParameterError(f"ngrams go from the shortest to the longest, not {short_repr(given)}")
    return checked


def same_length(texts: Any, members: Any) -> None:
    """Refuse texts and labels of different numbers."""
    if len(texts) != len(members):
        raise InputError(f"{len(texts)} texts need as many labels, and there are {len(members)}")

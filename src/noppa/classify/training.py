"""From labelled texts to a fitted classifier: features, folds, the choice of penalties, and the model of all rows.

Penalties are chosen by climbing over a grid, on held-out rows. The out-of-fold logits that are kept for a report are honest:
those of a fold come from the penalties that the other folds prefer, so that no row influences the choice it is scored with.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa.classify import logistic
from noppa.classify.features import Features, Texts, learn_ngrams
from noppa.classify.labels import Labels, require_memory, same_length, stratified_folds
from noppa.classify.logistic import Axes, Design, LinearModel, fit_temperature, row_losses
from noppa.classify.storage import LONGEST, Contents
from noppa.display import dataclass_repr
from noppa.encoder import embedded
from noppa.encoder.models import Model, resolve_model
from noppa.errors import InputError, NoppaWarning, ParameterError
from noppa.parameters import optional, positive, seed_number, short_repr, whole
from noppa.threads import thread_count
from noppa.words.texts import texts_of

Float = NDArray[np.float64]
Members = NDArray[np.float32]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: The most weights of n-grams in a model (6 MB), and the most n-grams.
MOST_WEIGHTS, MOST_NGRAMS = 1_500_000, 100_000
#: From this many rows, an n-gram needs two of them to count.
ROWS_FOR_REPEATED = 1000
#: Copies of the dense columns in memory at once: as encoded, standardized, rotated, and side by side.
COPIES = 4
#: The grid of penalties of vectors and of n-grams, each as part of the mean loss.
VECTORS, NGRAMS = 0, 1
GRIDS = (
    (3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0),
    (3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
)
#: Where the climb begins; the penalty of n-grams is for the summed loss, since the best one hardly depends on the number of rows.
START_VECTORS, START_NGRAMS = 1e-1, 0.25
#: The climb moves to a neighbour that is better by this many standard errors over the folds: with few rows most differences
#: are random.
STANDARD_ERRORS = 1.0
#: Zero-shot: how much a cosine of 1 adds to a logit.
ZERO_SHOT_SCALE = 20.0


def _checked_lengths(ngrams: Any) -> tuple[int, int] | None:
    if ngrams is None:
        return None
    try:
        shortest, longest = (whole(length, "ngrams", 1, LONGEST) for length in ngrams)
    except (TypeError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            f"ngrams must be two numbers, such as (1, 2), or None, not {short_repr(ngrams)}"
        ) from None
    if shortest > longest:
        raise ParameterError(f"ngrams must be (shortest, longest), not {short_repr(ngrams)}")
    return shortest, longest


class Trial(NamedTuple):
    """One pair of penalties: the logits of every row by the model that was not trained on it (n, columns), and the mean loss
    of each fold at the best temperature.
    """

    l2: tuple[float, float]
    logits: Float
    losses: Float


@dataclass(frozen=True, eq=False)
class Choice:
    """The chosen penalties and temperature, and the honest out-of-fold logits (n, columns); NaN for rows never held out.

    fold_of (n,): the fold that held out a row, -1 for none. start (parameters,): a point near the model of all rows.
    """

    l2: tuple[float, float]
    temperature: float
    logits: Float
    fold_of: Rows
    start: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Training:
    """What a fit saw and chose, for reports.

    members (n, classes): the classes of each row. train (n,): the rows that were trained on; the others are development rows.
    numbers: how reports number the rows; None for 0, 1, ….
    """

    __repr__ = dataclass_repr

    texts: Texts
    labels: Labels
    members: Members
    train: Mask
    design: Design
    choice: Choice
    numbers: Sequence[int] | None = None

    def number(self, row: int) -> int:
        """Return the number of a row in reports."""
        return row if self.numbers is None else self.numbers[row]


# Learning


def learn(
    parameters: Mapping[str, Any], X: Any, y: Any, dev: tuple[Any, Any] | None
) -> tuple[Contents, Training]:
    """Fit a model; return it, and what a report needs."""
    encoder = None
    if parameters["model"] is not False:
        encoder = resolve_model(parameters["model"], embedded.DEFAULT)
    lengths, penalty = _checked_lengths(parameters["ngrams"]), optional(positive)
    if encoder is None and lengths is None:
        raise ParameterError("without vectors and n-grams there is nothing to learn from")
    l2 = (
        penalty(parameters["l2_vectors"], "l2_vectors"),
        penalty(parameters["l2_ngrams"], "l2_ngrams"),
    )
    folds = whole(parameters["folds"], "folds", 2, 100)
    seed = seed_number(parameters["seed"], "seed") % (1 << 32)
    threads = thread_count(parameters["threads"])
    texts, (labels, members) = Texts.parse(X), Labels.parse(y)
    same_length(texts, members)
    labels.check(members)
    if not any(text.strip() for text in texts.flat):
        raise InputError("every text is empty", "give texts with words")
    ngrams = None
    if lengths is not None:
        least = 2 if len(texts) >= ROWS_FOR_REPEATED else 1
        most = min(MOST_NGRAMS, MOST_WEIGHTS // (labels.columns * len(texts.sides)))
        tokenizer = getattr(encoder, "other_split", None)
        ngrams = learn_ngrams(texts.flat, tokenizer, lengths, least, most)
    features = Features(encoder, ngrams, texts.paired)
    train = np.ones(len(texts), bool)
    if dev is None:
        strata = labels.strata(members)
        # A class with fewer rows than folds is in some of the folds only.
        folds = min(folds, int(np.bincount(strata).max()))
        held_out = [rows for _, rows in stratified_folds(strata, folds, seed)]
    else:
        more, more_members = Texts.parse(dev[0]), labels.members(dev[1])
        same_length(more, more_members)
        held_out = [np.arange(len(texts), len(texts) + len(more))]
        train = np.append(train, np.zeros(len(more), bool))
        texts = Texts(tuple(a + b for a, b in zip(texts.sides, more.sides, strict=True)))
        members = np.concatenate([members, more_members])
    require_memory(
        4 * COPIES * len(texts) * features.dim,
        f"training on {len(texts):,} rows of {features.dim} numbers",
        "train on fewer rows, or with model=False on n-grams alone",
    )
    blocks = [Axes.from_columns(block) for block in features.dense(texts, threads)]
    sparse = features.sparse(texts, threads)
    design = Design(blocks, sparse, labels.targets(members), labels.softmax, threads)
    choice = choose_penalties(design, held_out, train, l2)
    all_rows = design.folds(train[None].astype(np.float32))
    models = logistic.fit(
        design, all_rows, np.zeros(1, np.int64), np.array([choice.l2]), choice.start[None]
    )
    # Divided by the temperature, so that the shares of an explanation add up to calibrated logits.
    model = models.first(choice.temperature)
    facts = {"l2": list(choice.l2), "temperature": choice.temperature}
    contents = Contents(features, labels, model, int(train.sum()), facts)
    return contents, Training(texts, labels, members, train, design, choice)


def choose_penalties(
    design: Design,
    held_out: Sequence[Rows],
    train: Mask,
    fixed: tuple[float | None, float | None],
) -> Choice:
    """Choose the penalties that `fixed` leaves open.

    Climbs along the penalties of the n-grams, then along those of the vectors, each until neither neighbour is better.

    held_out: the rows of each fold. train (n,): the rows that may be trained on.
    """
    fold_of, count = np.full(len(design.targets), -1), len(held_out)
    for fold, rows in enumerate(held_out):
        fold_of[rows] = fold
    weights = np.stack([train & (fold_of != fold) for fold in range(count)])
    folds = design.folds(weights.astype(np.float32))
    widths = (len(design.variances) - 1, design.ngrams.width)
    axes = [axis for axis in (NGRAMS, VECTORS) if fixed[axis] is None and widths[axis]]
    grids = [
        GRIDS[axis] if axis in axes else (fixed[axis] or START_VECTORS,)
        for axis in (VECTORS, NGRAMS)
    ]
    starts = (START_VECTORS, START_NGRAMS / float(folds.weights[0].sum()))
    vectors, ngrams = (
        int(np.abs(np.log(np.array(grid) / start)).argmin())
        for grid, start in zip(grids, starts, strict=True)
    )
    place = (vectors, ngrams)
    trials: dict[tuple[int, int], Trial] = {}
    #: The solutions of every fold for some penalties, to start others from, (folds, parameters).
    points: NDArray[np.float32] | None = None

    def neighbours(axis: int, *steps: int) -> list[tuple[int, int]]:
        last = len(grids[axis]) - 1
        moved = [min(max(place[axis] + step, 0), last) for step in steps]
        return [(place[0], index) if axis else (index, place[1]) for index in moved]

    def fit(places: Sequence[tuple[int, int]]) -> None:
        """Fit every fold at the places of the grid that were not tried yet."""
        nonlocal points
        new = [other for other in dict.fromkeys(places) if other not in trials]
        if not new:
            return
        l2 = np.array([[grids[axis][other[axis]] for axis in (0, 1)] for other in new])
        start = None if points is None else np.tile(points, (len(new), 1))
        numbers = np.tile(np.arange(count), len(new))
        models = logistic.fit(design, folds, numbers, np.repeat(l2, count, axis=0), start)
        points = models.points[:count]
        logits = models.logits().reshape(len(new), count, len(fold_of), -1)
        for number, other in enumerate(new):
            trials[other] = _trial(design, fold_of, l2[number], logits[number])

    fit([*neighbours(0, -1, 0, 1), *neighbours(1, -1, 0, 1)])
    for axis in axes:
        while True:
            around = neighbours(axis, -1, 1)
            fit(around)
            better = min(around, key=lambda other: trials[other].losses.mean())
            gains = trials[place].losses - trials[better].losses
            # A single fold says nothing about chance.
            error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
            if not gains.mean() > STANDARD_ERRORS * error:
                break
            place = better
    logits = np.full(design.targets.shape, np.nan)
    for fold, rows in enumerate(held_out):
        others = [other for other in range(count) if other != fold] or [fold]
        best = min(trials.values(), key=lambda trial: trial.losses[others].mean())
        logits[rows] = best.logits[rows]
    held = fold_of >= 0
    temperature = fit_temperature(logits[held], design.targets[held], design.softmax)
    assert points is not None
    return Choice(trials[place].l2, temperature, logits, fold_of, points.mean(axis=0))


def _trial(design: Design, fold_of: Rows, l2: Float, logits: NDArray[np.float32]) -> Trial:
    """Score the logits (folds, n, columns) of the models of one pair of penalties."""
    held = np.flatnonzero(fold_of >= 0)
    folds = fold_of[held]
    out_of_fold = logits[folds, held].astype(np.float64)
    targets = design.targets[held]
    temperature = fit_temperature(out_of_fold, targets, design.softmax)
    losses = row_losses(out_of_fold / temperature, targets, design.softmax)
    every = np.full(design.targets.shape, np.nan)
    every[held] = out_of_fold
    means = np.bincount(folds, losses) / np.bincount(folds)
    return Trial((float(l2[0]), float(l2[1])), every, means)


# Without training rows


def zero_shot_contents(
    labels: Iterable[str] | Mapping[Any, str | Iterable[str]], model: Model | None
) -> Contents:
    """Return a model whose logits are cosines with the vectors of labels, times `ZERO_SHOT_SCALE`.

    labels: names, or a mapping from each name to one or several descriptions, whose mean vector is used.
    """
    if isinstance(labels, str):
        raise InputError("a single label was given", "give a list of labels")
    descriptions = dict(labels) if isinstance(labels, Mapping) else {name: name for name in labels}
    if len(descriptions) < 2:
        raise ParameterError(f"there must be at least two labels, not {len(descriptions)}")
    classes, _ = Labels.parse([name for name in descriptions for _ in range(2)])
    encoder = resolve_model(model)
    rows = [
        ZERO_SHOT_SCALE * _direction(encoder, name, descriptions[name])
        for name in classes.classes.tolist()
    ]
    weights = np.array(rows).T
    if len(rows) == 2:  # one column: the second class against the first
        weights = weights[:, 1:] - weights[:, :1]
    columns = weights.shape[1]
    linear = LinearModel(
        weights.astype(np.float32), np.zeros((0, columns), np.float32), np.zeros(columns)
    )
    facts = {"zero_shot": {str(name): descriptions[name] for name in descriptions}}
    return Contents(Features(encoder, None, paired=False, unit=True), classes, linear, 0, facts)


def _direction(encoder: Any, name: Any, description: Any) -> Float:
    """Return the mean vector of a label's descriptions, of length one."""
    texts = texts_of([description] if isinstance(description, str) else description)
    with warnings.catch_warnings():  # a label without a known word is an error below
        warnings.simplefilter("ignore", NoppaWarning)
        mean = encoder.encode(texts, normalize=True).astype(np.float64).mean(axis=0)
    length = float(np.linalg.norm(mean))
    if not length:
        raise ParameterError(f"no word of the label {name!r} is known", "describe it differently")
    return np.asarray(mean / length)

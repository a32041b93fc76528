"""Score a candidate on a task: the rows it is fitted on, the rows that choose l2, and the rows that are scored.

The rule: an encoder is fitted on the texts of the training rows alone, anew for each outer fold. `transductive=True`
also fits on test texts, as the paper's program did; every result states it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noppa import _native as kernels
from noppa.classify.labels import stratified_folds
from noppa.classify.probe import OUTER_FOLDS, SEED, ProbeData, ProbeResult, timed
from noppa.classify.probe import probe as logistic
from noppa.constants import HIDDEN_STRIDE, HIDDEN_UNITS
from noppa.encoder.encoder import Encoder
from noppa.encoder.models import SupportsEncode
from noppa.errors import FileError, NoppaError
from noppa.methods import registry
from noppa.methods.method import Method
from noppa.paper.tasks import Row, Task
from noppa.parameters import one_of, short_repr, whole
from noppa.processes import Run
from noppa.refine import Refinement
from noppa.words.word_vectors import WordVectors

#: The names of the protocols: the probe that is trained on the vectors.
PROTOCOLS = ("fast", "senteval")
#: The range of NumPy's RandomState, which draws the folds.
seed_number = partial(whole, most=(1 << 32) - 1)

Array = NDArray[np.float32]
Float = NDArray[np.float64]
Index = NDArray[np.int64]
#: The rows to train on, and the rows that decide when to stop.
Stream = tuple[Index, Index]

#: SentEval's classifier.
L2 = (1e-5, 1e-4, 1e-3, 1e-2)
INNER_FOLDS = 10
HELD_OUT = 0.05
BATCH = 64
EPOCH_SIZE = 4
MAX_EPOCH = 200
TENACITY = 5

Parts = Mapping[str, Sequence[Row]]


class Candidate(Protocol):
    """One row of a table of results."""

    @property
    def name(self) -> str:
        """The name of its row."""

    @property
    def learns(self) -> bool:
        """Whether `fitted` uses its texts."""

    def to_dict(self) -> dict[str, Any]:
        """Return its parameters, ready for JSON."""

    def fitted(self, texts: Sequence[str]) -> SupportsEncode:
        """Return an encoder that has seen these texts and no others."""


@dataclass
class Recipe:
    """Word vectors and a method, fitted anew on each set of training texts."""

    words: WordVectors
    method: Method
    name: str
    refine: tuple[Refinement, ...] = ()

    @property
    def learns(self) -> bool:
        return bool(self.method.refinements() or self.refine or self.method.learns)

    def to_dict(self) -> dict[str, Any]:
        method = registry.to_dict(self.method)
        refine = [registry.to_dict(part) for part in self.refine]
        return {"method": method.pop("name"), **method, "refine": refine}

    def fitted(self, texts: Sequence[str]) -> SupportsEncode:
        encoder = Encoder(self.words, self.method, self.refine)
        return encoder.fit(texts) if self.learns else encoder


class Fixed:
    """A ready encoder, saved or external: never fitted, and each text is encoded once and cached."""

    learns = False

    def __init__(self, encoder: SupportsEncode, name: str) -> None:
        self.encoder = encoder
        self.name = name
        self._rows: dict[str, Array] = {}

    def to_dict(self) -> dict[str, Any]:
        return {"model": self.name}

    def fitted(self, texts: Sequence[str]) -> SupportsEncode:
        return self

    def encode(self, texts: Sequence[str]) -> Array:
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if new:
            self._rows |= zip(new, np.asarray(self.encoder.encode(new)), strict=True)
        return np.array([self._rows[text] for text in texts])


class Pretrained(Recipe):
    """A method that is trained once on its own corpus, when first needed, and then scored as it is."""

    learns = False

    def __init__(
        self, words: WordVectors, method: Method, corpus: Sequence[str], file: Any, name: str
    ) -> None:
        super().__init__(words, method, name)
        self.corpus, self.corpus_file = corpus, file

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"corpus": self.corpus_file}

    @cached_property
    def encoder(self) -> Encoder:
        return Encoder(self.words, self.method).fit(self.corpus)

    def fitted(self, texts: Sequence[str]) -> SupportsEncode:
        return self.encoder


class Encoded(Fixed):
    """Vectors made by another program: NAME.npy (texts, dim), and NAME.txt with one text per line."""

    def __init__(self, path: Path, file: dict[str, str]) -> None:
        super().__init__(self, path.stem)
        self.path, self.file = path, file

    def to_dict(self) -> dict[str, Any]:
        return {"model": self.name, "vectors": self.file}

    @cached_property
    def _vectors(self) -> dict[str, Array]:
        try:
            rows = np.load(self.path, mmap_mode="r")
            lines = self.path.with_suffix(".txt").read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise FileError(
                f"{self.path}, or its .txt with one text per line, cannot be read ({error})"
            ) from error
        texts = dict.fromkeys(lines.removesuffix("\n").split("\n"))
        if rows.ndim != 2 or len(rows) != len(texts):
            raise FileError(
                f"{self.path} has the shape {rows.shape} and its .txt {len(texts)} distinct texts: give one row per text"
            )
        return dict(zip(texts, rows, strict=True))

    def encode(self, texts: Sequence[str]) -> Array:
        try:
            return np.array([self._vectors[text] for text in texts], np.float32)
        except KeyError as error:
            raise NoppaError(
                f"{self.path} has no vector of {short_repr(error.args[0])}: encode the texts of every task that is scored"
            ) from None


@dataclass(frozen=True)
class PerFold:
    """A separate candidate for each outer fold, all of one kind."""

    folds: tuple[Candidate, ...]

    @property
    def name(self) -> str:
        return self.folds[0].name

    @property
    def learns(self) -> bool:
        return any(candidate.learns for candidate in self.folds)

    def to_dict(self) -> dict[str, Any]:
        """Return shared parameters as they are, the others as a list with one value per fold."""
        folds = [candidate.to_dict() for candidate in self.folds]
        values = {name: [fold[name] for fold in folds] for name in folds[0]}
        return {
            name: items[0] if all(item == items[0] for item in items) else items
            for name, items in values.items()
        }

    def fitted(self, texts: Sequence[str]) -> SupportsEncode:
        raise NoppaError(f"{self.name} has parameters for each fold: use one of its folds")


@dataclass(frozen=True)
class Outcome:
    """The score of a candidate on a task in percent, on test and on development rows, also of each outer fold.

    dev: None without development rows. cpu_seconds: of encoding and of the probes, over all processes.
    more: results of the protocol, such as the chosen l2.
    """

    score: float
    dev: float | None
    folds: list[float]
    dev_folds: list[float]
    cpu_seconds: float
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Split:
    """One outer fold, or the fixed split of a task that has no folds."""

    train: Sequence[Row]
    dev: Sequence[Row] | None
    test: Sequence[Row]

    def texts_to_fit(self, transductive: bool) -> list[str]:
        """Return the texts that an encoder may see before it is scored."""
        rows = [*self.train, *((*(self.dev or ()), *self.test) if transductive else ())]
        return [text for row in rows for text in row.texts]


def score(
    task: Task,
    parts: Parts,
    candidate: Candidate,
    protocol: str = "fast",
    *,
    seed: int = SEED,
    transductive: bool = False,
    run: Run = map,
) -> Outcome:
    """Score a candidate on a task.

    Args:
        parts: The rows of the task by name, as `read` returns them.
        protocol: The probe that is trained on the vectors, one of `PROTOCOLS`.
        seed: Of the folds and of the probe.
        transductive: Fit on the text of test rows too, as some published numbers do.
        run: A `map` function, such as that of a process pool.
    """
    one_of(protocol, "protocol", PROTOCOLS)
    seed = seed_number(seed, "seed")
    if task.layout == "similarity":
        return _similarity(parts, candidate, transductive)
    names = sorted({row.label for rows in parts.values() for row in rows}, key=str)
    codes = {name: code for code, name in enumerate(names)}
    splits = list(splits_of(task, parts, codes, seed))
    encoding_seconds: list[float] = []

    def probe_data() -> Iterator[ProbeData]:
        for fold, split in enumerate(splits):
            start = time.process_time()
            fold_candidate = candidate.folds[fold] if isinstance(candidate, PerFold) else candidate
            data = _probe_data(split, fold_candidate, codes, seed, transductive)
            encoding_seconds.append(time.process_time() - start)
            yield data

    probe = logistic if protocol == "fast" else senteval
    results = list(run(probe, probe_data()))
    cpu_seconds = sum(encoding_seconds) + sum(result.cpu_seconds for result in results)
    truths = [_codes(split.test, codes) for split in splits]
    accuracies = [
        100 * float((result.predicted == truth).mean())
        for result, truth in zip(results, truths, strict=True)
    ]
    dev = [100 * float(result.dev) for result in results]
    more: dict[str, Any] = {"l2": [result.l2 for result in results]}
    if task.name == "MRPC":
        predicted, truth = results[0].predicted, truths[0]
        hits = int((predicted & truth).sum())
        more["f1"] = 100 * (2 * hits / max(int(predicted.sum() + truth.sum()), 1))
    mean = float(np.mean(accuracies))
    return Outcome(mean, float(np.mean(dev)), accuracies, dev, cpu_seconds, more)


def splits_of(
    task: Task, parts: Parts, codes: Mapping[float | str, int], seed: int = SEED
) -> Iterator[Split]:
    """Yield the outer folds of a task, or its fixed split."""
    if task.layout != "folds":
        yield Split(parts["train"], parts.get("dev"), parts["test"])
        return
    rows = parts["all"]
    for train, test in stratified_folds(_codes(rows, codes), OUTER_FOLDS, seed):
        yield Split([rows[row] for row in train], None, [rows[row] for row in test])


def _probe_data(
    split: Split,
    candidate: Candidate,
    codes: Mapping[float | str, int],
    seed: int,
    transductive: bool,
) -> ProbeData:
    encoder = candidate.fitted(split.texts_to_fit(transductive))

    def coded(rows: Sequence[Row]) -> tuple[Array, Index]:
        return features(encoder, rows), _codes(rows, codes)

    train, test = coded(split.train), coded(split.test)
    dev = None if split.dev is None else coded(split.dev)
    return ProbeData(train, dev, test, len(codes), seed)


def features(encoder: SupportsEncode, rows: Sequence[Row]) -> Array:
    """Return the vector of each text; for pairs, |u - v| and u * v concatenated."""
    columns = [_encode(encoder, rows, column) for column in range(len(rows[0].texts))]
    if len(columns) == 1:
        return columns[0]
    left, right = columns
    return np.hstack([np.abs(left - right), left * right])


def _encode(encoder: SupportsEncode, rows: Sequence[Row], column: int) -> Array:
    return np.asarray(encoder.encode([row.texts[column] for row in rows]), np.float32)


def _codes(rows: Sequence[Row], codes: Mapping[float | str, int]) -> Index:
    return np.array([codes[row.label] for row in rows], np.int64)


def _similarity(parts: Parts, candidate: Candidate, transductive: bool) -> Outcome:
    """Score by Spearman's correlation of the cosines."""
    start = time.process_time()
    split = Split(parts["train"], parts["dev"], parts["test"])
    encoder = candidate.fitted(split.texts_to_fit(transductive))
    by_rank, linear = (100 * value for value in _correlations(encoder, parts["test"]))
    dev = 100 * _correlations(encoder, parts["dev"])[0]
    cpu_seconds = time.process_time() - start
    return Outcome(by_rank, dev, [by_rank], [dev], cpu_seconds, {"pearson": linear})


def _correlations(encoder: SupportsEncode, rows: Sequence[Row]) -> tuple[float, float]:
    """Return Spearman's and Pearson's correlation of the cosines with the human scores."""
    predicted = cosines(_encode(encoder, rows, 0), _encode(encoder, rows, 1))
    human = [float(row.label) for row in rows]
    return spearman(predicted, human), pearson(predicted, human)


# SentEval's classifier, which the paper uses: one hidden layer of sigmoids and a softmax, trained with Adam and early
# stopping (scikit-learn's MLPClassifier has no such stopping rule). SentEval gives every network the same seed: all start
# from the same weights, and those with equally many training rows shuffle them alike. The steps are native
# (`kernels.network_steps`), one network after the other: its parameters and Adam's moments then fit the second-level
# cache, which four networks side by side would not.


@timed
def senteval(data: ProbeData) -> ProbeResult:
    """Train SentEval's network; choose l2 on the development rows or by ten folds, as SentEval does."""
    (rows, labels), (test, _) = data.train, data.test
    count = len(rows)
    if data.dev is not None:
        # SentEval retrains the chosen network from the same seed on the same rows, which gives this one again.
        both = np.concatenate([rows, data.dev[0]])
        both_labels = np.concatenate([labels, data.dev[1]])
        stream = (np.arange(count), np.arange(count, len(both)))
        (final,) = train(both, both_labels, [stream], L2, data.classes, data.seed)
        best = int(final.accuracy.argmax())
        return ProbeResult(L2[best], final.accuracy[best], final.predict(test)[best])
    streams = stratified_folds(labels, INNER_FOLDS, data.seed)
    trained = train(rows, labels, streams, L2, data.classes, data.seed)
    accuracy = np.mean([networks.accuracy for networks in trained], axis=0)
    best = int(accuracy.round(4).argmax())
    order = np.random.RandomState(data.seed).permutation(count)
    held_out = int(HELD_OUT * count)
    stream = (order[held_out:], order[:held_out])
    chosen = L2[best : best + 1]
    (final,) = train(rows, labels, [stream], chosen, data.classes, data.seed, drawn=1)
    return ProbeResult(L2[best], accuracy[best], final.predict(test)[0])


@dataclass(frozen=True)
class Trained:
    """The best checkpoint for each l2: accuracy on the development rows (l2 values,), and parameters (l2 values, size)."""

    accuracy: Float
    parameters: Array
    classes: int

    def predict(self, rows: Array) -> Index:
        """Return the most probable class, (l2 values, n), for rows (n, dim)."""
        return np.array([_predict(flat, rows, self.classes) for flat in self.parameters])


def _predict(flat: Array, rows: Array, classes: int) -> Index:
    first, second, bias = views(flat, rows.shape[1], classes)
    return np.asarray((hidden_layer(rows, first) @ second.T + bias).argmax(axis=1))


def train(
    rows: Array,
    labels: Index,
    streams: Sequence[Stream],
    l2: Sequence[float],
    classes: int,
    seed: int,
    drawn: int = 0,
) -> list[Trained]:
    """Train the networks of every stream on rows (n, dim) and labels (n,).

    Args:
        drawn: How many permutations of n SentEval draws from the same generator before training.
    """
    rows, codes = np.ascontiguousarray(rows, np.float32), labels.astype(np.int32)

    # Cached: networks with equally many rows share their permutations, which are drawn in the order of the checks.
    @cache
    def generator(length: int) -> np.random.RandomState:
        random = np.random.RandomState(seed)
        for _ in range(drawn):
            random.permutation(len(rows))
        return random

    @cache
    def order(length: int, check: int) -> Index:
        draw = generator(length).permutation
        return np.concatenate([draw(length) for _ in range(EPOCH_SIZE)])

    results = []
    for stream in streams:
        networks = [_train_one(rows, codes, stream, value, classes, seed, order) for value in l2]
        accuracy, best = zip(*networks, strict=True)
        results.append(Trained(np.array(accuracy), np.array(best), classes))
    return results


def views(
    flat: NDArray[Any], dim: int, classes: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return views of parameters (size,): first layer with bias (dim + 1, units), second (classes, units), its bias."""
    layers = flat[: (dim + 1 + classes) * HIDDEN_STRIDE].reshape(-1, HIDDEN_STRIDE)
    bias = flat[layers.size :][:classes]
    return layers[: dim + 1, :HIDDEN_UNITS], layers[dim + 1 :, :HIDDEN_UNITS], bias


def hidden_layer(rows: NDArray[Any], first: NDArray[Any]) -> NDArray[Any]:
    """Return the sigmoids (n, units) of rows (n, dim)."""
    sums = rows @ first[:-1] + first[-1]
    with np.errstate(over="ignore"):  # exp overflows to infinity, whose reciprocal is the right 0
        return np.asarray(1 / (1 + np.exp(-sums)))


def initial_state(dim: int, classes: int, seed: int) -> Array:
    """Return parameters and two zero moments (3, size); torch's initialization, uniform in ±1/sqrt(inputs)."""
    random = np.random.default_rng(seed)
    inner, outer = max(dim, 1) ** -0.5, HIDDEN_UNITS**-0.5
    size = (dim + 1 + classes) * HIDDEN_STRIDE + -(-classes // 8) * 8
    state = np.zeros((3, size), np.float32)
    first, second, bias = views(state[0], dim, classes)
    first[:dim] = random.uniform(-inner, inner, (dim, HIDDEN_UNITS))
    first[dim] = random.uniform(-inner, inner, HIDDEN_UNITS)
    second[:] = random.uniform(-outer, outer, (HIDDEN_UNITS, classes)).T
    bias[:] = random.uniform(-outer, outer, classes)
    return state


def _train_one(
    rows: Array,
    labels: NDArray[np.int32],
    stream: Stream,
    l2: float,
    classes: int,
    seed: int,
    order: Callable[[int, int], Index],
) -> tuple[float, Array]:
    """Return the best accuracy at a check, and the parameters of the network at that check."""
    state = initial_state(rows.shape[1], classes, seed)
    train, dev, truth = np.asarray(stream[0], np.int32), rows[stream[1]], labels[stream[1]]
    best, failures, steps, length = -1.0, 0, 0, len(train)
    kept = state[0].copy()
    for check in range(MAX_EPOCH // EPOCH_SIZE + 1):
        drawn = train[order(length, check)]
        kernels.network_steps(state, rows, labels, drawn, length, BATCH, classes, l2, steps)
        steps += EPOCH_SIZE * -(-length // BATCH)
        accuracy = float((_predict(state[0], dev, classes) == truth).mean())
        if accuracy > best:
            best, kept = accuracy, state[0].copy()
            continue
        # SentEval counts all checks without a gain, consecutive or not, and stops at the sixth.
        if failures >= TENACITY:
            break
        failures += 1
    return best, kept


def cosines(left: ArrayLike, right: ArrayLike) -> Float:
    """Return the cosine of each row of `left` with its row of `right`, (n,); 0 if one of them is all zeros."""
    a, b = np.asarray(left, np.float64), np.asarray(right, np.float64)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.asarray(np.einsum("nd,nd->n", a, b) / np.where(lengths > 0, lengths, 1))


def pearson(left: ArrayLike, right: ArrayLike) -> float:
    """Return Pearson's correlation; 0 if one side is constant."""
    a, b = np.asarray(left, np.float64), np.asarray(right, np.float64)
    a, b = a - a.mean(), b - b.mean()
    spread = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / spread) if spread > 0 else 0.0


def spearman(left: ArrayLike, right: ArrayLike) -> float:
    """Return Spearman's correlation: Pearson's of the ranks."""
    return pearson(_ranks(left), _ranks(right))


def _ranks(values: ArrayLike) -> Float:
    """Return the rank of each value, (n,); ties share the mean of their ranks."""
    _, code, count = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count - 1) / 2)[code])

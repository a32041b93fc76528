"""Score a candidate on a task: the rows it is fitted on, the rows that choose l2, and the rows that are scored.

The rule: an encoder is fitted on the texts of the training rows alone, anew for each outer fold. `transductive=True`
also fits on test texts, as the paper's program did; every result states it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from noppa.classify.labels import stratified_folds
from noppa.classify.probe import OUTER_FOLDS, SEED, ProbeData
from noppa.encoder.encoder import Encoder
from noppa.encoder.models import SupportsEncode
from noppa.errors import FileError, NoppaError
from noppa.methods import registry
from noppa.methods.method import Method
from noppa.paper.probes import PROBES, cosines, pearson, spearman
from noppa.paper.tasks import Row, Task
from noppa.parameters import one_of, short_repr, whole
from noppa.processes import Run
from noppa.refine import Refinement
from noppa.words.word_vectors import WordVectors

#: The names of the protocols: the probe that is trained on the vectors.
PROTOCOLS = tuple(PROBES)
#: The range of NumPy's RandomState, which draws the folds.
seed_number = partial(whole, most=(1 << 32) - 1)

Vectors = NDArray[np.float32]
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


@dataclass(frozen=True)
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
        self._rows: dict[str, Vectors] = {}

    def to_dict(self) -> dict[str, Any]:
        return {"model": self.name}

    def fitted(self, texts: Sequence[str]) -> SupportsEncode:
        return self

    def encode(self, texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if new:
            self._rows |= zip(new, np.asarray(self.encoder.encode(new)), strict=True)
        return np.array([self._rows[text] for text in texts])


@dataclass(frozen=True)
class Pretrained:
    """A method that is trained once on its own corpus, when first needed, and then scored as it is."""

    words: WordVectors
    method: Method
    corpus: Sequence[str] = field(repr=False)
    corpus_file: dict[str, str]
    name: str
    learns: bool = field(default=False, init=False)

    def to_dict(self) -> dict[str, Any]:
        return Recipe(self.words, self.method, self.name).to_dict() | {"corpus": self.corpus_file}

    @cached_property
    def encoder(self) -> Encoder:
        return Encoder(self.words, self.method).fit(self.corpus)

    def fitted(self, texts: Sequence[str]) -> SupportsEncode:
        return self.encoder


@dataclass(frozen=True)
class Encoded:
    """Vectors made by another program: NAME.npy (texts, dim), and NAME.txt with one text per line."""

    path: Path
    file: dict[str, str]
    learns: bool = field(default=False, init=False)

    @property
    def name(self) -> str:
        return self.path.stem

    def to_dict(self) -> dict[str, Any]:
        return {"model": self.name, "vectors": self.file}

    def fitted(self, texts: Sequence[str]) -> SupportsEncode:
        return self

    @cached_property
    def vectors(self) -> Any:
        try:
            rows = np.load(self.path, mmap_mode="r")
        except (OSError, ValueError) as error:
            raise FileError(f"{self.path} cannot be read ({error})") from error
        if rows.ndim != 2 or len(rows) != len(self._row_numbers):
            raise FileError(
                f"{self.path} has the shape {rows.shape} and its .txt {len(self._row_numbers)} distinct texts: "
                "give one row per text"
            )
        return rows

    @cached_property
    def _row_numbers(self) -> dict[str, int]:
        texts = self.path.with_suffix(".txt")
        try:
            lines = texts.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        except (OSError, ValueError) as error:
            raise FileError(
                f"{texts} cannot be read ({error}): it must hold the texts of {self.path.name}, one per line"
            ) from error
        return {text: number for number, text in enumerate(lines)}

    def encode(self, texts: Sequence[str]) -> Vectors:
        vectors = self.vectors  # raises if they do not match the texts
        for text in texts:
            if text not in self._row_numbers:
                raise NoppaError(
                    f"{self.path} has no vector of {short_repr(text)}: encode the texts of every task that is scored"
                )
        return np.asarray(vectors[[self._row_numbers[text] for text in texts]], np.float32)


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
    """The score of a candidate on a task.

    Attributes:
        score: in percent, on test rows.
        dev: in percent, on development rows; None if there are none.
        folds: `score` of each outer fold.
        dev_folds: `dev` of each outer fold.
        cpu_seconds: of encoding and of the probes, over all processes.
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
        task: the task.
        parts: its rows by name, as `read` returns them.
        candidate: the encoder, or the recipe of one.
        protocol: the probe that is trained on the vectors, one of `PROTOCOLS`.
        seed: of the folds and of the probe.
        transductive: fit on the text of test rows too, as some published numbers do.
        run: a `map` function, such as that of a process pool.
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

    results = list(run(PROBES[protocol], probe_data()))
    cpu_seconds = sum(encoding_seconds) + sum(result.cpu_seconds for result in results)
    truths = [_codes(split.test, codes) for split in splits]
    accuracies = [
        100 * float((result.predicted == truth).mean())
        for result, truth in zip(results, truths, strict=True)
    ]
    dev = [100 * float(result.dev) for result in results]
    more: dict[str, Any] = {"l2": [result.l2 for result in results]}
    if task.name == "MRPC":
        more["f1"] = 100 * _f1(results[0].predicted, truths[0])
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
    train, test = features(encoder, split.train), features(encoder, split.test)
    dev = None
    if split.dev is not None:
        dev = (features(encoder, split.dev), _codes(split.dev, codes))
    train_codes, test_codes = _codes(split.train, codes), _codes(split.test, codes)
    return ProbeData((train, train_codes), dev, (test, test_codes), len(codes), seed)


def features(encoder: SupportsEncode, rows: Sequence[Row]) -> Vectors:
    """Return the vector of each text; for pairs, |u - v| and u * v concatenated."""
    columns = [_encode(encoder, rows, column) for column in range(len(rows[0].texts))]
    if len(columns) == 1:
        return columns[0]
    left, right = columns
    return np.hstack([np.abs(left - right), left * right])


def _encode(encoder: SupportsEncode, rows: Sequence[Row], column: int) -> Vectors:
    return np.asarray(encoder.encode([row.texts[column] for row in rows]), np.float32)


def _codes(rows: Sequence[Row], codes: Mapping[float | str, int]) -> NDArray[np.int64]:
    return np.array([codes[row.label] for row in rows], np.int64)


def _f1(predicted: NDArray[np.int64], truth: NDArray[np.int64]) -> float:
    hits = int((predicted & truth).sum())
    return 2 * hits / max(int(predicted.sum() + truth.sum()), 1)


def _similarity(parts: Parts, candidate: Candidate, transductive: bool) -> Outcome:
    """Score by Spearman's correlation of the cosines."""
    start = time.process_time()
    encoder = candidate.fitted(
        Split(parts["train"], parts["dev"], parts["test"]).texts_to_fit(transductive)
    )
    by_rank, linear = (100 * value for value in _correlations(encoder, parts["test"]))
    dev = 100 * _correlations(encoder, parts["dev"])[0]
    cpu_seconds = time.process_time() - start
    return Outcome(by_rank, dev, [by_rank], [dev], cpu_seconds, {"pearson": linear})


def _correlations(encoder: SupportsEncode, rows: Sequence[Row]) -> tuple[float, float]:
    """Return Spearman's and Pearson's correlation of the cosines with the human scores."""
    predicted = cosines(_encode(encoder, rows, 0), _encode(encoder, rows, 1))
    human = [float(row.label) for row in rows]
    return spearman(predicted, human), pearson(predicted, human)

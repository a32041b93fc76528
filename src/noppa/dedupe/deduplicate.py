"""`noppa.deduplicate`: which texts repeat an earlier text or one of a reference, and which to keep."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.display import Displayed, cut, dataclass_repr
from noppa.encoder.encoder import Encoder
from noppa.encoder.models import External, Model, resolve_model, unit_vectors
from noppa.errors import InputError, ParameterError
from noppa.io.tables import arrow_table, write_table
from noppa.parameters import number, whole
from noppa.search.vectors import spherical_k_means
from noppa.text.characters import is_word_character, lower
from noppa.text.tokenizer import Split
from noppa.threads import thread_count
from noppa.words.texts import texts_of

THRESHOLD = 0.9
#: The lowest threshold, and the number of steps that `down_to` divides the range from there to 1 into.
LOWEST, STEPS = 0.5, 500
#: Texts that are encoded at a time.
BLOCK = 4096
#: Bytes of a checksum: among a trillion texts, the chance of a collision is 1e-15.
CHECKSUM_BYTES = 16
#: Removed rows that `print` shows, and characters of a text there.
SHOWN, WIDTH = 10, 50
#: Up to this many rows, each row is compared with all kept rows before it; of more rows, with those in cells of near rows.
EXACT = 50_000
#: The number of cells a row is compared with, and the number of cells a kept row is in; docs/dedupe.md has the recall.
PROBES, HOMES = 12, 2
#: The largest dimension for which products of 8-bit codes add up without overflow in 32 bits.
MOST_DIMENSIONS = 1 << 16
#: k-means: sampled rows per cell, and rounds.
SAMPLE, ROUNDS = 40, 6
#: Rows between two calls of `progress`.
STEP = 1 << 14

Rows = NDArray[np.int64]
Vectors = NDArray[np.float32]
#: Called with the name of the step, the number of finished rows, and the number of all rows.
Progress = Callable[[str, int, int], None]


def deduplicate(
    texts: Iterable[str],
    threshold: float = THRESHOLD,
    reference: Iterable[str] | None = None,
    model: Model | None = None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> DeduplicationResult:
    """Find the texts that repeat another: a text is kept if its cosine with all kept texts before it is below the threshold.

    Args:
        texts: The texts to deduplicate.
        threshold: The cosine from which a text repeats another, 0.5 to 1.
        reference: Texts that count as kept before the first one; they are not judged themselves.
        model: A preset's name, a path, an `Encoder` or any object with `encode`; None for the preset "similarity".
        threads: For encoding and comparing.
        progress: Called with the name of the step, the number of finished rows, and the number of all rows.

    >>> import noppa
    >>> result = noppa.deduplicate(["a red car", "the sea", "A red car!", "the sea"])
    >>> result.kept.tolist(), [(removed.row, removed.repeats) for removed in result.removed]
    ([0, 1], [(2, 0), (3, 1)])
    """
    if isinstance(texts, str) or isinstance(reference, str):
        raise InputError("a single text was given", "give a collection of texts")
    items, known = texts_of(texts), [] if reference is None else texts_of(reference)
    return compare(items, known, resolve_model(model), None, threads, progress).at(threshold)


def compare(
    texts: Sequence[str],
    reference: Sequence[str],
    encoder: Encoder | External,
    folder: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Encode the distinct texts; with a folder, the vectors are in a file there instead of in memory."""
    firsts = first_occurrences(chain(reference, texts))
    distinct = np.flatnonzero(firsts == np.arange(len(firsts)))
    before = len(reference)

    def blocks() -> Iterator[Vectors]:
        for start in range(0, len(distinct), BLOCK):
            if progress is not None:
                progress("encode", start, len(distinct))
            rows = distinct[start : start + BLOCK].tolist()
            block = [reference[row] if row < before else texts[row - before] for row in rows]
            yield np.ascontiguousarray(unit_vectors(encoder, block, threads))

    if not len(distinct):
        vectors = np.empty((0, 1), np.float32)
    elif folder is None:
        vectors = np.concatenate(list(blocks()))
    else:
        # Written first and mapped afterwards: writing to a map on a full disk would kill the process.
        with (folder / "vectors").open("wb") as file:
            for block in blocks():
                file.write(block.data)
        vectors = np.memmap(folder / "vectors", np.float32, "r").reshape(len(distinct), -1)
    near = NearDuplicates(vectors, int(np.searchsorted(distinct, before)))
    split = encoder.other_split if isinstance(encoder, Encoder) else None
    return Comparison(texts, reference, firsts, distinct, near, split, threads, progress)


class Removed(NamedTuple):
    """A removed row.

    row, repeats: the numbers of this row and of the row that it repeats. in_reference: whether `repeats` is a row of the
    reference. similarity: the cosine of both. words: the words that both texts share, in lower case.
    """

    row: int
    repeats: int
    in_reference: bool
    similarity: float
    words: tuple[str, ...]
    text: str
    repeated_text: str

    def __repr__(self) -> str:
        return dataclass_repr(self)

    def __str__(self) -> str:
        side = "reference row" if self.in_reference else "row"
        return (
            f"{self.similarity:.4f}  row {self.row} {cut(self.text, WIDTH)!r} "
            f"repeats {side} {self.repeats} {cut(self.repeated_text, WIDTH)!r}"
        )


@dataclass(frozen=True, eq=False)
class Comparison:
    """Encoded texts, from which `at` finds the duplicates for any threshold. Rows are numbered from the reference on.

    firsts (reference + texts,): the first row with the same text. distinct: the rows that are first.
    near: the vectors of the distinct rows.
    """

    texts: Sequence[str]
    reference: Sequence[str]
    firsts: Rows
    distinct: Rows
    near: NearDuplicates
    tokenizer: Split | None
    threads: int | None = None
    progress: Progress | None = None

    __repr__ = dataclass_repr

    @property
    def copies(self) -> int:
        """The number of texts that are identical to one before them."""
        return int(np.count_nonzero(self._is_copy[len(self.reference) :]))

    @property
    def _is_copy(self) -> NDArray[np.bool_]:
        return np.asarray(self.firsts != np.arange(len(self.firsts)))

    def at(self, threshold: float) -> DeduplicationResult:
        """Return the result for a threshold from `LOWEST` to 1."""
        checked = number(threshold, "threshold", LOWEST, 1)
        places, cosines = self.near.leaders(checked, self.threads, self.progress)
        of_first = np.searchsorted(self.distinct, self.firsts)
        leaders = np.where(places >= 0, self.distinct[places], -1)[of_first]
        similarities = cosines[of_first]
        # A copy of a kept row repeats that row; a copy of a removed row repeats the same row as its original.
        of_kept = self._is_copy & (leaders < 0)
        leaders[of_kept] = self.firsts[of_kept]
        similarities[of_kept] = 1
        judged = slice(len(self.reference), None)
        return DeduplicationResult(self, checked, leaders[judged], similarities[judged])


@dataclass(frozen=True, eq=False, repr=False)
class DeduplicationResult(Displayed):
    """The rows that are kept, and the rows that repeat a kept row with a cosine of at least `threshold`.

    leaders (texts,): the row that each row repeats, counted from the first row of the reference; -1 for a kept row.
    similarities (texts,): the cosine with that row.
    """

    compared: Comparison
    threshold: float
    leaders: Rows
    similarities: NDArray[np.float32]

    @property
    def texts(self) -> Sequence[str]:
        """All texts, without the reference."""
        return self.compared.texts

    @property
    def kept(self) -> Rows:
        """The numbers of the kept rows, in order."""
        return np.flatnonzero(self.leaders < 0)

    @property
    def kept_texts(self) -> list[str]:
        """The texts of the kept rows, in order."""
        return [self.texts[row] for row in self.kept.tolist()]

    @cached_property
    def removed(self) -> list[Removed]:
        """The removed rows, in order."""
        return list(self.iter_removed())

    def iter_removed(self) -> Iterator[Removed]:
        """Yield the removed rows, in order, without keeping them in memory."""
        compared, before = self.compared, len(self.compared.reference)
        for row in np.flatnonzero(self.leaders >= 0).tolist():
            leader = int(self.leaders[row])
            in_reference = leader < before
            repeats = leader if in_reference else leader - before
            text = compared.texts[row]
            repeated = (compared.reference if in_reference else compared.texts)[repeats]
            words = shared_words(text, repeated, compared.tokenizer)
            similarity = float(self.similarities[row])
            yield Removed(row, repeats, in_reference, similarity, words, text, repeated)

    def at(self, threshold: float) -> DeduplicationResult:
        """Return the result for another threshold; nothing is encoded again."""
        return self.compared.at(threshold)

    def down_to(self, n: int) -> DeduplicationResult:
        """Keep at most n rows.

        Takes the highest threshold, in steps of 0.001, that keeps no more than n rows, and then restores the removed rows that
        are least similar to what they repeat, until n rows are kept.
        """
        n = whole(n, "n", 1)
        result = self.at(1)
        if len(result.kept) <= n:
            return result
        result = self.at(LOWEST)
        if len(result.kept) > n:
            raise ParameterError(
                f"{len(result.kept)} rows differ even at a threshold of {LOWEST:g}",
                f"choose {n} of them by other means",
            )
        low, high = 0, STEPS  # steps above LOWEST
        while high - low > 1:
            middle = (low + high) // 2
            candidate = self.at(LOWEST + (1 - LOWEST) * middle / STEPS)
            if len(candidate.kept) <= n:
                low, result = middle, candidate
            else:
                high = middle
        leaders, similarities = result.leaders.copy(), result.similarities.copy()
        removed = np.flatnonzero(leaders >= 0)
        least_similar = np.argsort(similarities[removed], kind="stable")[: n - len(result.kept)]
        leaders[removed[least_similar]], similarities[removed[least_similar]] = -1, 0
        return DeduplicationResult(self.compared, result.threshold, leaders, similarities)

    def __repr__(self) -> str:
        kept = len(self.kept)
        removed = len(self.texts) - kept
        return f"DeduplicationResult({kept} kept, {removed} removed, threshold={self.threshold:g})"

    def __str__(self) -> str:
        more = len(self.texts) - len(self.kept) - SHOWN
        rest = [f"… and {more:,} more"] if more > 0 else []
        return "\n".join([self._title, *map(str, islice(self.iter_removed(), SHOWN)), *rest])

    @property
    def _title(self) -> str:
        texts, kept = len(self.texts), len(self.kept)
        return (
            f"{texts:,} texts: {kept:,} kept, {texts - kept:,} repeat another "
            f"with a cosine of {self.threshold:g} or more"
        )

    def _columns(self) -> dict[str, list[Any]]:
        return {name: [getattr(row, name) for row in self.removed] for name in Removed._fields}

    def to_arrow(self) -> Any:
        """Return the removed rows as an Arrow table with the fields of `Removed` as columns."""
        return arrow_table(Removed, self.removed)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the removed rows to a .csv, .jsonl or .parquet file."""
        write_table(path, Removed, self.iter_removed())


def shared_words(text: str, other: str, tokenizer: Split | None) -> tuple[str, ...]:
    """Return the distinct words of a text that another text has too, in lower case and without punctuation."""
    split = tokenizer or kernels.tokenize
    words, others = (
        dict.fromkeys(lower(token) for token in split(side) if any(map(is_word_character, token)))
        for side in (text, other)
    )
    return tuple(word for word in words if word in others)


def first_occurrences(texts: Iterable[str]) -> Rows:
    """Return, for each text, the number of the first identical one, (texts,)."""
    joined = bytearray()
    for text in texts:
        content = text.encode("utf-8", "surrogatepass")
        joined += hashlib.blake2b(content, digest_size=CHECKSUM_BYTES).digest()
    checksums = np.frombuffer(joined, np.uint64).reshape(-1, 2)
    # Stable, so that the first occurrence stays first.
    order = np.lexsort((checksums[:, 1], checksums[:, 0]))
    ordered = checksums[order]
    is_first = np.ones(len(order), bool)
    is_first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    firsts = np.empty(len(order), np.int64)
    firsts[order] = order[is_first][np.cumsum(is_first) - 1]
    return firsts


class NearDuplicates:
    """Rows of length 1 or 0 whose cosine with an earlier row reaches a threshold; the first `reference` rows are always kept.

    Up to `exact` rows, all pairs are compared.
    """

    def __init__(
        self, vectors: Vectors, reference: int = 0, exact: int = EXACT, probes: int = PROBES
    ) -> None:
        if vectors.shape[1] > MOST_DIMENSIONS:
            raise ParameterError(
                f"vectors of {vectors.shape[1]} dimensions cannot be compared, at most {MOST_DIMENSIONS}",
                "use a model with fewer dimensions",
            )
        self.vectors, self.reference = vectors, reference
        self.cells = 1 if len(vectors) <= exact else int(2 * len(vectors) ** 0.5)
        self.probes, self.homes = min(probes, self.cells), min(HOMES, probes, self.cells)

    def leaders(
        self, threshold: float, threads: int | None = None, progress: Progress | None = None
    ) -> tuple[NDArray[np.int64], Vectors]:
        """Return, for each row, the most similar kept row before it (-1 if the row is kept), and their cosine.

        Ties go to the first row. The result is the same for any number of threads.
        """
        count, rows = thread_count(threads), len(self.vectors)
        leaders, cosines = np.empty(rows, np.int64), np.empty(rows, np.float32)
        search = kernels.Leaders(
            self.vectors, self.centroids, self.probes, self.homes, threshold, self.reference
        )
        for start in range(0, rows, STEP):
            if progress is not None:
                progress("compare", start, rows)
            block = slice(start, start + STEP)
            leaders[block], cosines[block] = search.advance(STEP, count)
        return leaders, cosines

    @cached_property
    def centroids(self) -> Vectors:
        """The centroids of the cells, unit vectors (cells, dim), learnt from a sample of the rows."""
        rows = self.vectors
        if self.cells == 1:
            return np.ones((1, rows.shape[1]), np.float32)
        size = min(len(rows), SAMPLE * self.cells)
        sample = np.ascontiguousarray(rows[np.linspace(0, len(rows) - 1, size).astype(np.int64)])
        chosen = np.random.default_rng(0).permutation(size)[: self.cells]
        return spherical_k_means(sample, sample[np.sort(chosen)], ROUNDS)

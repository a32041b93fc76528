"""What is learnt from text as sums, which those of shards add up to: word counts, what a method gathers, moments."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.cluster.fields import Fields
from noppa.cluster.models import Model
from noppa.cluster.places import Place
from noppa.cluster.plan import Shard
from noppa.cluster.rows import rows_of_shard
from noppa.cluster.shard import BAD, BadRecord
from noppa.encoder.encoder import FIT_BLOCK, Encoder
from noppa.encoder.fitting import Counted, moments_of
from noppa.errors import FileError
from noppa.refine import Moments, Refinement
from noppa.words.counting import WordCounts
from noppa.words.texts import blocks_of

Sums = dict[str, NDArray[Any]]

#: The passes over a corpus, in order; a fit makes those that its method and refinements need.
COUNTS, LEARN, MOMENTS = "counts", "learn", "moments"
#: How many sums one task of the tree adds up.
FAN = 16


@dataclass(frozen=True)
class Kept:
    """Sums in a file, and its checksum: a worker that outlives a run must not take others of the same name for them."""

    address: str
    checksum: str


@dataclass(frozen=True)
class Gathering:
    """All that a worker has to know to add up any shard in one of the passes."""

    model: Model
    fields: Fields
    work: str
    stage: str
    method: Any
    """A `Method`, frozen."""
    refine: tuple[Refinement, ...] = ()
    counts: Kept | None = None
    """The word counts of the corpus, None for the probabilities that the words have."""
    learnt: Kept | None = None
    on_bad: str = "error"

    def run(self, shard: Shard) -> dict[str, Any]:
        """Add up a shard, and write its sums down under its number."""
        bad: list[tuple[int, str]] = []
        records = 0

        def texts() -> Iterator[str]:
            nonlocal records
            for rows in rows_of_shard(shard, self.fields):
                bad.extend((records + at, fault) for at, fault in rows.bad)
                if bad and self.on_bad == "error":
                    raise BadRecord(shard.number, *bad[0])
                records += len(rows.texts)
                yield from (text for text in rows.texts if text is not None)

        sums = self._summed(texts())
        work = Place.of(self.work)
        if bad:
            (work / BAD / f"{shard.number}.json").write_json(bad)
        sums |= {"records": np.array(records), "bad": np.array(len(bad))}
        write_sums(work / self.stage / f"{shard.number}.npz", sums)
        return {"number": shard.number, "records": records, "bad": len(bad)}

    def _summed(self, texts: Iterable[str]) -> Sums:
        if self.stage == COUNTS:
            counts = self.model.open().words.count(texts)
            return {
                "words": counts.words,
                "pieces": counts.pieces,
                "total": np.array(counts.total),
            }
        encoder = encoder_of(self.model, self.method, self.refine, self.counts)
        learnt = None if self.stage == LEARN else _read_once(self.learnt)
        return summed(encoder, texts, learnt)


@lru_cache(maxsize=2)
def encoder_of(
    model: Model, method: Any, refine: tuple[Refinement, ...], counts: Kept | None
) -> Encoder:
    """The encoder to be fitted: the words of a saved one, with the counts of the corpus where there are any."""
    words = model.open().words
    if counts is not None:
        words = words.with_word_counts(word_counts(read_sums(Place.of(counts.address))))
    return Encoder(words, method, refine)


@lru_cache(maxsize=2)
def _read_once(kept: Kept | None) -> Sums:
    return {} if kept is None else read_sums(Place.of(kept.address))


def word_counts(sums: Sums) -> WordCounts:
    return WordCounts(sums["words"], sums["pieces"], int(sums["total"]))


def summed(encoder: Encoder, texts: Iterable[str], learnt: Sums | None) -> Sums:
    """What the method gathers from texts, or with what it has learnt the moments of what it gives; and what was seen."""
    words, method = encoder.words, encoder.method
    blocks = (encoder.look_up(block, 1) for block in blocks_of(texts, FIT_BLOCK))
    counted = Counted(blocks, len(words))
    found: Sums = {}
    if learnt is None:
        gathered: Mapping[str, NDArray[Any]] = method.gather(words, counted)
        found = {f"method.{name}": np.asarray(array) for name, array in gathered.items()}
    else:
        refined = bool((*method.refinements(), *encoder.refine))
        moments = moments_of(words, method, learnt, counted, 1) if refined else Moments.empty(0)
        found = {"total": moments.total, "products": moments.products}
    counted.read_on()  # a method that knows already what it would learn reads nothing
    return {**found, "seen": counted.seen, "sentences": np.array(counted.sentences, np.int64)}


def summed_moments(sums: Sums) -> Moments:
    """The moments of a last pass; of none, a count of sentences alone."""
    if "total" not in sums:
        return Moments(int(sums["sentences"]), np.zeros(0), np.zeros((0, 0)))
    return Moments(int(sums["sentences"]), sums["total"], sums["products"])


# Sums in files, and the tree


@dataclass(frozen=True)
class Branch:
    """Which sums one task of the tree adds up."""

    number: int
    address: str
    leaves: tuple[str, ...]


@dataclass(frozen=True)
class Adding:
    """One level of the tree."""

    work: str
    stage: str

    def run(self, branch: Branch) -> dict[str, Any]:
        sums = added(read_sums(Place.of(leaf)) for leaf in branch.leaves)
        write_sums(Place.of(self.work) / self.stage / f"{branch.number}.npz", sums)
        return {"number": branch.number}


def added(several: Iterable[Sums]) -> Sums:
    """The sum, name by name, in the order given: the same on every engine, with any number of workers."""
    rest = iter(several)
    total = {name: array.copy() for name, array in next(rest).items()}
    for sums in rest:
        for name, array in sums.items():
            total[name] = total[name] + array
    return total


def write_sums(place: Place, sums: Sums) -> Kept:
    stream = io.BytesIO()
    np.savez(stream, **sums)  # type: ignore[arg-type]
    content = stream.getvalue()
    place.write(content)
    return Kept(place.address, hashlib.sha256(content).hexdigest())


def read_sums(place: Place) -> Sums:
    try:
        with np.load(io.BytesIO(place.content()), allow_pickle=False) as arrays:
            return dict(arrays)
    except (ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise FileError(f"{place} is damaged ({error}): remove it and run again") from error

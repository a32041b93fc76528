"""What a fit learns as sums, which those of shards add up to: word counts, what a method gathers, moments."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.cluster.manifest import RunFolder
from noppa.cluster.plan import Shard
from noppa.cluster.shard_task import BadRecord, Model, Outcome
from noppa.encoder.encoder import FIT_BLOCK, Encoder
from noppa.encoder.fitting import Counted, moments_of
from noppa.errors import FileError
from noppa.files.columns import Fields
from noppa.files.places import Place
from noppa.methods.method import Method
from noppa.refine import Moments, Refinement
from noppa.words.counting import WordCounts
from noppa.words.texts import blocks_of

Sums = dict[str, NDArray[Any]]

#: The passes over a corpus, in order; a fit makes those that its method and refinements need.
COUNTS, LEARN, MOMENTS = "counts", "learn", "moments"
#: Prefix of the names of sums that the method gathers.
GATHERED = "method."
#: How many files one task of the tree adds up.
FAN = 16


@dataclass(frozen=True)
class SumsFile:
    """A file of sums. The checksum keeps caches of long-lived workers from mixing up runs under the same name."""

    address: str
    checksum: str


@dataclass(frozen=True)
class SumShard:
    """What a worker does with each shard in one pass."""

    model: Model
    fields: Fields
    work: str
    stage: str
    method: Method
    refine: tuple[Refinement, ...] = ()
    counts: SumsFile | None = None
    """The word counts of the corpus, None for the probabilities that the words have."""
    learnt: SumsFile | None = None
    on_error: str = "raise"

    def run(self, shard: Shard) -> Outcome:
        """Add up a shard, and write its sums."""
        bad: list[tuple[int, str]] = []
        records = 0

        def texts() -> Iterator[str]:
            nonlocal records
            for batch in shard.batches(self.fields):
                bad.extend((records + at, fault) for at, fault in batch.bad)
                if bad and self.on_error == "raise":
                    raise BadRecord(shard.number, *bad[0])
                records += len(batch.texts)
                yield from (text for text in batch.texts if text is not None)

        sums = self._summed(texts())
        run_folder = RunFolder(Place.of(self.work))
        if bad:
            run_folder.write_bad(shard.number, bad)
        sums |= {"records": np.array(records), "bad": np.array(len(bad))}
        write_sums(run_folder.sums(self.stage, shard.number), sums)
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
    model: Model, method: Method, refine: tuple[Refinement, ...], counts: SumsFile | None
) -> Encoder:
    """The encoder to fit: the words of a saved one, with the probabilities of the corpus where it was counted."""
    words = model.open().words
    if counts is not None:
        sums = read_sums(Place.of(counts.address))
        word_counts = WordCounts(sums["words"], sums["pieces"], int(sums["total"]))
        words = words.with_word_counts(word_counts)
    return Encoder(words, method, refine)


@lru_cache(maxsize=2)
def _read_once(file: SumsFile | None) -> Sums:
    return {} if file is None else read_sums(Place.of(file.address))


def summed(encoder: Encoder, texts: Iterable[str], learnt: Sums | None) -> Sums:
    """What the method gathers from texts, or, with what it has learnt, the moments of its rows; and what was seen."""
    words, method = encoder.words, encoder.method
    if words.ngrams is not None:
        moments, seen = encoder.composed_moments(texts, 1)
        sums = {"total": moments.total, "products": moments.products}
        return {**sums, "seen": seen, "sentences": np.array(moments.count, np.int64)}
    blocks = (encoder.look_up(block, 1) for block in blocks_of(texts, FIT_BLOCK))
    counted = Counted(blocks, len(words))
    if learnt is None:
        gathered = method.gather(words, counted)
        sums = {f"{GATHERED}{name}": np.asarray(array) for name, array in gathered.items()}
    else:
        refined = bool((*method.refinements(), *encoder.refine))
        moments = moments_of(words, method, learnt, counted, 1) if refined else Moments.empty(0)
        sums = {"total": moments.total, "products": moments.products}
    counted.exhaust()  # a method that needs no text for its sums leaves it unread
    return {**sums, "seen": counted.seen, "sentences": np.array(counted.sentences, np.int64)}


def gathered_sums(sums: Sums) -> Sums:
    """What the method gathered, by its own names."""
    return {
        name.removeprefix(GATHERED): array
        for name, array in sums.items()
        if name.startswith(GATHERED)
    }


def summed_moments(sums: Sums) -> Moments:
    """The moments of the last pass; only a count of sentences where that was not one of moments."""
    if "total" not in sums:
        return Moments(int(sums["sentences"]), np.zeros(0), np.zeros((0, 0)))
    return Moments(int(sums["sentences"]), sums["total"], sums["products"])


# Files of sums, and the tree that adds them up


@dataclass(frozen=True)
class Branch:
    """The files that one task of the tree adds up."""

    number: int
    address: str
    leaves: tuple[str, ...]


@dataclass(frozen=True)
class AddBranch:
    """What a worker does with each branch of one level of the tree."""

    work: str
    stage: str

    def run(self, branch: Branch) -> Outcome:
        sums = added(read_sums(Place.of(leaf)) for leaf in branch.leaves)
        write_sums(RunFolder(Place.of(self.work)).sums(self.stage, branch.number), sums)
        return {"number": branch.number}


def added(several: Iterable[Sums]) -> Sums:
    """The sum, name by name, in the order given: the same on every engine, with any number of workers."""
    rest = iter(several)
    total = {name: array.copy() for name, array in next(rest).items()}
    for sums in rest:
        for name, array in sums.items():
            total[name] = total[name] + array
    return total


def write_sums(place: Place, sums: Sums) -> SumsFile:
    stream = io.BytesIO()
    np.savez(stream, **sums)  # type: ignore[arg-type]
    content = stream.getvalue()
    place.write(content)
    return SumsFile(place.address, hashlib.sha256(content).hexdigest())


def read_sums(place: Place) -> Sums:
    try:
        with np.load(io.BytesIO(place.content()), allow_pickle=False) as arrays:
            return dict(arrays)
    except (ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise FileError(f"{place} is damaged ({error}): remove it and run again") from error

"""A shard as a task on a worker: it opens the model, runs the job, and returns an outcome instead of raising."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from noppa import _native as kernels
from noppa.encoder.encoder import Encoder, reopen
from noppa.encoder.storage import Identity, words_folder
from noppa.errors import FileError, NoppaError, ParameterError
from noppa.files.places import Place
from noppa.methods import registry
from noppa.text.tokenizer import Tokenizer

#: What became of a shard, as JSON can hold it: its number and counts, or one of "error", "missing" (the model), "bad".
Outcome = dict[str, Any]
#: Called now and then while an engine works that reports nothing before its end.
Tick = Callable[[], None]


class ShardJob(Protocol):
    """What is to be done with each of many shards; it is pickled and sent to the workers."""

    def run(self, shard: Any) -> Outcome: ...


#: Runs a job for every shard on the engine's workers, and gives the outcomes as they come.
Run = Callable[[ShardJob, list[Any], Tick], Iterator[Outcome]]
#: An engine: from the address of a scheduler, None for one of our own, and a number of workers.
Engine = Callable[[str | None, int | None], AbstractContextManager[Run]]

ERRORS = {kind.__name__: kind for kind in (FileError, ParameterError, NoppaError)}
#: Prefix of the folder that a model is sent to, beside the manifest.
MODEL = "model-"


class BadRecord(FileError):
    """A bad record where none is allowed: its shard, its row there, and its fault."""

    def __init__(self, shard: int, row: int, fault: str) -> None:
        super().__init__(f"record {row} of shard {shard}: {fault}")
        self.shard, self.row, self.fault = shard, row, fault


class ModelMissing(NoppaError):
    """A worker has no encoder with the right checksum: the driver has to send it."""


def attempt(job: ShardJob, shard: Any) -> Outcome:
    """Run a job for a shard; an error that a user can cause becomes an outcome, since not every engine returns errors."""
    try:
        return job.run(shard)
    except ModelMissing:
        return {"missing": shard.number}
    except BadRecord as error:
        return {"bad": [error.shard, error.row, error.fault]}
    except NoppaError as error:
        name = next(name for name, kind in ERRORS.items() if isinstance(error, kind))
        return {"error": [name, str(error)]}
    except (OSError, MemoryError) as error:
        return {"error": ["FileError", f"{shard.address}: {error or type(error).__name__}"]}


def error_of(outcome: Outcome) -> NoppaError | None:
    """The error that an outcome stands for."""
    if "error" not in outcome:
        return None
    name, message = outcome["error"]
    return ERRORS[name](message)


@dataclass(frozen=True)
class Model:
    """An encoder on a worker: found by its identity, or where the driver sent it, and mapped once a process."""

    identity: Identity
    sent: str | None = None
    """The address of the copy that the driver sent."""
    instructions: str = field(default_factory=kernels.instruction_set)
    """The instruction set of the driver, on which the last bits of a vector depend."""
    registered: tuple[tuple[str, type[Any]], ...] = ()
    """Names and classes of the user's own method and refinements, which a worker has to know to load the encoder."""
    tokenizer: str | None = None
    """The tokenizer in place of the encoder's own."""

    @classmethod
    def of(cls, encoder: Encoder, tokenizer: Tokenizer | str | None = None) -> Model:
        """An encoder that was loaded from a folder, perhaps with another tokenizer."""
        if encoder.tokenizer is not None:
            raise ParameterError(
                "an encoder with a tokenizer of its own cannot travel to workers: use one with noppa's tokenizer"
            )
        if encoder.identity.path is None:
            raise ParameterError("only a saved encoder can be found by workers: save it first")
        parts: list[Any] = [encoder.method, *encoder.refine]
        names = [registry.to_dict(part)["name"] for part in parts]
        own = [
            (name, type(part))
            for name, part in zip(names, parts, strict=True)
            if name not in registry.BUILT_IN
        ]
        how = None if tokenizer is None else str(Tokenizer.parse(tokenizer))
        return cls(encoder.identity, registered=tuple(own), tokenizer=how)

    def open(self) -> Encoder:
        """The encoder, mapped into memory the first time."""
        use_instructions(self.instructions)
        for name, kind in self.registered:
            registry.register(name, kind)
        return _opened(self.identity, self.sent, self.tokenizer)

    def send(self, folder: Place) -> Model:
        """Copy the encoder into a folder that the workers see."""
        source = self.identity.path
        assert source is not None, "of() refuses an encoder in memory"
        target = folder / f"{MODEL}{self.identity.checksum[:16]}"
        words = words_folder(source)
        # The words may lie beside the encoder: copy both under one folder, with the same relative path between them.
        top = Path(os.path.commonpath([source, words]))
        for part in {source, words}:
            for file in sorted(part.rglob("*")):
                if file.is_file():
                    copy = target / file.relative_to(top).as_posix()
                    Place(copy.files, copy.path.rpartition("/")[0]).make()
                    copy.write(file.read_bytes())
        inside = source.relative_to(top).as_posix()
        return replace(self, sent=(target if inside == "." else target / inside).address)


def use_instructions(name: str) -> None:
    """Switch to the driver's instruction set, on which the last bits of a vector depend."""
    if name == kernels.instruction_set():
        return
    if name not in kernels.instruction_sets():
        raise ParameterError(
            f"a worker lacks the instruction set {name}, without which it gives other bytes: "
            f"set NOPPA_ISA={kernels.instruction_sets()[0]} where you start the run"
        )
    kernels.use_instruction_set(name)


@lru_cache(maxsize=2)
def _opened(identity: Identity, sent: str | None, tokenizer: str | None) -> Encoder:
    encoder = _saved(identity, sent)
    return encoder if tokenizer is None else encoder.with_tokenizer(tokenizer)


def _saved(identity: Identity, sent: str | None) -> Encoder:
    if identity.is_on_disk:
        return reopen(identity)
    if sent is None:
        raise ModelMissing(
            f"no encoder with the checksum {identity.checksum} at {identity.name} on this worker"
        )
    place = Place.of(sent)
    folder = Path(place.path) if place.is_local else _fetched(place, identity.checksum)
    encoder = Encoder.load(folder, identity.tokenizer or None)
    if encoder.identity.checksum != identity.checksum:
        raise FileError(f"the encoder in {sent} is not the one that was sent there: run again")
    return encoder


def _fetched(place: Place, checksum: str) -> Path:
    """A copy on this machine's disk, which all its workers map."""
    # `place` may be a subfolder of what was sent, with the words beside it.
    name, inside = place.name, ""
    if not name.startswith(MODEL):
        inside, place = name, Place(place.files, place.path.rpartition("/")[0])
    cached = Path(tempfile.gettempdir()) / f"noppa-{os.getuid()}-{checksum[:16]}"
    identity = Identity.from_folder(cached / inside, checksum)
    if not identity.is_on_disk:
        download = Path(tempfile.mkdtemp(prefix=f"{cached.name}.", dir=cached.parent))
        try:
            place.files.get(f"{place.path}/", f"{download}/", recursive=True)
            # Another worker may have been faster, and others may be reading its copy: remove none but a damaged one.
            with suppress(OSError):
                os.replace(download, cached)
            if download.exists() and not identity.is_on_disk:
                shutil.rmtree(cached, ignore_errors=True)
                os.replace(download, cached)
        except OSError:
            if not identity.is_on_disk:
                raise
        finally:
            shutil.rmtree(download, ignore_errors=True)
    return cached / inside

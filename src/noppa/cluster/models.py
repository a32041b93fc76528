"""The encoder on every worker: found by its path and its checksum, or sent, and mapped into memory once a process."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from noppa.cluster.places import Place
from noppa.encoder import embedded
from noppa.encoder.encoder import Encoder
from noppa.encoder.encoder_folder import checksum as fingerprint
from noppa.encoder.encoder_folder import words_of
from noppa.errors import FileError, NoppaError, ParameterError
from noppa.io import storage
from noppa.kernels.backend import kernels

MODEL = "model"


class NoModel(NoppaError):
    """A worker found no encoder with the right checksum: the driver has to send it."""


@dataclass(frozen=True)
class Model:
    """Which encoder: the checksum of all that is in it, where it was, where it was sent, and for which instructions."""

    checksum: str
    path: str
    sent: str | None = None
    instructions: str = field(default_factory=kernels.instruction_set)
    """The instruction set of the driver, on which the last bits of a vector depend."""

    @classmethod
    def of(cls, encoder: Encoder) -> Model:
        """An encoder that was loaded from a folder."""
        if encoder.tokenizer is not None:
            raise ParameterError(
                "an encoder with a tokenizer of its own cannot travel to workers: use one with noppa's tokenizer"
            )
        if encoder.path is None:
            raise ParameterError("only a saved encoder can be found by workers: save it first")
        return cls(fingerprint(encoder.path), str(encoder.path))

    def open(self) -> Encoder:
        """The encoder, mapped into memory the first time."""
        if self.instructions != kernels.instruction_set():
            if self.instructions not in kernels.instruction_sets():
                raise ParameterError(
                    f"a worker lacks the instruction set {self.instructions}, without which it gives other bytes: "
                    f"set NOPPA_ISA={kernels.instruction_sets()[0]} where you start the run"
                )
            kernels.use_instruction_set(self.instructions)
        return _opened(self.checksum, self.path, self.sent)

    def send(self, folder: Place) -> Model:
        """Copy the encoder into a folder that the workers see; they find it there."""
        target = folder / f"{MODEL}-{self.checksum[:16]}"
        source = Path(self.path)
        words = words_of(source)
        # the words may lie beside the encoder: both go in one folder, with the same way from one to the other
        top = Path(os.path.commonpath([source, words]))
        for part in {source, words}:
            for file in sorted(part.rglob("*")):
                if file.is_file():
                    to = target / file.relative_to(top).as_posix()
                    Place(to.files, to.path.rpartition("/")[0]).make()
                    to.write(file.read_bytes())
        inside = source.relative_to(top).as_posix()
        return replace(self, sent=(target if inside == "." else target / inside).address)


@lru_cache(maxsize=2)
def _opened(wanted: str, path: str, sent: str | None) -> Encoder:
    presets = [embedded.FOLDER / name for name in embedded.presets()]
    for folder in [Path(path), *presets]:
        if _is(folder, wanted):
            return Encoder.open_folder(
                folder, verified=storage.INSTALLED if folder in presets else storage.VERIFIED_BYTES
            )
    if sent is None:
        raise NoModel(f"no encoder with the checksum {wanted} at {path} on this worker")
    place = Place.of(sent)
    folder = Path(place.path) if place.is_local else _fetched(place, wanted)
    if not _is(folder, wanted):
        raise FileError(f"the encoder in {sent} is not the one that was sent there: run again")
    return Encoder.load(folder)


def _is(folder: Path, wanted: str) -> bool:
    try:
        return fingerprint(folder) == wanted
    except FileError:
        return False


def _fetched(place: Place, wanted: str) -> Path:
    """A copy on this machine's disk, which all processes here map."""
    # `sent` may point into the copied folder, to an encoder whose words lie beside it
    name, inside = place.name, ""
    if not name.startswith(f"{MODEL}-"):
        inside, place = name, Place(place.files, place.path.rpartition("/")[0])
    kept = Path(tempfile.gettempdir()) / f"noppa-{os.getuid()}-{wanted[:16]}"
    if not _is(kept / inside, wanted):
        new = Path(tempfile.mkdtemp(prefix=f"{kept.name}.", dir=kept.parent))
        try:
            place.files.get(f"{place.path}/", f"{new}/", recursive=True)
            shutil.rmtree(kept, ignore_errors=True)
            os.replace(new, kept)
        except OSError:
            if not _is(kept / inside, wanted):  # another process may have been faster
                raise
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return kept / inside

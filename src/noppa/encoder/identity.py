"""Which encoder: what names, pickles, stores and sends one, wherever it came from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from noppa.encoder import embedded, encoder_folder
from noppa.errors import FileError
from noppa.io import storage
from noppa.io.repository import name_of, named

PRESET, FOLDER, HUB, MEMORY = "preset", "folder", "hub", "memory"


@dataclass(frozen=True)
class Identity:
    """A preset by its name, a saved encoder by its folder or its repository, or one that is in memory alone and has no name.

    checksum: of everything that the encoder and its words hold on disk; "" in memory.
    """

    kind: str
    name: str
    checksum: str

    @classmethod
    def of_folder(cls, path: Path, checksum: str) -> Identity:
        """A preset and a repository go by their names, since they lie elsewhere on another machine."""
        if path.parent == embedded.FOLDER:
            return cls(PRESET, path.name, checksum)
        if (name := name_of(path)) is not None:
            return cls(HUB, name, checksum)
        return cls(FOLDER, str(path.absolute()), checksum)

    @property
    def path(self) -> Path | None:
        """The folder here, None in memory."""
        if self.kind == MEMORY:
            return None
        if self.kind == HUB:
            repository = named(self.name)
            return repository.folder / repository.revision
        return embedded.FOLDER / self.name if self.kind == PRESET else Path(self.name)

    @property
    def verified(self) -> int:
        """Files up to this many bytes are compared with their checksums on opening; those of the package are trusted."""
        return storage.INSTALLED if self.kind == PRESET else storage.VERIFIED_BYTES

    @property
    def is_on_disk(self) -> bool:
        """Whether its folder is there and still holds the same encoder."""
        try:
            return self.path is not None and encoder_folder.checksum(self.path) == self.checksum
        except FileError:
            return False


#: An encoder that no folder holds.
IN_MEMORY = Identity(MEMORY, "", "")

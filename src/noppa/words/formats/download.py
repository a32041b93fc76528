"""Well-known sets of word vectors, downloaded from their publishers by pooch."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from noppa.errors import FileError, ParameterError
from noppa.extras import needs

TIMEOUT = 30.0
ATTEMPTS = 3
CHUNK_BYTES = 1 << 18


class VectorSet(NamedTuple):
    """A published file; sha256 is "" if no checksum is known."""

    url: str
    sha256: str
    about: str


@cache
def vector_sets() -> dict[str, VectorSet]:
    """Return all sets by their names; `CODE` in a name stands for the code of a language."""
    text = resources.files("noppa.words.formats").joinpath("vector_sets.tsv").read_text("utf-8")
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return {name: VectorSet(url, sha256.strip("-"), about) for name, url, sha256, about in rows}


def find_set(name: str) -> VectorSet:
    """Return a set by its name."""
    for pattern, found in vector_sets().items():
        if re.fullmatch(re.escape(pattern).replace("CODE", "[a-z]{2,12}"), name):
            return found._replace(url=found.url.format(name=name))
    raise ParameterError(f"there is no set {name!r}", f"choose from {', '.join(vector_sets())}")


def download(
    vectors: VectorSet, folder: Path, progress: Callable[[int, int], None] | None = None
) -> Path:
    """Return the path of the downloaded file; a file that exists with the right checksum is not downloaded again."""
    with needs("download", "downloading word vectors"):
        import pooch
        from requests import RequestException
    base, _, name = vectors.url.rpartition("/")
    known = f"sha256:{vectors.sha256}" if vectors.sha256 else None
    client = pooch.create(folder, f"{base}/", registry={name: known}, retry_if_failed=ATTEMPTS - 1)
    bar = False if progress is None else _ProgressBar(progress)
    downloader = pooch.HTTPDownloader(bar, CHUNK_BYTES, timeout=TIMEOUT)
    try:
        return Path(client.fetch(name, downloader=downloader))
    except (OSError, ValueError, RequestException) as error:
        reason = " ".join(str(error).split())
        raise FileError(
            f"{vectors.url} could not be downloaded: {reason}",
            f"try again later, or put the file at {folder / name}",
        ) from error


@dataclass
class _ProgressBar:
    """A progress bar with the interface that pooch expects."""

    progress: Callable[[int, int], None]
    total: int = 0
    done: int = 0

    def update(self, size: int) -> None:
        self.done = min(self.done + size, self.total)
        self.progress(self.done, self.total)

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        pass

"""Well-known sets of word vectors, downloaded from their publishers by pooch."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from noppa.errors import FileError, ParameterError
from noppa.extras import needs

GLOVE = "https://nlp.stanford.edu/data/"
FASTTEXT = "https://dl.fbaipublicfiles.com/fasttext/"
GOOGLE_NEWS = "https://s3.amazonaws.com/dl4j-distribution/GoogleNews-vectors-negative300.bin.gz"
NUMBERBATCH = "https://conceptnet.s3.amazonaws.com/downloads/2019/numberbatch/"

TIMEOUT = 30.0
ATTEMPTS = 3
CHUNK_BYTES = 1 << 18


class VectorSet(NamedTuple):
    """A published file; sha256 is "" if its publisher gives no checksum and nobody else pins one."""

    url: str
    sha256: str
    about: str


#: The publishers give no checksums: these are the ones that JuliaText's Embeddings.jl pins.
SETS = {
    "glove.6B": VectorSet(
        f"{GLOVE}glove.6B.zip",
        "617afb2fe6cbd085c235baf7a465b96f4112bd7f7ccb2b2cbd649fed9cbcf2fb",
        "0.9 GB: Wikipedia and Gigaword, 400,000 words, lower case; a zip archive of 50 to 300 dimensions",
    ),
    "glove.42B.300d": VectorSet(
        f"{GLOVE}glove.42B.300d.zip",
        "03d5d7fa28e58762ace4b85fb71fe86a345ef0b5ff39f5390c14869da0fc1970",
        "1.9 GB: Common Crawl, 1.9 million words, lower case",
    ),
    "glove.840B.300d": VectorSet(
        f"{GLOVE}glove.840B.300d.zip",
        "c06db255e65095393609f19a4cfca20bf3a71e20cc53e892aafa490347e3849f",
        "2.2 GB: Common Crawl, 2.2 million words, cased; the paper's vectors",
    ),
    "glove.twitter.27B": VectorSet(
        f"{GLOVE}glove.twitter.27B.zip",
        "792af52f795d1a32c9842a3240f5f3fe5e941a8ff6df5eb0f9d668092ebc019c",
        "1.5 GB: Twitter, 1.2 million words, lower case; a zip archive of 25 to 200 dimensions",
    ),
    "fasttext.crawl-300d-2M": VectorSet(
        f"{FASTTEXT}vectors-english/crawl-300d-2M.vec.zip",
        "5bfffffbabdab299d4c9165c47275e8f982807a6eaca37ee1f71d3a79ddb544d",
        "1.5 GB: Common Crawl, 2 million words, cased",
    ),
    "fasttext.wiki-news-300d-1M": VectorSet(
        f"{FASTTEXT}vectors-english/wiki-news-300d-1M.vec.zip",
        "bdeb85f44892c505953e3654183e9cb0d792ee51be0992460593e27198d746f8",
        "0.7 GB: Wikipedia and news, 1 million words, cased",
    ),
    "word2vec.googlenews-300d": VectorSet(
        GOOGLE_NEWS,
        "21c05ae916a67a4da59b1d006903355cced7de7da1e42bff9f0504198c748da8",
        "1.6 GB: Google News, 3 million words and phrases, cased",
    ),
    "numberbatch-19.08": VectorSet(
        f"{NUMBERBATCH}numberbatch-19.08.txt.gz",
        "",
        "ConceptNet, 78 languages, 9 million words spelled /c/en/cake",
    ),
    "numberbatch-en-19.08": VectorSet(
        f"{NUMBERBATCH}numberbatch-en-19.08.txt.gz",
        "",
        "ConceptNet, 516,000 English words and phrases, lower case",
    ),
}

#: Sets for many languages: the pattern of their names, by the code of the language, and their URLs.
LANGUAGE_SETS = {
    "cc.CODE.300.vec": (
        f"{FASTTEXT}vectors-crawl/{{name}}.gz",
        "fastText, 157 languages: Common Crawl and Wikipedia, text",
    ),
    "cc.CODE.300.bin": (
        f"{FASTTEXT}vectors-crawl/{{name}}.gz",
        "fastText, 157 languages: the model, which also makes vectors of unknown words",
    ),
    "wiki.CODE.align.vec": (
        f"{FASTTEXT}vectors-aligned/{{name}}",
        "fastText, 44 languages: Wikipedia, in one space with the other aligned languages",
    ),
}


def list_sets() -> dict[str, str]:
    """Return the names of all sets with their descriptions; `CODE` in a name stands for the code of a language."""
    languages = {name: about for name, (_, about) in LANGUAGE_SETS.items()}
    return {name: entry.about for name, entry in SETS.items()} | languages


def find_set(name: str) -> VectorSet:
    """Return a set by its name."""
    if name in SETS:
        return SETS[name]
    for pattern, (url, about) in LANGUAGE_SETS.items():
        if re.fullmatch(re.escape(pattern).replace("CODE", "[a-z]{2,12}"), name):
            return VectorSet(url.format(name=name), "", about)
    raise ParameterError(f"there is no set {name!r}", f"choose from {', '.join(list_sets())}")


def download(
    vectors: VectorSet, folder: Path, progress: Callable[[int, int], None] | None = None
) -> Path:
    """Return the path of the downloaded file; a file that exists with the right checksum is not downloaded again.

    Raises:
        FileError: the download failed, or its checksum is wrong.
    """
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

"""Well-known sets of word vectors: the publishers' URLs, sizes and checksums; of 157 languages in `languages.tsv`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True)
class Entry:
    """One file: its URLs in order of preference, its size and SHA-256, None where nobody publishes them."""

    name: str
    urls: tuple[str, ...]
    size: int | None
    sha256: str | None
    about: str

    @property
    def file(self) -> str:
        return self.urls[0].rsplit("/", 1)[1]


def _glove(name: str, size: int, sha256: str, about: str) -> Entry:
    mirrors = (
        "https://nlp.stanford.edu/data/",
        "https://nlp.stanford.edu/data/wordvecs/",
        "https://downloads.cs.stanford.edu/nlp/data/",
        "https://downloads.cs.stanford.edu/nlp/data/wordvecs/",
        "https://huggingface.co/stanfordnlp/glove/resolve/main/",
    )
    return Entry(name, tuple(f"{mirror}{name}.zip" for mirror in mirrors), size, sha256, about)


def _fasttext(file: str, size: int, sha256: str, about: str) -> Entry:
    mirrors = (
        "https://dl.fbaipublicfiles.com/fasttext/vectors-english/",
        "https://s3-us-west-1.amazonaws.com/fasttext-vectors/",
    )
    name = "fasttext." + file.removesuffix(".vec.zip")
    return Entry(name, tuple(mirror + file for mirror in mirrors), size, sha256, about)


def _unpublished(url: str, name: str, about: str) -> Entry:
    """A file of which no size and no checksum is published."""
    return Entry(name, (url,), None, None, about)


#: The publishers give no checksums: these are the ones that JuliaText's Embeddings.jl pins.
CATALOGUE: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        _glove(
            "glove.6B",
            862182613,
            "617afb2fe6cbd085c235baf7a465b96f4112bd7f7ccb2b2cbd649fed9cbcf2fb",
            "Wikipedia and Gigaword, 400,000 words, lower case, 50 to 300 dimensions (choose with --member)",
        ),
        _glove(
            "glove.42B.300d",
            1877800501,
            "03d5d7fa28e58762ace4b85fb71fe86a345ef0b5ff39f5390c14869da0fc1970",
            "Common Crawl, 1.9 million words, lower case",
        ),
        _glove(
            "glove.840B.300d",
            2176768927,
            "c06db255e65095393609f19a4cfca20bf3a71e20cc53e892aafa490347e3849f",
            "Common Crawl, 2.2 million words, cased; the paper's vectors",
        ),
        _glove(
            "glove.twitter.27B",
            1520408563,
            "792af52f795d1a32c9842a3240f5f3fe5e941a8ff6df5eb0f9d668092ebc019c",
            "Twitter, 1.2 million words, lower case, 25 to 200 dimensions (choose with --member)",
        ),
        _fasttext(
            "crawl-300d-2M.vec.zip",
            1523785255,
            "5bfffffbabdab299d4c9165c47275e8f982807a6eaca37ee1f71d3a79ddb544d",
            "Common Crawl, 2 million words, cased",
        ),
        _fasttext(
            "wiki-news-300d-1M.vec.zip",
            681808098,
            "bdeb85f44892c505953e3654183e9cb0d792ee51be0992460593e27198d746f8",
            "Wikipedia and news, 1 million words, cased",
        ),
        Entry(
            "word2vec.googlenews-300d",
            ("https://s3.amazonaws.com/dl4j-distribution/GoogleNews-vectors-negative300.bin.gz",),
            1647046227,
            "21c05ae916a67a4da59b1d006903355cced7de7da1e42bff9f0504198c748da8",
            "Google News, 3 million words and phrases, cased",
        ),
        *(
            _unpublished(
                f"https://conceptnet.s3.amazonaws.com/downloads/2019/numberbatch/{name}.txt.gz",
                name,
                about,
            )
            for name, about in (
                (
                    "numberbatch-19.08",
                    "ConceptNet, 78 languages, 9 million words spelled /c/en/cake",
                ),
                (
                    "numberbatch-en-19.08",
                    "ConceptNet, 516,000 English words and phrases, lower case",
                ),
            )
        ),
    )
}

FASTTEXT = "https://dl.fbaipublicfiles.com/fasttext/"


@cache
def language_sets() -> dict[str, list[Entry]]:
    """The sets of each language, by its code: fastText's of the Common Crawl, as text and as a model, and the aligned ones."""
    file = resources.files("noppa.words.formats") / "languages.tsv"
    lines = file.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return {code: _sets(code, name, kinds.split()) for code, name, kinds in rows}


def _sets(code: str, language: str, kinds: list[str]) -> list[Entry]:
    crawl = {
        f"cc.{code}.300.vec": f"{language}: Common Crawl and Wikipedia, text",
        f"cc.{code}.300.bin": f"{language}: the model, which makes vectors of unknown words (unpacked on loading)",
    }
    sets = [
        _unpublished(f"{FASTTEXT}vectors-crawl/{name}.gz", name, about)
        for name, about in crawl.items()
    ]
    if "aligned" in kinds:
        name = f"wiki.{code}.align.vec"
        about = f"{language}: Wikipedia, in one space with the other aligned languages"
        sets.append(_unpublished(f"{FASTTEXT}vectors-aligned/{name}", name, about))
    return sets


def every_set() -> dict[str, Entry]:
    """All sets by their names."""
    return CATALOGUE | {entry.name: entry for sets in language_sets().values() for entry in sets}

"""noppa: sentence vectors without a neural network.

import noppa

words = noppa.WordVectors(["a", "cake"], [[0.1, 0.2], [0.3, 0.4]], probabilities=[0.9, 0.1])
model = noppa.Encoder(words, noppa.NoPPA(a=0.05, k=0))
model.encode(["a cake", "cake"])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

try:
    import noppa._native  # noqa: F401
except ModuleNotFoundError as error:
    raise ImportError(
        "noppa's native module is missing: build it with `pip install .` (in a checkout: `make build/dev/module`), "
        "which needs g++ or clang++"
    ) from error

from noppa.encoder.encoder import Encoder
from noppa.encoder.models import SupportsEncode, external, load
from noppa.errors import NoppaError, NoppaWarning, UnknownWordsWarning
from noppa.methods import (
    DCT,
    GEM,
    METHODS,
    S3E,
    SIF,
    USIF,
    VLAWE,
    Average,
    FastSent,
    Method,
    NoPPA,
    Sent2Vec,
    TfIdf,
    register,
)
from noppa.refine import CommonComponents, Moments, NoiseRemoval, Normalize, Refinement, Whitening
from noppa.text.tokenizer import Tokenizer
from noppa.words.word_vectors import WordVectors

if TYPE_CHECKING:
    from noppa.classify.classifier import Classifier, load_classifier
    from noppa.dedupe.deduplicate import deduplicate
    from noppa.search.index import Index
    from noppa.topics.find_topics import find_topics
    from noppa.topics.keywords import keywords

#: Imported on first use: few processes need them, and they would slow every start.
LATE = {
    "Classifier": "noppa.classify.classifier",
    "Index": "noppa.search.index",
    "deduplicate": "noppa.dedupe.deduplicate",
    "find_topics": "noppa.topics.find_topics",
    "keywords": "noppa.topics.keywords",
    "load_classifier": "noppa.classify.classifier",
}


def __getattr__(name: str) -> Any:
    """Import the names of `LATE` on first use."""
    if name == "__version__":
        from importlib.metadata import version

        return version("noppa")
    if name in LATE:
        return getattr(import_module(LATE[name]), name)
    raise AttributeError(f"module 'noppa' has no attribute {name!r}")


__all__ = [
    "DCT",
    "GEM",
    "METHODS",
    "S3E",
    "SIF",
    "USIF",
    "VLAWE",
    "Average",
    "Classifier",
    "CommonComponents",
    "Encoder",
    "FastSent",
    "Index",
    "Method",
    "Moments",
    "NoPPA",
    "NoiseRemoval",
    "NoppaError",
    "NoppaWarning",
    "Normalize",
    "Refinement",
    "Sent2Vec",
    "SupportsEncode",
    "TfIdf",
    "Tokenizer",
    "UnknownWordsWarning",
    "Whitening",
    "WordVectors",
    "__version__",
    "deduplicate",
    "external",
    "find_topics",
    "keywords",
    "load",
    "load_classifier",
    "register",
]

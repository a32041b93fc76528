"""noppa: sentence vectors without a neural network.

text -> tokens -> ids -> pool -> refine -> vectors
        tokens    words  methods refine    encoder

import noppa

words = noppa.WordVectors(["a", "cake"], [[0.1, 0.2], [0.3, 0.4]], probabilities=[0.9, 0.1])
model = noppa.Encoder(words, noppa.NoPPA(a=0.05, k=0))
model.encode(["a cake", "cake"])
"""

from __future__ import annotations

from noppa.encoder.embedded import load
from noppa.encoder.encoder import Encoder
from noppa.encoder.external import external
from noppa.errors import NoppaError, NoppaWarning
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
    NoPPA,
    Sent2Vec,
    TfIdf,
)
from noppa.refine import CommonComponents, Moments, NoiseRemoval, Normalise, Whitening
from noppa.words.word_vectors import WordVectors


def __getattr__(name: str) -> str:
    """`__version__`, read from the installed package when somebody asks: it takes longer than all the rest."""
    if name == "__version__":
        from importlib.metadata import version

        return version("noppa")
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
    "CommonComponents",
    "Encoder",
    "FastSent",
    "Moments",
    "NoPPA",
    "NoiseRemoval",
    "NoppaError",
    "NoppaWarning",
    "Normalise",
    "Sent2Vec",
    "TfIdf",
    "Whitening",
    "WordVectors",
    "__version__",
    "external",
    "load",
]

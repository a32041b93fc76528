"""ids -> rows: pooling methods by family, behind the class of `noppa.methods.method`."""

from __future__ import annotations

from noppa.methods.clusters import S3E, VLAWE
from noppa.methods.gem import GEM
from noppa.methods.means import DCT, SIF, USIF, Average, TfIdf
from noppa.methods.method import Method
from noppa.methods.noppa import NoPPA
from noppa.methods.registry import METHODS, register
from noppa.methods.trained import FastSent, Sent2Vec

__all__ = [
    "DCT",
    "GEM",
    "METHODS",
    "S3E",
    "SIF",
    "USIF",
    "VLAWE",
    "Average",
    "FastSent",
    "Method",
    "NoPPA",
    "Sent2Vec",
    "TfIdf",
    "register",
]

"""Pooling methods, one small file each, behind the protocol of `noppa.methods.protocol`."""

from __future__ import annotations

from typing import Any

from noppa.methods.average import Average
from noppa.methods.dct import DCT
from noppa.methods.fastsent import FastSent
from noppa.methods.gem import GEM
from noppa.methods.noppa import NoPPA
from noppa.methods.s3e import S3E
from noppa.methods.sent2vec import Sent2Vec
from noppa.methods.sif import SIF
from noppa.methods.tfidf import TfIdf
from noppa.methods.usif import USIF
from noppa.methods.vlawe import VLAWE

#: Every method by the name that the command line and saved encoders use.
METHODS: dict[str, type[Any]] = {
    "noppa": NoPPA,
    "average": Average,
    "tfidf": TfIdf,
    "sif": SIF,
    "usif": USIF,
    "dct": DCT,
    "vlawe": VLAWE,
    "s3e": S3E,
    "gem": GEM,
    "fastsent": FastSent,
    "sent2vec": Sent2Vec,
}

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
    "NoPPA",
    "Sent2Vec",
    "TfIdf",
]

"""ids -> rows: pooling methods, one small file each, behind the class of `noppa.methods.method`."""

from __future__ import annotations

from noppa.methods.average import Average
from noppa.methods.dct import DCT
from noppa.methods.fastsent import FastSent
from noppa.methods.gem import GEM
from noppa.methods.method import Method
from noppa.methods.noppa import NoPPA
from noppa.methods.registry import METHODS, register
from noppa.methods.s3e import S3E
from noppa.methods.sent2vec import Sent2Vec
from noppa.methods.sif import SIF
from noppa.methods.tfidf import TfIdf
from noppa.methods.usif import USIF
from noppa.methods.vlawe import VLAWE

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

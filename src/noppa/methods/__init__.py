"""Pooling methods, one small file each, behind the protocol of `noppa.methods.protocol`."""

from __future__ import annotations

from typing import Any

from noppa.methods.noppa import NoPPA

#: Every method by the name that the command line and saved encoders use.
METHODS: dict[str, type[Any]] = {"noppa": NoPPA}

__all__ = ["METHODS", "NoPPA"]

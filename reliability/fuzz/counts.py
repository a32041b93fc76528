"""Files of word counts: probabilities between 0 and 1, or one sentence."""

from __future__ import annotations

from tempfile import NamedTemporaryFile

import numpy as np

from noppa import NoppaError, WordVectors
from reliability.fuzz._vector_files import assert_sentence

WORDS = WordVectors(["the", "cake", "."], np.eye(3))

#: A byte that chooses what happens to bytes that are no UTF-8, and the file.
SEEDS = [
    b"\0the 9\ncake 1\n",
    b"\1the\t9\r\n  New York 3.5\ncaf\xc3 1\n",
    b"\2The 1e3\nthe 2\n\xff 7",
    b"\0the 1e18\ncake " + b"9" * 400 + b"\n",
    b"\0the nan\ncake inf\n. -0\n",
]


def once(data: bytes) -> None:
    errors = ("strict", "replace", "skip")[data[0] % 3] if data else "strict"
    with NamedTemporaryFile() as file:
        file.write(data[1:])
        file.flush()
        try:
            words = WORDS.with_counts(file.name, errors=errors)
        except NoppaError as error:
            return assert_sentence(error)
    values = words.probabilities
    assert values is not None
    assert ((values >= 0) & (values <= 1)).all(), f"no probabilities: {values}"

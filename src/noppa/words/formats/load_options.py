"""Options for reading a vector file."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from noppa.errors import InputError
from noppa.parameters import one_of, whole
from noppa.words.ngram_vectors import SENTENCE_END

#: Called with the bytes read so far and the bytes in all.
Progress = Callable[[int, int], None]

DTYPES = ("float32", "float16", "int8")


@dataclass(frozen=True)
class Options:
    """Checked options of `WordVectors.load`, which documents them."""

    limit: int | None = None
    keep: Collection[str] | None = None
    drop: Collection[str] = (SENTENCE_END,)
    dtype: str = "float32"
    header: bool | None = None
    errors: str = "strict"
    on_error: str = "raise"
    strict: bool = False
    member: str | None = None
    vocabulary: str | PathLike[str] | None = None
    threads: int | None = None
    progress: Progress | None = None
    scratch: Path | None = None
    """A folder on disk for the rows, which then are mapped instead of held in memory."""

    def __post_init__(self) -> None:
        if self.limit is not None:
            object.__setattr__(self, "limit", whole(self.limit, "limit", 1))
        for name, value in (("keep", self.keep), ("drop", self.drop)):
            if isinstance(value, str):
                raise InputError(
                    f"{name} is a str: give a collection of words, for example [{value!r}]"
                )
        one_of(self.dtype, "dtype", DTYPES)
        one_of(self.header, "header", (True, False, None))
        one_of(self.errors, "errors", ("strict", "replace", "skip"))
        one_of(self.on_error, "on_error", ("raise", "skip"))

    def with_progress(self, progress: Progress) -> Options:
        return replace(self, progress=progress)

"""What `encode` and `fit` are both asked: which texts, on which engine, and what to do with bad records."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from noppa.cluster.dask import dask
from noppa.cluster.models import Model
from noppa.cluster.places import Place
from noppa.cluster.plan import Found
from noppa.cluster.shard import ON_BAD
from noppa.cluster.single import single
from noppa.cluster.spark import spark
from noppa.cluster.tasks import Engine, Run
from noppa.encoder.encoder import Encoder
from noppa.errors import FileError, ParameterError
from noppa.io.outputs import folders_of, refuse_input_as_output
from noppa.parameters import one_of, whole
from noppa.records.batch import Input

ENGINES: dict[str, Engine] = {"dask": dask, "spark": spark, "single": single}


@dataclass(frozen=True)
class Request:
    """The options that both take, checked."""

    engine: str
    scheduler: str | None
    workers: int | None
    on_bad: str
    shard_size: int

    def __post_init__(self) -> None:
        one_of(self.engine, "engine", tuple(ENGINES))
        one_of(self.on_bad, "on_bad", ON_BAD)
        object.__setattr__(self, "shard_size", whole(self.shard_size, "shard_size", 1))
        if self.workers is not None:
            whole(self.workers, "workers", 1)

    def started(self) -> AbstractContextManager[Run]:
        """The engine, as long as the block lasts."""
        return ENGINES[self.engine](self.scheduler, self.workers)


def wanted_input(inputs: Any, form: str | None, column: str | None, header: bool) -> Input:
    """The texts that a user names."""
    paths = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    if not paths:
        raise ParameterError("there is no input: give files, folders or patterns")
    return Input([os.fspath(path) for path in paths], form, column, header)


def refuse_inputs(
    target: Place, paths: Sequence[str], files: list[Found], encoder: Encoder
) -> None:
    """Refuse an output that is an input, lies in one, or is a folder around one, on any file system."""
    sources = [*map(Place.of, paths), *(file.place for file in files)]
    if target.is_local:
        local = [place.path for place in sources if place.is_local]
        refuse_input_as_output(target.path, [*local, *folders_of(encoder)])
    for source in sources:
        inside = f"{target}/".startswith(f"{source}/") or f"{source}/".startswith(f"{target}/")
        if inside:
            raise FileError(f"{target} and the input {source} overlap: choose another output")


def input_facts(wanted: Input, files: list[Found]) -> dict[str, Any]:
    """What the books say of the input, so that a change is noticed."""
    return {
        "input": [(file.place.address, file.size, file.mark) for file in files],
        "column": [wanted.form, wanted.column, wanted.header],
    }


def program_facts(model: Model) -> dict[str, Any]:
    """What the books say of the program, on which the last bits of a vector depend."""
    return {"version of noppa": version("noppa"), "instruction set": model.instructions}

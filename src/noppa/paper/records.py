"""Score candidates on tasks into records: JSON lines, one object per score with everything needed to reproduce it."""

from __future__ import annotations

import json
import platform
import re
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

import noppa
from noppa import _native as kernels
from noppa.classify.probe import SEED
from noppa.errors import FileError
from noppa.io import storage
from noppa.paper import protocols, tasks
from noppa.paper.protocols import Candidate
from noppa.paper.tasks import Row, Task
from noppa.processes import Run
from noppa.threads import thread_count

Record = dict[str, Any]

#: Records that agree on these keys are results of the same run.
IDENTITY = (
    "task",
    "encoder",
    "parameters",
    "vectors",
    "missing",
    "protocol",
    "seed",
    "transductive",
    "selected_on",
    "search",
    "trial",
    "checked",
    "data",
)


@dataclass(frozen=True)
class Conditions:
    """The settings of a run on SentEval's data folder, which every record repeats; see `protocols.score`.

    unchecked: accept files with other checksums.
    """

    data: str | PathLike[str]
    protocol: str = "fast"
    seed: int = SEED
    transductive: bool = False
    unchecked: bool = False

    def load(self, task: Task) -> tuple[dict[str, list[Row]], dict[str, str]]:
        """Return the rows of a task, and the hashes of its files, which are checked unless `unchecked`."""
        hashes = (tasks.file_hashes if self.unchecked else tasks.check)(self.data, task)
        return tasks.read(self.data, task), hashes

    def to_dict(self) -> Record:
        """Return the settings by which records of the same run are recognized."""
        return {
            "protocol": self.protocol,
            "seed": self.seed,
            "transductive": self.transductive,
            "checked": not self.unchecked,
        }


def score_all(
    selected: Sequence[Task],
    candidates: Sequence[Candidate],
    conditions: Conditions,
    run: Run = map,
) -> Iterator[Record]:
    """Yield the record of every candidate on every task, task by task."""
    for task in selected:
        parts, hashes = conditions.load(task)
        for candidate in candidates:
            start = time.perf_counter()
            outcome = protocols.score(
                task,
                parts,
                candidate,
                conditions.protocol,
                seed=conditions.seed,
                transductive=conditions.transductive,
                run=run,
            )
            seconds = time.perf_counter() - start
            fitted_on = "train, dev and test text" if conditions.transductive else "train text"
            yield {
                "task": task.name,
                "score": round(outcome.score, 4),
                "metric": task.metric,
                "protocol": conditions.protocol,
                "encoder": candidate.name,
                "parameters": candidate.to_dict(),
                "dev": None if outcome.dev is None else round(outcome.dev, 4),
                "folds": [round(value, 4) for value in outcome.folds],
                "dev_folds": [round(value, 4) for value in outcome.dev_folds],
                **_rounded(outcome.more),
                "fitted_on": fitted_on if candidate.learns else "nothing",
                "transductive": conditions.transductive,
                "selected_on": "dev",
                "checked": not conditions.unchecked,
                "seed": conditions.seed,
                "seconds": round(seconds, 2),
                "cpu_seconds": round(outcome.cpu_seconds, 2),
                "source": tasks.source_of(task, hashes),
                "data": hashes,
            }


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def matching(records: Iterable[Record], expected: Record) -> list[Record]:
    """Return the records that have all expected values, compared as JSON."""
    values = json.loads(json.dumps(expected))
    return [row for row in records if all(row.get(key) == values[key] for key in values)]


def file_fingerprint(path: Path | None) -> dict[str, str] | None:
    """Return the name of a file and its sha256; the name alone for a folder."""
    if path is None or not path.is_file():
        return None if path is None else {"file": path.name}
    return {"file": path.name, "sha256": storage.sha256(path)}


def surroundings() -> Record:
    """Return the current commit, the versions of packages that scores depend on, and the machine."""
    versions = {
        "noppa": noppa.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    with suppress(PackageNotFoundError):
        versions["optuna"] = version("optuna")
    cpus = Path("/proc/cpuinfo")
    text = cpus.read_text(encoding="utf-8") if cpus.exists() else ""
    names = re.findall(r"^model name\s*:\s*(.*\S)", text, re.MULTILINE)
    machine = {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": names[0] if names else platform.processor(),
        "threads": thread_count(),
        "backend": "native",
        "instruction_set": kernels.instruction_set(),
    }
    return {"commit": commit(), "versions": versions, "machine": machine}


def commit() -> str | None:
    """Return the commit of the running source tree, with `+` if files were changed; None outside a git tree."""
    command = ["git", "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty=+"]
    folder = Path(__file__).parent
    try:
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return run.stdout.strip()


def append(path: str | PathLike[str], record: Record) -> None:
    """Append one record and close the file, so that an interruption loses none."""
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    except OSError as error:
        raise FileError(f"{path} cannot be written ({error.strerror})") from error


def read(paths: Iterable[str | PathLike[str]]) -> list[Record]:
    """Return the records of files in order; of several records of the same run, only the last."""
    records: dict[str, Record] = {}
    for path in map(Path, paths):
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except OSError as error:
            raise FileError(f"{path} cannot be read ({error.strerror})") from error
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
                identity = json.dumps([record.get(key) for key in IDENTITY], sort_keys=True)
                records[identity] = {"task": record["task"], "score": record["score"]} | record
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise FileError(
                    f"line {number} of {path} is no result ({error}): delete it, or write the file again"
                ) from error
    return list(records.values())

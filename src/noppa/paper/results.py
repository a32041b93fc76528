"""Results as JSON lines: one object a score, with everything needed to reproduce it."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

import noppa
from noppa import _native as kernels
from noppa.errors import FileError
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
    "shuffled_labels",
    "data",
)


def surroundings() -> Record:
    """The current commit, package versions and machine."""
    return {"commit": commit(), "versions": versions(), "machine": machine()}


def versions() -> dict[str, str]:
    packages = {
        "noppa": noppa.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    with suppress(PackageNotFoundError):
        packages["optuna"] = version("optuna")
    return packages


def machine() -> dict[str, Any]:
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "threads": thread_count(),
        "backend": "native",
        "instruction_set": kernels.instruction_set(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def commit() -> str | None:
    """The commit of the running source tree, with `+` if files were changed; None outside a git tree."""
    here = Path(__file__).parent
    try:
        name = _git(here, "rev-parse", "--short=12", "HEAD")
        return name + ("+" if _git(here, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(folder: Path, *words: str) -> str:
    run = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return run.stdout.strip()


def identity(record: Record) -> str:
    """The key of the run that a record is a result of."""
    return json.dumps([record.get(key) for key in IDENTITY], sort_keys=True)


def append(path: str | PathLike[str], record: Record) -> None:
    """Append one record and close the file, so that an interruption loses none."""
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    except OSError as error:
        raise FileError(
            f"{path} cannot be written ({error.strerror}): give a file in a folder that is there"
        ) from error


def read(paths: Iterable[str | PathLike[str]]) -> list[Record]:
    """The records of files in order; the last one where several belong to the same run."""
    records: dict[str, Record] = {}
    for path in map(Path, paths):
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except OSError as error:
            raise FileError(
                f"{path} cannot be read ({error.strerror}): give files of results"
            ) from error
        for at, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
                records[identity(record)] = {
                    "task": record["task"],
                    "score": record["score"],
                } | record
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise FileError(
                    f"line {at} of {path} is no result ({error}): delete it, or write the file again"
                ) from error
    return list(records.values())

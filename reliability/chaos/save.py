"""What happens to an encoder that is being saved when something goes wrong."""

from __future__ import annotations

from pathlib import Path

from reliability.chaos import _folders

KIND = "encoder"


def scenario_killed_while_saving(folder: Path, rounds: int) -> dict[str, int]:
    return _folders.killed_while_saving(KIND, folder, rounds)


def scenario_loaded_while_saving(folder: Path, rounds: int) -> dict[str, int]:
    return _folders.loaded_while_saving(KIND, folder, rounds)


def scenario_two_writers(folder: Path, rounds: int) -> dict[str, int]:
    return _folders.two_writers(KIND, folder, rounds)


def scenario_full_disk(folder: Path, rounds: int) -> dict[str, int]:
    return _folders.full_disk(KIND, folder, rounds)


def scenario_read_only_folder(folder: Path, rounds: int) -> dict[str, int]:
    return _folders.read_only_folder(KIND, folder, rounds)


def scenario_few_files(folder: Path, rounds: int) -> dict[str, int]:
    return _folders.few_files(KIND, folder, rounds)

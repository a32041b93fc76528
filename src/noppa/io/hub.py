"""Saved folders on the Hugging Face Hub.

A commit is downloaded once and never asked for again. Which commit a branch or tag was when it was first asked for is
remembered, so that a name gives the same bytes again, without a network.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from noppa.io import storage
from noppa.io.atomic import atomic_file
from noppa.io.repository import COMMIT, Repository, is_named, named


def located(value: Any, refresh: bool = False) -> Any:
    """The local folder of a repository's name, downloaded where it is not there yet; any other value as it is.

    refresh: ask the hub again which commit a branch or a tag is.
    """
    if not is_named(value):
        return value
    repository = named(value)
    commit = repository.revision if repository.is_pinned else None
    if commit is None and not refresh:
        commit = _remembered(repository)
    if commit is None or not (repository.folder / commit / storage.HEADER).is_file():
        from noppa.io.hub_transfer import downloaded  # few processes download

        commit = downloaded(repository if commit is None else repository.at(commit))
    if not repository.is_pinned and commit != _remembered(repository):
        _remember(repository, commit)
    return repository.folder / commit


def _remembered(repository: Repository) -> str | None:
    with suppress(OSError):
        commit = repository.ref.read_text(encoding="utf-8")
        return commit if COMMIT.fullmatch(commit) else None
    return None


def _remember(repository: Repository, commit: str) -> None:
    repository.ref.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(repository.ref) as new:
        new.write_text(commit, encoding="utf-8")

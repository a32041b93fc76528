"""Repositories of the Hugging Face Hub by their names, `hf:owner/name` or `hf:owner/name@revision`, and their place here.

A commit lies in HOME/hub/owner--name/COMMIT, as plain files that `storage` reads as any other folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from noppa.errors import ParameterError
from noppa.io.home import home
from noppa.parameters import short_repr

PREFIX, MAIN, HUB = "hf:", "main", "hub"
_NAME = re.compile(r"hf:([\w][\w.-]{0,95}/[\w][\w.-]{0,95})(?:@([\w][\w./-]{0,200}))?", re.ASCII)
COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Repository:
    """A repository of models by its id, `owner/name`, and a commit, branch or tag of it."""

    id: str
    revision: str = MAIN

    @property
    def is_pinned(self) -> bool:
        """Whether the revision is a commit, which never changes."""
        return COMMIT.fullmatch(self.revision) is not None

    @property
    def folder(self) -> Path:
        """Where its commits are kept."""
        return home() / HUB / self.id.replace("/", "--")

    @property
    def ref(self) -> Path:
        """The file that remembers the commit of the revision."""
        return self.folder / "refs" / quote(self.revision, safe="")

    def at(self, commit: str) -> Repository:
        return Repository(self.id, commit)

    def __str__(self) -> str:
        return f"{PREFIX}{self.id}@{self.revision}"


def is_named(value: object) -> bool:
    """Whether a value names a repository."""
    return isinstance(value, str) and value.startswith(PREFIX)


def named(value: str) -> Repository:
    """The repository of a name such as `hf:owner/name@revision`."""
    match = _NAME.fullmatch(value)
    if match is None or "--" in match[1] or ".." in value:
        raise ParameterError(
            f"{short_repr(value)} names no repository: write hf:owner/name or hf:owner/name@revision"
        )
    return Repository(match[1], match[2] or MAIN)


def name_of(path: Path) -> str | None:
    """The pinned name of a folder that was downloaded, None for any other."""
    place = path.absolute()
    # first what is cheap: not every machine has a home folder
    if not COMMIT.fullmatch(place.name) or place.parent.parent.name != HUB:
        return None
    if place.parent.parent != (home() / HUB).absolute():
        return None
    return str(Repository(place.parent.name.replace("--", "/"), place.name))

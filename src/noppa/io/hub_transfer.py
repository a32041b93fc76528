"""Downloads from and pushes to the Hugging Face Hub, through huggingface_hub.

A repository is untrusted input, as a folder is. The header is fetched first, and of the rest only the arrays that it lists,
each compared with the size and checksum that header and hub tell; nothing is unpickled or run.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from noppa.errors import FileError, NoppaError
from noppa.extras import needs
from noppa.io import storage
from noppa.io.atomic import atomic_folder
from noppa.io.repository import COMMIT, HUB, PREFIX, Repository, named
from noppa.parameters import short_repr
from noppa.progress_bar import in_notebook

CARD = "README.md"
_ARRAY = re.compile(r"[\w][\w .-]{0,80}\.npy", re.ASCII)
#: Folders inside a folder: the words of an encoder, the encoder of a classifier.
_INSIDE = re.compile(r"[a-z]{1,20}")
DEPTH = 2
#: What other libraries call their models, and how to get at those.
OTHERS = {
    "sentence-transformers": "use it with noppa.external, or distill words from it with noppa distill",
    "model2vec": "download it, and convert it with noppa.integrations.model2vec.encoder",
    "transformers": "noppa has no use for it",
    "fasttext": "download its file, and open it with noppa.WordVectors.load",
}


class Listed(NamedTuple):
    """A file of a repository, as the hub tells of it."""

    size: int
    sha256: str | None
    git_id: str | None


def downloaded(repository: Repository) -> str:
    """The commit of a repository, now in its folder."""
    api = _api(f"{PREFIX}{repository.id}")
    with _explained(repository, "downloaded"), _bars_where_they_are_seen():
        info = api.model_info(repository.id, revision=repository.revision, files_metadata=True)
        commit = str(info.sha)
        if not COMMIT.fullmatch(commit) or (repository.is_pinned and commit != repository.revision):
            raise FileError(
                f"{repository}: the hub gave {short_repr(commit)}, which is another commit"
            )
        pinned = repository.at(commit)
        target = pinned.folder / commit
        if not (target / storage.HEADER).is_file():
            listing = {file.rfilename: _listed(file) for file in info.siblings or ()}
            _refuse_others(repository, listing, str(info.library_name))
            target.parent.mkdir(parents=True, exist_ok=True)
            with atomic_folder(target) as new, _explained(repository, "downloaded"):
                _Fetch(api, pinned, listing, new).folder("", DEPTH)
                shutil.rmtree(new / ".cache", ignore_errors=True)  # of huggingface_hub
        return commit


def _listed(file: Any) -> Listed:
    lfs = file.lfs
    size = file.size if lfs is None else lfs.size
    return Listed(-1 if size is None else size, lfs and lfs.sha256, None if lfs else file.blob_id)


def _refuse_others(repository: Repository, listing: dict[str, Listed], library: str) -> None:
    if storage.HEADER in listing:
        return
    library = (
        "sentence-transformers" if library == "None" and "modules.json" in listing else library
    )
    what = (
        f"it is a {library} model, {OTHERS[library]}"
        if library in OTHERS
        else f"it has no {storage.HEADER}; push one with encoder.push_to_hub"
    )
    raise FileError(f"{repository} holds no saved noppa folder: {what}")


@dataclass(frozen=True)
class _Fetch:
    """Files of one commit on their way into a folder."""

    api: Any
    repository: Repository
    listing: dict[str, Listed]
    target: Path

    def folder(self, prefix: str, depth: int) -> None:
        """A saved folder of the repository: its header, the arrays that it lists, and the saved folders inside."""
        header_name = prefix + storage.HEADER
        if not 0 <= self.listing[header_name].size <= storage.MOST_HEADER_BYTES:
            raise self._damaged(header_name, "it is too large for a header")
        self._file(header_name)
        header, _ = storage.read_header(self.target / prefix)
        entries = {prefix + name: entry for name, entry in header["files"].items()}
        for name, entry in entries.items():
            self._check(name, name.removeprefix(prefix), entry)
        needed, free = sum(one["bytes"] for one in entries.values()), shutil.disk_usage(self.target).free  # fmt: skip
        if needed > free:
            raise FileError(
                f"{self.repository} needs {needed:,} bytes and {self.target.parent} has {free:,}: make room"
            )
        for name, entry in entries.items():
            self._file(name)
            if storage.sha256(self.target / name) != entry["sha256"]:
                raise self._damaged(name, "its checksum is not that of the header")
        for inside in self._inside(prefix) if depth else ():
            self.folder(f"{prefix}{inside}/", depth - 1)

    def _inside(self, prefix: str) -> Iterator[str]:
        for name in self.listing:
            middle = name.removeprefix(prefix).removesuffix(f"/{storage.HEADER}")
            if f"{prefix}{middle}/{storage.HEADER}" == name and _INSIDE.fullmatch(middle):
                yield middle

    def _check(self, name: str, own_name: str, entry: dict[str, Any]) -> None:
        """What is known before a byte of a file is fetched."""
        if not _ARRAY.fullmatch(own_name):
            raise self._damaged(short_repr(name), "no array has such a name")
        listed = self.listing.get(name)
        if listed is None:
            raise self._damaged(name, "the header lists it, and the repository lacks it")
        if listed.size != entry["bytes"] or (listed.sha256 or entry["sha256"]) != entry["sha256"]:
            raise self._damaged(name, "header and hub tell different sizes or checksums")

    def _file(self, name: str) -> None:
        """Fetch one file, which must be what the hub has listed."""
        self.api.hf_hub_download(
            self.repository.id, name, revision=self.repository.revision, local_dir=self.target
        )
        path, listed = self.target / name, self.listing[name]
        if path.stat().st_size != listed.size:
            raise self._damaged(
                name, f"it has {path.stat().st_size} bytes in place of {listed.size}"
            )
        if listed.git_id is not None and _git_id(path) != listed.git_id:
            raise self._damaged(name, "its content is not what the hub has listed")

    def _damaged(self, name: str, why: str) -> FileError:
        return FileError(f"{self.repository} is damaged: {name}: {why}; push it again")


def _git_id(path: Path) -> str:
    """The name that git gives to the content of a small file."""
    import hashlib

    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0%s" % (len(content), content), usedforsecurity=False).hexdigest()


# Uploading


class Destination(NamedTuple):
    """Where and how to push: see `Encoder.push_to_hub`."""

    repo_id: str
    revision: str | None = None
    private: bool | None = None
    token: str | None = None
    message: str | None = None


def push(to: Destination, save: Callable[[Path], None], card: Callable[[Path], str]) -> str:
    """Push what `save` writes to a repository, which is made where there is none; returns its pinned name.

    card: the text of the model card, given the saved folder; used where the repository has no card yet. Arrays of an earlier
    push that are no longer there are deleted in the same commit.
    """
    repository = named(f"{PREFIX}{to.repo_id}" + (f"@{to.revision}" if to.revision else ""))
    api = _api("push_to_hub", to.token)
    with (
        _explained(repository, "pushed to"),
        _bars_where_they_are_seen(),
        tempfile.TemporaryDirectory(prefix="noppa-") as scratch,
    ):
        folder = Path(scratch, "model")
        save(folder)
        text = card(folder)  # first, since it may refuse what it is given
        api.create_repo(repository.id, private=to.private, exist_ok=True)
        if to.revision:
            api.create_branch(repository.id, branch=to.revision, exist_ok=True)
        if not api.file_exists(repository.id, CARD, revision=repository.revision):
            (folder / CARD).write_text(text, encoding="utf-8")
        commit = api.create_commit(
            repository.id,
            _operations(api, repository, folder),
            commit_message=to.message or f"Push a saved {storage.kind_of(folder)} of noppa",
            revision=repository.revision,
        )
    with suppress(OSError):  # nothing is remembered where nothing can be written
        repository.ref.unlink()  # the next load asks for what is there now
    return str(repository.at(commit.oid))


def _operations(api: Any, repository: Repository, folder: Path) -> list[Any]:
    """All of a folder and the end of what an earlier one had more, for one commit: `upload_folder` may make several, and a reader
    between them would find a part.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    files = {file.relative_to(folder).as_posix(): file for file in sorted(folder.rglob("*")) if file.is_file()}  # fmt: skip
    earlier = api.list_repo_files(repository.id, revision=repository.revision)
    ended = [
        name
        for name in earlier
        if name not in files and (name.endswith(".npy") or Path(name).name == storage.HEADER)
    ]
    return [
        *(
            CommitOperationAdd(path_in_repo=name, path_or_fileobj=file)
            for name, file in files.items()
        ),
        *(CommitOperationDelete(path_in_repo=name) for name in ended),
    ]


def _api(what: str, token: str | None = None) -> Any:
    """The hub's client; HF_ENDPOINT is read again, since huggingface_hub reads it only when it is imported."""
    with needs(HUB, what):
        from huggingface_hub import HfApi
    return HfApi(endpoint=os.environ.get("HF_ENDPOINT"), token=token, library_name="noppa")


@contextmanager
def _bars_where_they_are_seen() -> Iterator[None]:
    """The client draws its progress bars into pipes and logs, too."""
    from huggingface_hub import utils

    leave = utils.are_progress_bars_disabled() or sys.stderr.isatty() or in_notebook()
    if not leave:
        utils.disable_progress_bars()
    try:
        yield
    finally:
        if not leave:
            utils.enable_progress_bars()


@contextmanager
def _explained(repository: Repository, action: str) -> Iterator[None]:
    """What the hub's client raises as one sentence each."""
    try:
        yield
    except NoppaError:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        raise FileError(_sentence(repository, action, error)) from error
    except Exception as error:
        if not _is_of_network(error):
            raise
        raise FileError(_sentence(repository, action, error)) from error


def _is_of_network(error: BaseException) -> bool:
    httpx = sys.modules.get("httpx")  # what huggingface_hub from 1.0 on speaks through
    return httpx is not None and isinstance(error, httpx.HTTPError)


def _sentence(repository: Repository, action: str, error: Exception) -> str:
    from huggingface_hub import errors

    if isinstance(error, RuntimeError) and isinstance(error.__cause__, Exception):
        error = error.__cause__  # what a thread of the client met
    login = "log in with `hf auth login`, or give HF_TOKEN"
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, errors.GatedRepoError):
        return f"{repository} is gated: ask for access on its page, and {login}"
    if isinstance(error, errors.RepositoryNotFoundError):
        return f"there is no {PREFIX}{repository.id}, or it is private: check the name, or {login}"
    if isinstance(error, errors.RevisionNotFoundError):
        return f"{PREFIX}{repository.id} has no revision {repository.revision!r}: give a branch, a tag or a commit of it"
    if status in (401, 403):
        return f"the hub refuses {repository} ({status}): {login}, with the right to write where you push"
    if status is not None:
        return f"the hub answered {repository} with {status}: try again later"
    if isinstance(error, OSError) and error.filename:
        return f"cannot write {error.filename} ({error.strerror}): make room there, or set NOPPA_HOME to another folder"
    why = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return (
        f"{repository} cannot be {action}: the hub cannot be reached or broke off ({why}); "
        "try again with a network"
    )

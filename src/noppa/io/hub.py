"""Saved folders on the Hugging Face Hub, by names such as `hf:owner/name` or `hf:owner/name@revision`.

Downloads are kept in the cache of huggingface_hub (`HF_HOME`), which maps names to commits. A name is looked up there first: it
gives the same commit again, without a network, until `refresh` is asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from noppa.errors import FileError, NoppaError, ParameterError
from noppa.extras import needs
from noppa.io import storage
from noppa.parameters import short_repr

PREFIX = "hf:"
MAIN = "main"
CARD = "README.md"
#: The files of a saved folder, in it and in folders inside it.
FILES = [f"*{storage.HEADER}", "*.npy"]
_NAME = re.compile(r"hf:([\w][\w.-]{0,95}/[\w][\w.-]{0,95})(?:@([\w][\w./-]{0,200}))?", re.ASCII)
_SNAPSHOT = re.compile(r"models--(.+)--(.+)/snapshots/([0-9a-f]{40})")


def is_hub_name(value: object) -> bool:
    """Whether a value names a repository."""
    return isinstance(value, str) and value.startswith(PREFIX)


def parse_name(name: str) -> tuple[str, str]:
    """Return the repository `owner/name` and the revision of a name such as `hf:owner/name@revision`."""
    match = _NAME.fullmatch(name)
    if match is None or "--" in match[1] or ".." in name:
        raise ParameterError(
            f"{short_repr(name)} is not the name of a repository",
            "write hf:owner/name or hf:owner/name@revision",
        )
    return match[1], match[2] or MAIN


def name_of(folder: Path) -> str | None:
    """Return the pinned name of a downloaded folder, or None for any other folder."""
    match = _SNAPSHOT.fullmatch("/".join(folder.absolute().parts[-3:]))
    return None if match is None else f"{PREFIX}{match[1]}/{match[2]}@{match[3]}"


def locate(path: Any, refresh: bool = False) -> Any:
    """Return the local folder of a repository's name, downloading it if necessary; return other paths as they are.

    With `refresh`, ask the hub which commit a branch or tag is now.
    """
    if not is_hub_name(path):
        return path
    if not refresh and (cached := cached_folder(path)) is not None:
        return cached
    with _hub_errors(path):
        folder = _snapshot(path)
    if not storage.is_saved_folder(folder):
        raise FileError(
            f"{path} has no {storage.HEADER}, so it is not a saved noppa folder",
            "load models of sentence-transformers with noppa.external, and those of model2vec with "
            "noppa.integrations.model2vec",
        )
    return folder


def cached_folder(name: str) -> Path | None:
    """Return the folder of a repository that was downloaded before, or None."""
    try:
        folder = _snapshot(name, local_files_only=True)
    except FileNotFoundError:
        return None
    return folder if storage.is_saved_folder(folder) else None


def _snapshot(name: str, **options: Any) -> Path:
    repo_id, revision = parse_name(name)
    return Path(
        _client(name).snapshot_download(repo_id, revision=revision, allow_patterns=FILES, **options)
    )


def push(
    repo_id: str,
    save: Callable[[Path], None],
    card: str,
    revision: str | None = None,
    private: bool | None = None,
    token: str | None = None,
    message: str | None = None,
) -> str:
    """Upload what `save` writes in one commit, creating the repository if necessary; return its pinned name.

    The card is written if the repository has none. Arrays of an earlier push that no longer exist are deleted.
    """
    name = f"{PREFIX}{repo_id}" + (f"@{revision}" if revision else "")
    _, branch = parse_name(name)
    client = _client("push_to_hub", token)
    import tempfile  # lazily: loading a saved encoder does not need it

    with _hub_errors(name), tempfile.TemporaryDirectory(prefix="noppa-") as scratch:
        folder = Path(scratch, "model")
        save(folder)
        client.create_repo(repo_id, private=private, exist_ok=True)
        if revision:
            client.create_branch(repo_id, branch=revision, exist_ok=True)
        if not client.file_exists(repo_id, CARD, revision=branch):
            (folder / CARD).write_text(card, encoding="utf-8")
        commit = client.upload_folder(
            repo_id=repo_id,
            folder_path=folder,
            revision=branch,
            commit_message=message or f"Push a saved {storage.kind_of(folder)} of noppa",
            delete_patterns=FILES,
        )
        # Fetching any file makes the cache remember the new commit of the branch, so that the next load gives it.
        client.hf_hub_download(repo_id, CARD, revision=branch)
    return f"{PREFIX}{repo_id}@{commit.oid}"


def model_card(
    repo_id: str,
    task: str,
    summary: str,
    usage: str,
    facts: Mapping[str, str],
    license: str | None,
    figures: Mapping[str, float],
) -> str:
    """Return the README.md of a repository, with the metadata that the hub reads; `usage` is lines of Python."""
    rows = {**facts, **{name: f"{value:.4g}" for name, value in figures.items()}}
    table = "".join(f"| {_cell(name)} | {_cell(value)} |\n" for name, value in rows.items())
    return f"""\
---
library_name: noppa
pipeline_tag: {task}
tags: [noppa, sentence-embeddings, cpu]
{f"license: {license}" if license else ""}
---

# {repo_id.partition("/")[2]}

{summary} Made with noppa: word vectors and mathematics, no neural network, on any CPU.

```sh
pip install 'noppa[hub]'
```

```python
{usage}
```

| | |
|---|---|
{table}
Method: Wu, Zhao, Liu: Non-Parametric Pairwise Attention Random Walk Model for Sentence Representation, arXiv:2302.12903.
"""


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")


def _client(what: str, token: str | None = None) -> Any:
    with needs("hub", what):
        from huggingface_hub import HfApi
    # huggingface_hub reads the variable only once, when it is imported
    return HfApi(endpoint=os.environ.get("HF_ENDPOINT"), token=token, library_name="noppa")


@contextmanager
def _hub_errors(name: str) -> Iterator[None]:
    """Raise the errors of the network and of the hub as a FileError on one line."""
    from httpx import HTTPError  # installed with huggingface_hub

    try:
        yield
    except NoppaError:
        raise
    except (OSError, ValueError, RuntimeError, HTTPError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FileError(
            f"the Hugging Face Hub refused {name} or cannot be reached: {reason}"
        ) from error

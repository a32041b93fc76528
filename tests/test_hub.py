"""Load models from the Hugging Face Hub and push them there, with a client that keeps repositories in a folder."""

from __future__ import annotations

import fnmatch
import hashlib
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import noppa
from tests.command import run_command
from tests.conftest import ROOT
from tests.test_docs import blocks

TEXTS = ["w1 w2", "w3", "w44 w1"]
ONE = "tester/one"


class FakeHub:
    """The calls of huggingface_hub.HfApi that noppa uses; a cache beside the repositories, as the client keeps one."""

    def __init__(self, root: Path) -> None:
        self.root, self.online, self.private = root, True, {}
        self.remote: dict[str, dict[str, dict[str, bytes]]] = {}  # repository -> revision -> files
        self.cached: dict[tuple[str, str], Path] = {}
        self.messages: list[str] = []

    def __call__(self, **_: Any) -> FakeHub:
        return self

    def commit(self, repo_id: str, branch: str, files: dict[str, bytes]) -> str:
        revisions = self.remote.setdefault(repo_id, {})
        oid = hashlib.sha1(repr((len(revisions), sorted(files))).encode()).hexdigest()
        revisions[oid] = revisions[branch] = {**files, "oid": oid.encode()}
        return oid

    def snapshot_download(
        self, repo_id: str, revision: str, allow_patterns: list[str], local_files_only: bool = False
    ) -> str:
        if local_files_only:
            if (repo_id, revision) not in self.cached:
                raise FileNotFoundError(revision)
            return str(self.cached[repo_id, revision])
        if not self.online:
            raise OSError("no network")
        if revision not in self.remote.get(repo_id, {}):
            raise RuntimeError("Revision\nNot Found")
        files = self.remote[repo_id][revision]
        oid = files["oid"].decode()
        folder = self.root / f"models--{repo_id.replace('/', '--')}" / "snapshots" / oid
        for name, content in files.items():
            if any(fnmatch.fnmatch(name, pattern) for pattern in allow_patterns):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)
        self.cached[repo_id, revision] = self.cached[repo_id, oid] = folder
        return str(folder)

    def create_repo(self, repo_id: str, private: bool | None, exist_ok: bool) -> None:
        self.private.setdefault(repo_id, private)
        if repo_id not in self.remote:
            self.commit(repo_id, "main", {})

    def create_branch(self, repo_id: str, branch: str, exist_ok: bool) -> None:
        self.remote[repo_id].setdefault(branch, self.remote[repo_id]["main"])

    def file_exists(self, repo_id: str, name: str, revision: str) -> bool:
        return name in self.remote[repo_id][revision]

    def upload_folder(
        self, repo_id: str, folder_path: Path, revision: str, commit_message: str, delete_patterns: Any
    ) -> Any:  # fmt: skip
        self.messages.append(commit_message)
        kept = {
            name: content
            for name, content in self.remote[repo_id][revision].items()
            if not any(fnmatch.fnmatch(name, pattern) for pattern in delete_patterns)
        }
        return SimpleNamespace(oid=self.commit(repo_id, revision, kept | files_of(folder_path)))

    def hf_hub_download(self, repo_id: str, name: str, revision: str) -> None:
        """The client maps the branch to its new commit; here the next load asks again."""
        assert name in self.remote[repo_id][revision]
        self.cached.pop((repo_id, revision), None)


def files_of(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeHub:
    fake = FakeHub(tmp_path / "hub")
    monkeypatch.setattr("huggingface_hub.HfApi", fake)
    return fake


def small_encoder(refine: Any = None) -> noppa.Encoder:
    rows = np.random.default_rng(1).normal(size=(60, 8))
    table = noppa.WordVectors([f"w{row}" for row in range(60)], rows)
    return noppa.Encoder(table, noppa.Average(), refine)


def test_push_and_load_an_encoder(hub, tmp_path):
    encoder = small_encoder()
    name = encoder.push_to_hub(ONE, message="the first", license="mit", figures={"a|b": 0.5})
    assert hub.messages == ["the first"]
    card = hub.remote[ONE]["main"]["README.md"].decode()
    assert "license: mit" in card
    assert f'noppa.load("hf:{ONE}")' in card
    assert "| a\\|b | 0.5 |" in card
    loaded = noppa.load(f"hf:{ONE}")
    assert loaded.identity.name == name
    assert pickle.loads(pickle.dumps(loaded)).identity == loaded.identity
    noppa.Index.open(tmp_path / "index", f"hf:{ONE}").add(TEXTS)
    hub.online = False
    for again in (f"hf:{ONE}", name, f"hf:{ONE}@main"):
        vectors = noppa.load(again, verify=True).encode(TEXTS)
        assert vectors.tobytes() == encoder.encode(TEXTS).tobytes()
    assert noppa.Index.open(tmp_path / "index").encoder.identity.name == name
    with pytest.raises(noppa.NoppaError, match="cannot be reached"):
        noppa.load("hf:tester/another")


def test_a_branch_keeps_its_commit_until_refreshed(hub, tmp_path):
    whitened = small_encoder(noppa.Whitening(4)).fit(TEXTS * 9)
    before = whitened.push_to_hub(ONE)
    assert "step0.matrix.npy" in hub.remote[ONE]["main"]
    assert noppa.load(f"hf:{ONE}").dim == 4
    small_encoder().save(tmp_path / "other")  # somebody else pushes
    hub.commit(ONE, "main", {**files_of(tmp_path / "other"), "README.md": b"my own card"})
    assert noppa.load(f"hf:{ONE}").dim == 4
    assert noppa.load(f"hf:{ONE}", refresh=True).dim == 8
    assert noppa.load(f"hf:{ONE}").dim == 8
    assert noppa.load(before).dim == 4
    whitened.push_to_hub(ONE)
    assert noppa.load(f"hf:{ONE}").dim == 4
    small_encoder().push_to_hub(ONE)  # the card stays, arrays of the earlier push go
    assert hub.remote[ONE]["main"]["README.md"] == b"my own card"
    assert "step0.matrix.npy" not in hub.remote[ONE]["main"]


def test_push_to_a_branch_of_a_private_repository(hub):
    name = noppa.load("small").push_to_hub(ONE, private=True, revision="try")
    assert hub.private[ONE]
    assert "noppa.json" not in hub.remote[ONE]["main"]
    assert "license: cc-by-sa-4.0" in hub.remote[ONE]["try"]["README.md"].decode()
    assert noppa.load(f"hf:{ONE}@try").identity.name == name


def test_push_and_load_a_classifier(hub):
    texts, labels = ["w1 w2", "w3 w4", "w5 w6", "w7 w8"] * 3, ["a", "a", "b", "b"] * 3
    model = noppa.Classifier(small_encoder()).fit(texts, labels)
    name = model.push_to_hub("tester/labels")
    loaded = noppa.load_classifier("hf:tester/labels")
    assert loaded.predict_proba(texts).tobytes() == model.predict_proba(texts).tobytes()
    assert "accuracy on held-out rows" in hub.remote["tester/labels"]["main"]["README.md"].decode()
    with pytest.raises(noppa.NoppaError, match="holds a saved classifier"):
        noppa.load("hf:tester/labels")
    assert run_command(f"predict {name} --explain 'w1 w2'").output.startswith("a")
    noppa.Classifier("similarity").fit(texts, labels).push_to_hub("tester/labels")
    assert "encoder/words/matrix.npy" not in hub.remote["tester/labels"]["main"]


def test_commands_accept_names(hub):
    small_encoder().push_to_hub(ONE)
    assert run_command(f"similarity 'w1 w2' 'w1 w2' -m hf:{ONE}").output == "1.0000\n"
    wrong = run_command("similarity a b -m hf:tester/none")
    assert wrong.code == 1
    assert "hf:tester/none" in wrong.errors


def test_the_blocks_of_the_page_run(hub):
    exec("\n".join(blocks(ROOT / "docs" / "hub.md", "python")), {})
    assert hub.private["your-name/reviews"]


BAD_NAMES = ["", "one", "a/b/c", "../../etc", "a/..", "a/b@", "a/b@../../c", "a--b/c", "a/b\n"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        *((f"hf:{name}", "not the name of a repository") for name in BAD_NAMES),
        ("hf:tester/none", "Revision Not Found"),
        ("hf:tester/st", "load models of sentence-transformers with noppa.external"),
    ],
)
def test_refused_names_and_repositories(hub, name, message):
    hub.commit("tester/st", "main", {"modules.json": b"[]", "model.safetensors": b""})
    with pytest.raises(noppa.NoppaError) as caught:
        noppa.load(name)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("file", ["words/matrix.npy", "noppa.json"])
def test_damaged_content_is_refused(hub, file):
    small_encoder().push_to_hub(ONE)
    hub.remote[ONE]["main"][file] = hub.remote[ONE]["main"][file][:-9] + b"123456789"
    with pytest.raises(noppa.NoppaError):
        noppa.load(f"hf:{ONE}")


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(noppa.NoppaError, match=r"pip install 'noppa\[hub\]'"):
        noppa.load(f"hf:{ONE}")
    with pytest.raises(noppa.NoppaError, match=r"push_to_hub needs .*noppa\[hub\]"):
        small_encoder().push_to_hub(ONE)

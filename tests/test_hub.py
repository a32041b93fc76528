"""Repositories of the Hugging Face Hub, with its own client and a server on this machine that speaks its API."""

from __future__ import annotations

import json
import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import noppa
from noppa.io import storage
from noppa.serve.app import Application
from noppa.serve.settings import Settings
from tests.command import run_command
from tests.conftest import ROOT
from tests.hub_server import TOKEN, Repository, serving
from tests.test_docs import blocks

TEXTS = ["w1 w2", "w3", "w44 w1"]
ONE = "tester/one"
# huggingface_hub hands files to httpx in a way that httpx would rather not have.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


@pytest.fixture
def hub(tmp_path, monkeypatch):
    with serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "home"))
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        # As HF_HUB_DISABLE_XET=1 does for a new process: LFS, and no storage service beside the hub.
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
        yield server


def made(words: int = 60, scale: float = 1.0, refine=None) -> noppa.Encoder:
    rows = np.random.default_rng(1).normal(size=(words, 8)) * scale
    table = noppa.WordVectors([f"w{at}" for at in range(words)], rows)
    return noppa.Encoder(table, noppa.Average(), refine)


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address at which nobody answers: the port is taken, and none listens there."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_an_encoder_goes_there_and_back(hub, nobody, monkeypatch):
    hub.lfs_from = 1000
    encoder = made()
    name = encoder.push_to_hub(ONE, message="the first", license="mit", figures={"a|b": 0.5})
    tree = hub.repositories[ONE].commits[name.partition("@")[2]]
    assert tree["words/matrix.npy"].is_lfs
    assert not tree["noppa.json"].is_lfs
    assert hub.repositories[ONE].messages[-1] == "the first"
    card = tree["README.md"].content.decode()
    assert "license: mit" in card
    assert f'noppa.load("hf:{ONE}")' in card
    assert "| a\\|b | 0.5 |" in card
    loaded = noppa.load(f"hf:{ONE}")
    assert loaded.identity.name == name
    assert name in str(loaded.identity)
    assert loaded.encode(TEXTS).tobytes() == encoder.encode(TEXTS).tobytes()
    assert loaded.path is not None
    assert pickle.loads(pickle.dumps(loaded)).identity == loaded.identity
    # from now on without a network
    monkeypatch.setenv("HF_ENDPOINT", nobody)
    hub.requests.clear()
    for again in (f"hf:{ONE}", name, f"hf:{ONE}@main"):
        assert noppa.load(again, verify=True).encode(TEXTS).tobytes() == encoder.encode(TEXTS).tobytes()  # fmt: skip
    assert hub.requests == []
    with pytest.raises(noppa.NoppaError, match="cannot be reached"):
        noppa.load("hf:tester/another")


def test_a_branch_stays_the_commit_it_was_until_asked_again(hub):
    first = made(refine=noppa.Whitening(4)).fit(TEXTS * 9)
    before = first.push_to_hub(ONE)
    assert noppa.load(f"hf:{ONE}").dim == 4
    (repository,) = hub.repositories.values()
    tree = repository.commits[repository.branches["main"]]
    own = {**{path: blob.content for path, blob in made_tree(tree)}, "README.md": b"my own card"}
    # somebody else pushes: an encoder without steps, and a card
    made(scale=2.0).push_to_hub("tester/other")
    other = hub.repositories["tester/other"]
    theirs = {path: blob.content for path, blob in made_tree(other.commits[other.branches["main"]])}
    hub.put(ONE, {**theirs, "README.md": own["README.md"]})
    assert noppa.load(f"hf:{ONE}").dim == 4
    assert noppa.load(f"hf:{ONE}", refresh=True).dim == 8
    assert noppa.load(f"hf:{ONE}").dim == 8
    assert noppa.load(before).dim == 4
    # a push of ours is what the next load gives; the card stays, and arrays that are gone are deleted
    first.push_to_hub(ONE)
    assert "step0.matrix.npy" in repository.commits[repository.branches["main"]]
    assert noppa.load(f"hf:{ONE}").dim == 4
    made().push_to_hub(ONE)
    last = repository.commits[repository.branches["main"]]
    assert last["README.md"].content == b"my own card"
    assert "step0.matrix.npy" not in last
    assert noppa.load(f"hf:{ONE}").dim == 8


def made_tree(tree):
    return [(path, blob) for path, blob in tree.items() if path != ".gitattributes"]


def test_branches_and_private_repositories(hub, monkeypatch):
    name = made().push_to_hub(ONE, private=True, revision="try")
    assert hub.repositories[ONE].private
    assert "noppa.json" not in hub.repositories[ONE].commits[hub.repositories[ONE].branches["main"]]
    assert noppa.load(f"hf:{ONE}@try").identity.name == name
    monkeypatch.delenv("HF_TOKEN")
    assert noppa.load(f"hf:{ONE}@try").identity.name == name  # it is here
    with pytest.raises(noppa.NoppaError, match="Repository Not Found"):
        noppa.load(f"hf:{ONE}@main")
    with pytest.raises(noppa.NoppaError, match="401 Unauthorized"):
        made().push_to_hub(ONE)
    made().push_to_hub(ONE, token=TOKEN)


def test_the_embedded_words_keep_their_licence(hub):
    noppa.load("small").push_to_hub(ONE)
    (repository,) = hub.repositories.values()
    card = repository.commits[repository.branches["main"]]["README.md"].content.decode()
    assert "license: cc-by-sa-4.0" in card
    assert noppa.load(f"hf:{ONE}").encode("a cake").tobytes() == noppa.load("small").encode("a cake").tobytes()  # fmt: skip


def test_classifiers(hub, tmp_path):
    texts = ["w1 w2", "w3 w4", "w5 w6", "w7 w8"] * 3
    labels = ["a", "a", "b", "b"] * 3
    for encoder in (made(), "similarity"):
        model = noppa.Classifier(encoder).fit(texts, labels)
        name = model.push_to_hub("tester/labels")
        loaded = noppa.load_classifier("hf:tester/labels")
        assert loaded.predict_proba(texts).tobytes() == model.predict_proba(texts).tobytes()
    (repository,) = hub.repositories.values()
    first, last = list(repository.commits.values())[1], list(repository.commits.values())[-1]
    assert "encoder/words/matrix.npy" in first
    assert "encoder/words/matrix.npy" not in last
    assert "accuracy on held-out rows" in first["README.md"].content.decode()
    with pytest.raises(noppa.NoppaError, match="holds a saved classifier"):
        noppa.load("hf:tester/labels")
    assert run_command(f"predict {name} --explain 'w1 w2'").output.startswith("a")
    refused = run_command(f"export {name} --to word2vec -o {tmp_path / 'words.vec'}")
    assert refused.code == 2
    assert "onnx" in refused.errors
    served = Application.load(Settings(model="hf:tester/labels"))
    assert served.classifier is not None
    assert served.classifier.name == "labels"


def test_an_index_knows_its_encoder_by_the_name(hub, tmp_path):
    name = made().push_to_hub(ONE)
    noppa.Index.open(tmp_path / "index", f"hf:{ONE}").add(TEXTS)
    hub.requests.clear()
    index = noppa.Index.open(tmp_path / "index")
    assert index.encoder.identity.name == name
    assert index.search("w3").ids[0] == "1"
    assert hub.requests == []


def test_commands_take_names(hub):
    made().push_to_hub(ONE)
    assert run_command(f"similarity 'w1 w2' 'w1 w2' -m hf:{ONE}").output == "1.0000\n"
    assert f"hf:{ONE}" in run_command(f"info -m hf:{ONE}").output
    wrong = run_command("similarity a b -m hf:tester/none")
    assert wrong.code == 1
    assert "hf:tester/none" in wrong.errors


def test_the_page_runs_with_a_client_that_nobody_touched(hub, tmp_path):
    program = "\n".join(blocks(ROOT / "docs" / "hub.md", "python"))
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert hub.repositories["your-name/reviews"].private
    assert hub.repositories["your-name/your-model"].branches.keys() == {"main"}
    assert any(one.startswith("PUT /lfs/") for one in hub.requests)


# Errors

BAD_NAMES = ["", "one", "a/b/c", "../../etc", "a/..", "a/b@", "a/b@../../c", "a--b/c", "a/b\n"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        *((f"hf:{name}", "not the name of a repository") for name in BAD_NAMES),
        ("hf:tester/none", "Repository Not Found"),
        ("hf:tester/one@nope", "Revision Not Found"),
        ("hf:tester/one@" + "0" * 40, "Revision Not Found"),
        ("hf:tester/gated", "Cannot access gated repo"),
        ("hf:tester/st", "load models of sentence-transformers with noppa.external"),
        ("hf:tester/empty", "has no noppa.json"),
    ],
)
def test_mistakes(hub, monkeypatch, name, said):
    monkeypatch.delenv("HF_TOKEN")
    hub.put(ONE, {"noppa.json": b"{}"})
    hub.put("tester/st", {"modules.json": b"[]", "model.safetensors": b""})
    hub.put("tester/empty", {"README.md": b""})
    hub.repositories["tester/gated"] = Repository(gated=True)
    with pytest.raises(noppa.NoppaError) as caught:
        noppa.load(name)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_server_that_fails_and_a_missing_package(hub, monkeypatch):
    hub.fails_with = 500
    with pytest.raises(noppa.NoppaError, match="500 Internal Server Error"):
        noppa.load(f"hf:{ONE}")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(noppa.NoppaError, match=r"pip install 'noppa\[hub\]'"):
        noppa.load(f"hf:{ONE}")
    with pytest.raises(noppa.NoppaError, match=r"push_to_hub needs .*noppa\[hub\]"):
        made().push_to_hub(ONE)


# Repositories with harmful or damaged content


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"words": "../../../../etc"}, "words"),
        ({"method": {"name": "os.system"}}, "os.system"),
    ],
)
def test_harmful_headers(hub, tmp_path, change, message):
    made().save(tmp_path / "saved")
    files = files_of(tmp_path / "saved")
    header = json.loads(files["noppa.json"].decode().rstrip("\n").rpartition("\n")[0]) | change
    fields = {name: header[name] for name in header if name not in ("format", "kind", "files")}
    storage.write_header(tmp_path / "header", header["kind"], fields, header["files"])
    hub.put(ONE, {**files, "noppa.json": (tmp_path / "header").read_bytes()})
    with pytest.raises(noppa.NoppaError, match=message):
        noppa.load(f"hf:{ONE}")


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("words/matrix.npy", lambda data: data[:-1] + b"\x07"),
        ("words/matrix.npy", lambda data: data + b"more"),
        ("words/matrix.npy", lambda data: data[:-9]),
        ("noppa.json", lambda data: data.replace(b"average", b"averagE")),
    ],
)
@pytest.mark.parametrize("lfs_from", [100, 10**9])
def test_damaged_content_is_refused(hub, name, damage, lfs_from):
    hub.lfs_from = lfs_from
    made().push_to_hub(ONE)
    hub.lies[name] = damage
    with pytest.raises(noppa.NoppaError):
        noppa.load(f"hf:{ONE}")

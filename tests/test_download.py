"""Downloads of word vectors, from a server that behaves badly in several ways."""

from __future__ import annotations

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from noppa import NoppaError
from noppa.words.formats.download import VectorSet, download, find_set, vector_sets
from tests.command import run_command

CONTENT = bytes(range(256)) * 4096
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(BaseHTTPRequestHandler):
    """Answers as the first part of the path says; `requests` collects these parts."""

    requests: ClassVar[list[str]] = []

    def log_message(self, *_):
        pass

    def do_GET(self):
        kind = self.path.split("/")[1]
        first = kind not in self.requests
        self.requests.append(kind)
        if kind == "missing":
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        is_cut = kind == "short" or (kind == "flaky" and first)
        content = {"wrong": b"x" * len(CONTENT)}.get(kind, CONTENT)
        self.wfile.write(content[:1000] if is_cut else content)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # pooch waits before a retry
    Server.requests.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def at(server: str, kind: str, sha256: str = SHA256) -> VectorSet:
    return VectorSet(f"{server}/{kind}/set.zip", sha256, "")


@pytest.mark.parametrize("sha256", [SHA256, ""])
@pytest.mark.parametrize("kind", ["good", "flaky"])
def test_a_file_is_downloaded_once(server, tmp_path, kind, sha256):
    steps: list[tuple[int, int]] = []
    vectors = at(server, kind, sha256)
    path = download(vectors, tmp_path / "new", lambda done, total: steps.append((done, total)))
    assert path == tmp_path / "new" / "set.zip"
    assert path.read_bytes() == CONTENT
    assert steps[-1] == (len(CONTENT), len(CONTENT))
    asked = len(Server.requests)
    assert download(vectors, tmp_path / "new") == path
    assert len(Server.requests) == asked


def test_another_file_of_that_name_is_replaced(server, tmp_path):
    (tmp_path / "set.zip").write_bytes(b"other")
    assert download(at(server, "good"), tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("kind", "sha256", "reason"),
    [
        ("missing", SHA256, "404"),
        ("missing", "", "404"),
        ("wrong", SHA256, "does not match the known hash"),
        ("short", SHA256, "IncompleteRead|does not match"),
        ("short", "", "IncompleteRead"),
    ],
)
def test_a_failed_download_leaves_no_file(server, tmp_path, kind, sha256, reason):
    with pytest.raises(NoppaError, match=rf"(?s)could not be downloaded: .*({reason})") as raised:
        download(at(server, kind, sha256), tmp_path)
    assert "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_nobody_answers_and_the_disk_refuses(server, tmp_path):
    with pytest.raises(NoppaError, match="could not be downloaded"):
        download(VectorSet("http://127.0.0.1:9/set.zip", "", ""), tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(NoppaError, match="could not be downloaded"):
        download(at(server, "good"), tmp_path / "file" / "folder")


def test_names_of_sets():
    assert find_set("glove.840B.300d").url.endswith("/glove.840B.300d.zip")
    assert find_set("cc.de.300.bin").url.endswith("/vectors-crawl/cc.de.300.bin.gz")
    assert find_set("wiki.fr.align.vec").url.endswith("/vectors-aligned/wiki.fr.align.vec")
    for name in ("glove", "cc..300.vec", "cc.../x.300.vec", "cc.CODE.300.vec"):
        with pytest.raises(NoppaError, match="there is no set"):
            find_set(name)
    for entry in vector_sets().values():
        assert entry.url.startswith("https://")
        assert len(entry.sha256) in (0, 64)


def test_the_command(server, tmp_path, monkeypatch):
    listed = [line.split()[0] for line in run_command("vectors get").output.splitlines()]
    assert listed == [*vector_sets()]
    monkeypatch.setitem(vector_sets(), "good", at(server, "good"))
    done = run_command(f"vectors get good --to {tmp_path}")
    assert Path(done.output.strip()).read_bytes() == CONTENT
    assert run_command("vectors get none").code != 0

"""Download word vectors from a server that also fails in several ways."""

from __future__ import annotations

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from noppa import NoppaError
from noppa.words.formats.download import VectorSet, download, find_set, vector_sets
from tests.command import run_command

CONTENT = bytes(range(256)) * 4096
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(BaseHTTPRequestHandler):
    """Sends what the first part of the path asks for."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        kind = self.path.split("/")[1]
        if kind == "missing":
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write({"wrong": CONTENT[::-1], "short": CONTENT[:1000]}.get(kind, CONTENT))


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # pooch waits before a retry
    with HTTPServer(("127.0.0.1", 0), Server) as http:
        threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()


@pytest.mark.parametrize("sha256", [SHA256, ""])
def test_a_file_is_downloaded_once(server, tmp_path, sha256):
    steps: list[tuple[int, int]] = []
    vectors = VectorSet(f"{server}/good/set.zip", sha256, "")
    path = download(vectors, tmp_path / "new", lambda done, total: steps.append((done, total)))
    assert path == tmp_path / "new" / "set.zip"
    assert path.read_bytes() == CONTENT
    assert steps[-1] == (len(CONTENT), len(CONTENT))
    written = path.stat().st_mtime_ns
    assert download(vectors, tmp_path / "new").stat().st_mtime_ns == written


@pytest.mark.parametrize(
    ("kind", "sha256", "reason"),
    [
        ("missing", SHA256, "404"),
        ("wrong", SHA256, "does not match the known hash"),
        ("short", "", "IncompleteRead"),
    ],
)
def test_a_failed_download_leaves_no_file(server, tmp_path, kind, sha256, reason):
    with pytest.raises(NoppaError, match=rf"could not be downloaded: .*{reason}") as raised:
        download(VectorSet(f"{server}/{kind}/set.zip", sha256, ""), tmp_path)
    assert "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_names_of_sets():
    assert find_set("glove.840B.300d").url.endswith("/glove.840B.300d.zip")
    assert find_set("cc.de.300.bin").url.endswith("/vectors-crawl/cc.de.300.bin.gz")
    for name in ("glove", "cc..300.vec", "cc.../x.300.vec", "cc.CODE.300.vec"):
        with pytest.raises(NoppaError, match="there is no set"):
            find_set(name)
    for entry in vector_sets().values():
        assert entry.url.startswith("https://")
        assert len(entry.sha256) in (0, 64)


def test_the_command(server, tmp_path, monkeypatch):
    listed = [line.split()[0] for line in run_command("vectors get").output.splitlines()]
    assert listed == [*vector_sets()]
    monkeypatch.setitem(vector_sets(), "good", VectorSet(f"{server}/good/set.zip", SHA256, ""))
    done = run_command(f"vectors get good --to {tmp_path}")
    assert Path(done.output.strip()).read_bytes() == CONTENT
    assert run_command("vectors get none").code != 0

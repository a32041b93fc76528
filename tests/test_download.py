"""Downloads from a server that breaks in every way."""

from __future__ import annotations

import hashlib
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from noppa import NoppaError
from noppa.files.catalogue import CATALOGUE, Entry
from noppa.files.download import Patience, download

CONTENT = bytes(range(256)) * 8192
SIZE, SHA256 = len(CONTENT), hashlib.sha256(CONTENT).hexdigest()
QUICK = Patience(seconds=0.3, attempts=4)


class Server(BaseHTTPRequestHandler):
    """The path says how to behave; `seen` keeps the range that each request asked for."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[tuple[str, str | None]]] = []

    def log_message(self, *_):
        pass

    def do_GET(self):
        kind = self.path.split("/")[1]
        asked = self.headers.get("Range")
        self.seen.append((kind, asked))
        self.close_connection = True
        getattr(self, f"_{kind}")(int(asked[6:-1]) if asked else 0)

    def _answer(self, start, length=None, status=None):
        self.send_response(status or (206 if start else 200))
        if start and not status:
            self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        self.send_header("Content-Length", str(len(CONTENT) - start if length is None else length))
        self.end_headers()

    def _good(self, start):
        self._answer(start)
        self.wfile.write(CONTENT[start:])

    def _page(self, start):
        body = b"<!DOCTYPE html><html>moved</html>"
        self._answer(0, len(body), 200)
        self.wfile.write(body)

    def _truncated(self, start):
        """A third of what is left at a time."""
        self._answer(start)
        self.wfile.write(CONTENT[start : start + len(CONTENT) // 3])

    def _reset(self, start):
        self._truncated(start)
        self.wfile.flush()
        time.sleep(0.1)  # a reset throws away what has not been read
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.connection.close()

    def _slow(self, start):
        self._answer(start)
        if not start:
            self.wfile.write(CONTENT[:1000])
        self.wfile.flush()
        time.sleep(0.8)

    def _wrong(self, start):
        self._answer(start)
        self.wfile.write(b"x" * (len(CONTENT) - start))

    def _longer(self, start):
        self._answer(0, len(CONTENT) + 5, 200)
        self.wfile.write(CONTENT + b"extra")

    def _whole(self, start):
        """Ignores the range."""
        self._answer(0, status=200)
        self.wfile.write(CONTENT)

    def _elsewhere(self, start):
        self.send_response(206)
        self.send_header("Content-Range", f"bytes 7-{len(CONTENT) - 1}/{len(CONTENT)}")
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"abc")

    def _missing(self, start):
        self._answer(0, 0, 404)

    def _busy(self, start):
        self._answer(0, 0, 503)

    def _unsatisfiable(self, start):
        if start:
            self._answer(0, 0, 416)
        else:
            self._good(0)


@pytest.fixture(scope="module")
def address():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def entry(address, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    Server.seen.clear()

    def made(*kinds, size=SIZE, sha256=SHA256):
        return Entry("set", tuple(f"{address}/{kind}/set.zip" for kind in kinds), size, sha256, "")

    return made


def test_whole_and_kept(entry, tmp_path):
    seen = []
    path = download(
        entry("good"), tmp_path / "new", lambda done, total: seen.append((done, total)), QUICK
    )
    assert path.read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert [file.name for file in path.parent.iterdir()] == ["set.zip"]
    download(entry("good"), tmp_path / "new", None, QUICK)
    assert len(Server.seen) == 1, "a whole copy is not fetched again"


@pytest.mark.parametrize("kind", ["truncated", "reset"])
def test_broken_connections_are_resumed(entry, tmp_path, kind):
    assert download(entry(kind), tmp_path, None, QUICK).read_bytes() == CONTENT
    ranges = [asked for _, asked in Server.seen]
    assert ranges[0] is None
    assert all(ranges[1:])


def test_an_interrupted_copy_is_taken_up(entry, tmp_path):
    (tmp_path / ".set.zip.partial").write_bytes(CONTENT[:1000])
    assert download(entry("good"), tmp_path, None, QUICK).read_bytes() == CONTENT
    assert Server.seen == [("good", "bytes=1000-")]


@pytest.mark.parametrize("kind", ["whole", "unsatisfiable"])
def test_servers_that_do_not_resume(entry, tmp_path, kind):
    (tmp_path / ".set.zip.partial").write_bytes(b"y" * 1000)
    assert download(entry(kind), tmp_path, None, QUICK).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("page", "a web page came instead of the file"),
        ("wrong", "its checksum .* is not the published"),
        ("longer", f"the server has {len(CONTENT) + 5} bytes where {len(CONTENT)} were published"),
        ("slow", "nothing came for 0.3 seconds"),
        ("missing", "the server answered 404"),
        ("busy", "the server answered 503"),
    ],
)
def test_failures_are_told_and_the_mirror_helps(entry, tmp_path, kind, told):
    with pytest.raises(
        NoppaError, match=rf"set could not be fetched .*/{kind}/set\.zip: {told}.*put it at"
    ) as error:
        download(entry(kind), tmp_path, None, Patience(0.3, 2))
    assert "\n" not in str(error.value)
    assert not (tmp_path / "set.zip").exists()
    assert download(entry(kind, "good"), tmp_path, None, Patience(0.3, 1)).read_bytes() == CONTENT


def test_wrong_place_of_a_resume(entry, tmp_path):
    (tmp_path / ".set.zip.partial").write_bytes(CONTENT[:1000])
    with pytest.raises(NoppaError, match="resumed at another place"):
        download(entry("elsewhere"), tmp_path, None, QUICK)


def test_offline(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/set.zip"
        with pytest.raises(
            NoppaError, match=r"no connection .*is this machine offline\?.*put it at"
        ):
            download(Entry("set", (url,), None, None, ""), tmp_path, None, QUICK)


def test_size_alone_is_checked_where_no_checksum_is_known(entry, tmp_path):
    assert download(entry("good", sha256=None), tmp_path, None, QUICK).read_bytes() == CONTENT
    (tmp_path / "set.zip").write_bytes(b"short")
    assert download(entry("good", sha256=None), tmp_path, None, QUICK).read_bytes() == CONTENT


def test_catalogue():
    for name, entry in CATALOGUE.items():
        assert entry.name == name
        assert all(url.startswith("https://") and url.endswith(entry.file) for url in entry.urls)
        assert entry.sha256 is None or len(entry.sha256) == 64
        assert entry.size or entry.sha256

"""Downloads from a server that breaks in every way."""

from __future__ import annotations

import hashlib
import re
import socket
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

import noppa
from noppa import NoppaError
from noppa.words.formats import download as module
from noppa.words.formats.catalogue import CATALOGUE, Entry, every_set, language_sets
from noppa.words.formats.download import Patience, https_opener
from reliability.faults import each_fault
from tests.runs import PATIENCE

CONTENT = bytes(range(256)) * 8192
SIZE, SHA256 = len(CONTENT), hashlib.sha256(CONTENT).hexdigest()
QUICK = Patience(seconds=PATIENCE, attempts=4, pause=0.001)


def download(entry, folder, progress=None, patience=QUICK):
    """As in the library, and plain http is allowed, which the server here speaks; redirects are followed as ever."""
    opener = https_opener()
    opener.add_handler(urllib.request.HTTPHandler())
    return module.download(entry, folder, progress, patience, opener)


class Server(BaseHTTPRequestHandler):
    """The path says how to behave; `seen` keeps the range that each request asked for."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[tuple[str, str | None]]] = []
    stopped: ClassVar[threading.Event] = threading.Event()
    over: ClassVar[threading.Event] = threading.Event()
    """The test is."""

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
        self.over.wait(PATIENCE)

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

    def _range(self, value):
        self.send_response(206)
        self.send_header("Content-Range", value)
        self.end_headers()
        self.wfile.write(CONTENT[1000:])

    def _multipart(self, start):
        self._range("")

    def _garbled(self, start):
        self._range(f"bytes {start}-x/y")

    def _grown(self, start):
        self._range(f"bytes {start}-{len(CONTENT) + 6}/{len(CONTENT) + 7}")

    def _endless(self, start):
        """Says nothing of its length, and goes on until nobody listens."""
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(CONTENT)
        except OSError:
            self.stopped.set()

    def _odd_length(self, start):
        self.send_response(200)
        self.send_header("Content-Length", "-7")
        self.end_headers()
        self.wfile.write(CONTENT)

    def _crumbs(self, start):
        """A byte at a time, for ever."""
        self._answer(start)
        self.wfile.write(CONTENT[start : start + 1])

    def _to_http(self, start):
        self._redirect(f"http://{self.headers['Host']}/good/set.zip")

    def _to_ftp(self, start):
        self._redirect("ftp://127.0.0.1/set.zip")

    def _to_file(self, start):
        self._redirect("file:///etc/passwd")

    def _redirect(self, place):
        self.send_response(302)
        self.send_header("Location", place)
        self.send_header("Content-Length", "0")
        self.end_headers()

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
    server.handle_error = lambda *_: None  # clients that leave early are what is tested
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

    def made(*kinds):
        return Entry("set", tuple(f"{address}/{kind}/set.zip" for kind in kinds), SIZE, SHA256, "")

    Server.over.clear()
    yield made
    Server.over.set()


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
    short, long = (0.3, 2) if kind == "slow" else (PATIENCE, PATIENCE)
    with pytest.raises(
        NoppaError, match=rf"set could not be fetched .*/{kind}/set\.zip: {told}.*put it at"
    ) as error:
        download(entry(kind), tmp_path, None, Patience(short, 2, 0.001))
    assert "\n" not in str(error.value)
    assert not (tmp_path / "set.zip").exists()
    assert (
        download(entry(kind, "good"), tmp_path, None, Patience(long, 1, 0.001)).read_bytes()
        == CONTENT
    )


@pytest.mark.found(
    "outside review", "What a server said of the range it gave was not compared with the size."
)
@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("elsewhere", "resumed at another place"),
        ("multipart", "resumed at another place"),
        ("garbled", "resumed at another place"),
        ("grown", f"the server has {SIZE + 7} bytes where {SIZE} were published"),
    ],
)
def test_dishonest_resumes(entry, tmp_path, kind, told):
    partial = tmp_path / ".set.zip.partial"
    partial.write_bytes(CONTENT[:1000])
    with pytest.raises(NoppaError, match=told):
        download(entry(kind), tmp_path)
    assert partial.read_bytes() == CONTENT[:1000]


@pytest.mark.found("outside review", "A download did not stop at the published size.")
def test_a_server_without_end(entry, tmp_path):
    Server.stopped.clear()
    with pytest.raises(NoppaError, match=f"sends more than the {SIZE} bytes that were published"):
        download(entry("endless"), tmp_path)
    assert Server.stopped.wait(PATIENCE)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= SIZE
    assert download(entry("odd_length"), tmp_path / "other").read_bytes() == CONTENT


@pytest.mark.found(
    "outside review", "A server that gave crumbs was asked again for ever, without a pause."
)
def test_attempts_come_to_an_end_with_growing_pauses(entry, tmp_path, monkeypatch):
    pauses = []
    monkeypatch.setattr(module.time, "sleep", pauses.append)
    with pytest.raises(NoppaError, match=r"the connection ended after \d+ of"):
        download(entry("crumbs"), tmp_path, None, Patience(PATIENCE, 9, 1.0))
    assert len(Server.seen) == 9
    assert pauses == [2, 4, 8, 16, 32, 60, 60, 60]


@pytest.mark.found("outside review", "Redirects to plain http and to ftp were followed.")
@pytest.mark.parametrize("kind", ["to_http", "to_ftp", "to_file"])
def test_redirects_stay_on_https(entry, tmp_path, kind):
    with pytest.raises(NoppaError, match=r"only https is followed|answered 302"):
        download(entry(kind), tmp_path)
    assert [name for name, _ in Server.seen] == [kind]


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/set.zip", "ftp://127.0.0.1/s", "file:///etc/s"]
)
def test_only_https_is_opened(tmp_path, url):
    with pytest.raises(NoppaError, match="unknown url type"):
        module.download(Entry("set", (url,), SIZE, SHA256, ""), tmp_path, None, QUICK)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.found("outside review", "A full or read-only disk in vectors get was a traceback.")
def test_disks_that_cannot_be_written(entry, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(NoppaError, match=r"cannot write .*set\.zip: "):
        download(entry("good"), tmp_path / "file" / "folder")
    with pytest.raises(NoppaError, match=r"cannot write .*set\.zip: "):
        download(entry("good"), Path("/proc/noppa"))
    (tmp_path / "set.zip").mkdir()
    with pytest.raises(NoppaError, match=r"cannot write .*set\.zip: "):
        download(entry("good"), tmp_path)


@pytest.mark.found("fault injection", "A full or read-only disk in vectors get was a traceback.")
def test_each_call_that_fails_can_be_resumed(entry, tmp_path):
    folder, failed = tmp_path / "set", 0
    for call, error in each_fault(lambda: download(entry("good"), folder), tmp_path):
        assert error is None or isinstance(error, NoppaError), call
        assert not (folder / "set.zip").exists() or (folder / "set.zip").read_bytes() == CONTENT
        assert {file.name for file in folder.glob("*")} <= {".set.zip.partial", "set.zip"}, call
        failed += 1
        (folder / "set.zip").unlink(missing_ok=True)
    assert failed > 5
    assert (folder / "set.zip").read_bytes() == CONTENT


def test_offline(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/set.zip"
        with pytest.raises(
            NoppaError, match=r"no connection .*is this machine offline\?.*put it at"
        ):
            download(Entry("set", (url,), SIZE, SHA256, ""), tmp_path, None, QUICK)


def test_another_file_under_the_name_is_replaced(entry, tmp_path):
    (tmp_path / "set.zip").write_bytes(b"short")
    assert download(entry("good"), tmp_path).read_bytes() == CONTENT


@pytest.mark.found("outside review", "Three sets had no checksum.")
def test_catalogue():
    for name, entry in CATALOGUE.items():
        assert entry.name == name
        assert all(url.startswith("https://") and url.endswith(entry.file) for url in entry.urls)
        if not name.startswith("numberbatch"):  # of which nobody publishes them
            assert re.fullmatch("[0-9a-f]{64}", entry.sha256)
            assert entry.size > 10**8


def unpublished(entry: Entry) -> Entry:
    return Entry(entry.name, entry.urls, None, None, "")


def test_a_missing_checksum_is_said(entry, tmp_path):
    (tmp_path / ".set.zip.partial").write_bytes(CONTENT[:1000])
    seen = []
    with pytest.warns(noppa.NoppaWarning, match=f"no checksum of set is published.*{SHA256}"):
        path = download(
            unpublished(entry("good")), tmp_path, lambda *both: seen.append(both), QUICK
        )
    assert path.read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert download(unpublished(entry("missing")), tmp_path, None, QUICK) == path


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("endless", "does not say how long the file is"),
        ("page", "a web page came"),
        ("to_http", "only https is followed"),
    ],
)
def test_what_is_refused_without_a_checksum_too(entry, tmp_path, kind, told):
    with pytest.raises(noppa.NoppaError, match=told):
        download(unpublished(entry(kind)), tmp_path, None, QUICK)


def test_the_sets_of_languages():
    languages, sets = language_sets(), every_set()
    assert len(languages) == 158  # fastText's 157 and English
    assert [one.name for one in languages["de"]] == [
        "cc.de.300.vec",
        "cc.de.300.bin",
        "wiki.de.align.vec",
    ]
    assert sum(len(each) == 3 for each in languages.values()) == 44
    assert all(url.startswith("https://") for one in sets.values() for url in one.urls)
    assert all(one.urls[0].endswith(one.file) and name == one.name for name, one in sets.items())

"""Lines of a browser with several worker processes: one place for them, private, bounded, and gone at the end."""

from __future__ import annotations

import json
import os
import signal
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import noppa
from noppa.serve import logs
from noppa.serve.app import Application
from noppa.serve.line_store import LineStore, Name, mark_of
from noppa.serve.settings import Settings
from tests.runs import PATIENCE, wait_until
from tests.serving import children, made_encoder, serving

JSON = {"content-type": "application/json"}
LINES = ["the girl eats a cake", "a boy is eating", "half \ud83d", ""]
BODY = json.dumps({"lines": LINES})


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> noppa.Encoder:
    return made_encoder(tmp_path_factory.mktemp("store") / "small")


@pytest.fixture
def workers(encoder: noppa.Encoder, tmp_path: Path) -> Iterator[list[TestClient]]:
    """Two applications that share a folder and a key, as two workers of a server do."""
    settings = Settings(
        model=str(encoder.path), log_requests=False, lines_folder=str(tmp_path), processes=2, max_sessions=3
    )  # fmt: skip
    with ExitStack() as stack:
        yield [
            stack.enter_context(TestClient(Application(settings), base_url="http://127.0.0.1"))
            for _ in range(2)
        ]


def hits(client: TestClient) -> list[str] | int:
    """The lines that a search finds, or the status of its error."""
    answer = client.post("/search", json={"query": "a girl", "count": 10})
    found = answer.json().get("results", [])
    return sorted(hit["text"] for hit in found) if answer.is_success else answer.status_code


def test_every_worker_serves_what_one_was_given(workers: list[TestClient]) -> None:
    first, second = workers
    assert first.post("/lines", content=BODY, headers=JSON).status_code == 200
    second.cookies = first.cookies
    assert hits(second) == hits(first) == sorted(LINES)
    assert second.get("/lines").json() == {"lines": LINES}
    old = dict(first.cookies)
    assert second.post("/lines", json={"lines": LINES[:1]}).status_code == 200
    first.cookies = second.cookies
    assert hits(first) == LINES[:1]
    first.cookies.clear()
    first.cookies.update(old)
    assert hits(first) == 404  # the earlier lines are gone in the worker that was given them, too
    first.cookies = second.cookies
    assert first.delete("/lines").status_code == 204
    second.cookies.update(old)
    assert hits(second) == 404


def test_a_cookie_that_nobody_signed_names_no_file(
    workers: list[TestClient], tmp_path: Path
) -> None:
    client = workers[0]
    client.post("/lines", content=BODY, headers=JSON)
    token = client.cookies["noppa_lines"]
    for forged in (f"{token[:-1]}!", "../../etc.passwd.x", ".." + token, ""):
        client.cookies.clear()
        client.cookies.set("noppa_lines", forged)
        assert hits(client) == 404
    secret = token.partition(".")[0]
    assert [file for file in tmp_path.iterdir() if secret in file.name] == []


def test_the_store_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In number, in bytes and in age, and the longest unused go first; what a killed writer left, too."""
    store = LineStore(tmp_path, most=3, most_bytes=200, seconds=1000)
    names = [Name(f"secret{at}", mark_of([str(at)])) for at in range(5)]

    def age(name: Name, seconds: float) -> None:
        os.utime(store._file(name), (time.time() - seconds,) * 2)

    def there() -> list[int]:
        return [at for at, name in enumerate(names) if store._file(name).exists()]

    for at in range(3):
        store.write(names[at], [str(at)])
        age(names[at], 500 - at)
    assert store.has(names[0])  # it is used: now the second is the oldest
    store.write(names[3], ["3"])
    assert there() == [0, 2, 3]
    (tmp_path / "killed.new").write_bytes(b"half")
    os.utime(tmp_path / "killed.new", (0, 0))
    store.write(names[4], ["x" * 197])
    assert there() == [4]
    assert not (tmp_path / "killed.new").exists()
    store.write(names[4]._replace(mark=mark_of(["y"])), ["y" * 500])  # alone it may be larger
    assert [store.read(names[4]), len([*tmp_path.iterdir()])] == [[], 1]
    age(names[4]._replace(mark=mark_of(["y"])), 1001)
    assert not store.has(names[4]._replace(mark=mark_of(["y"])))
    store.forget()
    assert not [*tmp_path.iterdir()]
    monkeypatch.setattr(logs, "write", lambda event, **facts: True)
    full = LineStore(Path("/dev/null/lines"), most=3, most_bytes=200, seconds=1000)
    with pytest.raises(Exception, match="no room for lines"):
        full.write(names[0], ["0"])


def test_several_processes_without_a_folder_keep_no_lines(encoder: noppa.Encoder) -> None:
    settings = Settings(model=str(encoder.path), log_requests=False, processes=2)
    with TestClient(Application(settings), base_url="http://127.0.0.1") as client:
        refused = client.post("/lines", content=BODY, headers=JSON)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "no_room")


def test_lines_outlive_workers_and_not_the_server(encoder: noppa.Encoder, tmp_path: Path) -> None:
    environment = {"TMPDIR": str(tmp_path)}
    with serving(str(encoder.path), "--workers", "2", environment=environment) as running:
        with running.client() as client:
            client.post("/lines", content=BODY, headers=JSON).raise_for_status()
            cookies = dict(client.cookies)
        (folder,) = tmp_path.glob("noppa-*")
        (file,) = (folder / "lines").iterdir()
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "lines", file)]
        assert modes == [0o700, 0o700, 0o600]
        pid = running.process.pid
        dead = set(children(pid))
        for worker in dead:
            os.kill(worker, signal.SIGKILL)
        wait_until(lambda: not dead & set(children(pid)))
        for _ in range(4):  # a connection each, whichever worker takes it
            with running.client(cookies=cookies) as client:
                assert client.get("/lines").json() == {"lines": LINES}
        assert running.stop() == 0
        assert not [*tmp_path.glob("noppa-*")]


def test_lines_do_not_outlive_a_killed_server(encoder: noppa.Encoder, tmp_path: Path) -> None:
    environment = {"TMPDIR": str(tmp_path)}
    with serving(str(encoder.path), "--workers", "2", environment=environment) as running:
        with running.client() as client:
            client.post("/lines", content=BODY, headers=JSON).raise_for_status()
        running.process.kill()
        running.process.wait(PATIENCE)
        wait_until(lambda: not [*tmp_path.glob("noppa-*")])

"""Pages of other sites: what a browser would let them send to a server without keys, and what that server refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from noppa.serve.app import Application
from noppa.serve.settings import Settings
from tests.serving import made_encoder

LINES = {"lines": ["a girl", "a boy"]}
TEXT = {"input": "a girl"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = made_encoder(tmp_path_factory.mktemp("origins") / "small").path
    assert path is not None
    return path


def client(model: Path, **settings: Any) -> TestClient:
    application = Application(Settings(model=str(model), log_requests=False, **settings))
    return TestClient(application, base_url="http://127.0.0.1:8000")


@pytest.mark.found("outside review", "Any Host was answered, which is what DNS rebinding needs.")
def test_a_foreign_host_is_refused(model: Path) -> None:
    with client(model, hosts=("127.0.0.1", "noppa.example")) as local:
        for host in (
            "127.0.0.1:8000",
            "localhost:8000",
            "LOCALHOST.",
            "page.localhost",
            "[::1]:8000",
            "192.168.1.7",
            "noppa.example:80",
        ):
            assert local.get("/", headers={"host": host}).status_code == 200, host
        for host in ("evil.example:8000", "127.0.0.1.evil.example", "localhost.evil", "noppa"):
            for path in ("/", "/v1/models", "/openapi.json", "/page/app.js"):
                answer = local.get(path, headers={"host": host})
                assert (answer.status_code, answer.json()["error"]["code"]) == (
                    421,
                    "host_not_allowed",
                )
            assert local.post("/lines", json=LINES, headers={"host": host}).status_code == 421
            assert local.get("/health", headers={"host": host}).status_code == 200


def test_a_server_for_others_goes_by_more_names(model: Path) -> None:
    """A name without a dot is a neighbour's, such as a container's; with keys, no page of another site gets in anyway."""
    with client(model, hosts=("0.0.0.0",)) as public:
        assert public.get("/", headers={"host": "embeddings:8000"}).status_code == 200
        assert public.get("/", headers={"host": "evil.example"}).status_code == 421
    with client(model, hosts=("0.0.0.0", "*")) as every:
        assert every.get("/", headers={"host": "evil.example"}).status_code == 200
    with client(model, keys=("sesame",)) as keyed:
        assert keyed.get("/", headers={"host": "api.example"}).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://127.0.0.1:8000"}, 200),
        ({"origin": "https://public.example", "sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"origin": "https://friend.example", "sec-fetch-site": "cross-site"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:3000"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:3000", "sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
    ],
    ids=str,
)
@pytest.mark.found("outside review", "A page of any origin could send lines.")
def test_pages_of_other_origins(model: Path, headers: dict[str, str], status: int) -> None:
    with client(model, origins=("https://friend.example",)) as browser:
        for path, body in (("/lines", LINES), ("/v1/embeddings", TEXT)):
            answer = browser.post(path, json=body, headers=headers)
            assert answer.status_code == status
        deleted = browser.delete("/lines", headers=headers).status_code
        assert deleted == (204 if status == 200 else status)


@pytest.mark.found("outside review", "POST /lines took text/plain, as a form of any site sends it.")
def test_lines_are_json(model: Path) -> None:
    with client(model) as browser:
        for path in ("/lines", "/lines/map", "/lines/clusters"):
            for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
                answer = browser.post(path, content=b"{}", headers={"content-type": kind})
                assert answer.status_code == 415, (path, kind)
        kept = browser.post(
            "/lines",
            content=b'{"lines": ["a"]}',
            headers={"content-type": "application/json; charset=utf-8"},
        )
        assert kept.status_code == 200


@pytest.mark.found(
    "outside review", "The cookie's secret was the client's choice, and unsigned for DELETE."
)
@pytest.mark.parametrize("chosen", ["s" * 43, "s" * 43 + ".mark", "", "é.é.é", "a.b.c"])
def test_the_server_mints_the_secret(model: Path, chosen: str) -> None:
    """One that an attacker planted is not taken over, and deletes nothing."""
    with client(model) as browser:
        raw = f"noppa_lines={chosen}".encode("latin-1")
        minted = browser.post("/lines", json=LINES, headers={b"cookie": raw}).cookies["noppa_lines"]
        secret, mark, signature = minted.split(".")
        assert secret != chosen.partition(".")[0]
        assert len(secret) >= 40
        for forged in (
            f"{secret}.{mark}",
            secret,
            f"{secret}.{mark}.{signature[:-1]}0x",
            f"{secret}..{signature}",
        ):
            browser.cookies.clear()
            browser.delete("/lines", headers={"cookie": f"noppa_lines={forged}"})
            lost = browser.post("/lines/map", json={}, headers={"cookie": f"noppa_lines={forged}"})
            assert lost.status_code == 404
        browser.cookies.set("noppa_lines", minted)
        assert browser.post("/lines/map", json={}).status_code == 200
        assert browser.delete("/lines").status_code == 204
        browser.cookies.set("noppa_lines", minted)
        assert browser.post("/lines/map", json={}).status_code == 404


def test_another_process_takes_no_old_lines_for_new_ones(model: Path) -> None:
    """Both have lines of a browser, and one gets new ones: the other has to be given them, too."""
    settings = Settings(model=str(model), log_requests=False)
    cookie = ""

    def ask(process: TestClient, path: str, **body: Any) -> Any:
        nonlocal cookie
        process.cookies.clear()
        answer = process.post(path, json=body, headers={"cookie": f"noppa_lines={cookie}"})
        cookie = answer.cookies.get("noppa_lines", cookie)
        return answer.json()

    with (
        TestClient(Application(settings), base_url="http://127.0.0.1") as one,
        TestClient(
            Application(Settings.from_json(settings.to_json())), base_url="http://127.0.0.1"
        ) as another,
    ):
        for process in (one, another):
            ask(process, "/lines", lines=["a girl", "a boy"])
        assert len(ask(one, "/search", query="girl")["results"]) == 2
        ask(one, "/lines", lines=["a girl", "a boy", "a cake"])
        assert ask(another, "/search", query="girl")["error"]["code"] == "lines_not_found"
        ask(another, "/lines", lines=["a girl", "a boy", "a cake"])
        for process in (one, another):
            assert len(ask(process, "/search", query="girl")["results"]) == 3

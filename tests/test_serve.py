"""The server's contract over real HTTP: what clients send, what they get, field by field and status by status."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import noppa
from noppa import _native as kernels
from noppa.errors import NoppaError
from noppa.serve.settings import Settings, keys_of
from tests.runs import wait_until
from tests.serving import PROGRAM, Running, made_encoder, serving

TEXTS = ["the girl eats a cake", "a boy is eating", "café w1 w2 , unheardof"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> noppa.Encoder:
    return made_encoder(tmp_path_factory.mktemp("serve") / "small")


@pytest.fixture(scope="module")
def server(encoder: noppa.Encoder) -> Iterator[Running]:
    with serving(str(encoder.path), "--max-inputs", "3000", "--max-tokens", "50") as running:
        yield running
    for entry in running.log:
        assert entry["event"] in ("listening", "request", "stopping", "stopped"), entry


@pytest.fixture
def client(server: Running) -> Iterator[httpx.Client]:
    with server.client() as opened:
        yield opened


def error_of(answer: httpx.Response) -> dict[str, Any]:
    """The error, in its one shape."""
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert list(body) == ["error"]
    assert set(body["error"]) == {"message", "type", "param", "code"}
    assert body["error"]["message"]
    return dict(body["error"])


def test_embeddings(client: httpx.Client, encoder: noppa.Encoder) -> None:
    """Floats and base64 are the library's own bytes, in order, with usage."""
    expected = encoder.encode(TEXTS, normalize=True)
    for form in ("float", None, "base64"):
        answer = client.post(
            "/v1/embeddings",
            json={"input": TEXTS, "model": "small", "encoding_format": form, "user": "me", "x": 1},
        )
        assert answer.status_code == 200
        body = answer.json()
        assert set(body) == {"object", "data", "model", "usage"}
        assert body["object"] == "list"
        assert body["model"] == "small"
        assert [item["index"] for item in body["data"]] == [0, 1, 2]
        assert {item["object"] for item in body["data"]} == {"embedding"}
        assert body["usage"] == {"prompt_tokens": 14, "total_tokens": 14}
        found = [item["embedding"] for item in body["data"]]
        if form == "base64":
            rows = np.array([np.frombuffer(base64.b64decode(row), "<f4") for row in found])
        else:
            rows = np.array(found, np.float32)
        assert rows.tobytes() == expected.tobytes()
    one = client.post("/embeddings", json={"input": TEXTS[0]}).json()
    assert len(one["data"]) == 1
    assert one["data"][0]["embedding"] == pytest.approx(expected[0].tolist())


def test_dimensions(client: httpx.Client, encoder: noppa.Encoder, tmp_path: Path) -> None:
    """Cut, then scaled to length one; too many is told with the most; all of them always works."""
    answer = client.post("/v1/embeddings", json={"input": TEXTS, "dimensions": 5}).json()
    rows = np.array([item["embedding"] for item in answer["data"]], np.float32)
    assert rows.tobytes() == encoder.encode(TEXTS, dim=5, normalize=True).tobytes()
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)
    for wrong in (0, -1, 13, 1.5, "5", True, 10**30):
        answer = client.post("/v1/embeddings", json={"input": "a", "dimensions": wrong})
        assert answer.status_code == 400
        error = error_of(answer)
        assert error["param"] == "dimensions"
        assert "from 1 to 12" in error["message"]
    assert client.post("/v1/embeddings", json={"input": "a", "dimensions": 12}).status_code == 200


def test_many_inputs(client: httpx.Client, encoder: noppa.Encoder) -> None:
    texts = [f"the girl w{number % 40} eats" for number in range(2048)]
    answer = client.post("/v1/embeddings", json={"input": texts, "encoding_format": "base64"})
    rows = b"".join(base64.b64decode(item["embedding"]) for item in answer.json()["data"])
    assert rows == encoder.encode(texts, normalize=True).tobytes()
    answer = client.post("/v1/embeddings", json={"input": ["a"] * 3001})
    assert answer.status_code == 413
    assert "3001" in error_of(answer)["message"]
    assert "3000" in error_of(answer)["message"]


WRONG: list[tuple[Any, int, str | None, str | None, str]] = [
    ({}, 400, "input", None, "input is missing"),
    ({"input": None}, 400, "input", None, "null"),
    ({"input": 5}, 400, "input", None, "a number"),
    ({"input": {"a": 1}}, 400, "input", None, "an object"),
    ({"input": []}, 400, "input", None, "empty array"),
    ({"input": ""}, 400, "input", None, "input[0] is an empty string"),
    ({"input": ["a", ""]}, 400, "input", None, "input[1] is an empty string"),
    ({"input": ["a", None]}, 400, "input", None, "input[1] is null"),
    ({"input": ["a", 1.5]}, 400, "input", None, "input[1] is a number"),
    ({"input": [["a"]]}, 400, "input", None, "input[0] is an array"),
    ({"input": [1, 2]}, 400, "input", "token_input_unsupported", "check_embedding_ctx_length=False"),
    ({"input": [[1, 2]]}, 400, "input", "token_input_unsupported", "check_embedding_ctx_length"),
    ({"input": "a", "encoding_format": "int8"}, 400, "encoding_format", None, "'base64'"),
    ({"input": "a", "encoding_format": 1}, 400, "encoding_format", None, "a number"),
    ({"input": "a", "model": 1}, 400, "model", None, "string"),
    ({"input": "a", "model": "gpt"}, 404, "model", "model_not_found", "small"),
    ({"input": "the " * 51}, 413, "input", "too_large", "51 tokens and this server takes up to 50"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "status", "param", "code", "told"), WRONG)
def test_wrong_requests(
    client: httpx.Client, body: Any, status: int, param: str, code: str, told: str
) -> None:
    answer = client.post("/v1/embeddings", json=body)
    assert answer.status_code == status
    error = error_of(answer)
    assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", param, code)
    assert told in error["message"]


def test_models(client: httpx.Client) -> None:
    (model,) = client.get("/v1/models").json()["data"]
    assert set(model) == {"id", "object", "created", "owned_by"}
    assert client.get("/v1/models/small").json() == model
    missing = client.get("/v1/models/other/one")
    assert missing.status_code == 404
    assert error_of(missing)["code"] == "model_not_found"


def test_embed(client: httpx.Client, encoder: noppa.Encoder) -> None:
    """What clients of text-embeddings-inference send."""
    expected = encoder.encode(TEXTS, normalize=True)
    for path in ("/embed", "/"):
        rows = np.array(client.post(path, json={"inputs": TEXTS}).json(), np.float32)
        assert rows.tobytes() == expected.tobytes()
    raw = client.post("/embed", json={"inputs": TEXTS[0], "normalize": False}).json()
    assert np.array(raw, np.float32).tobytes() == encoder.encode(TEXTS[:1]).tobytes()
    long = {"inputs": "girl " * 60}
    assert client.post("/embed", json=long).status_code == 413
    cut = client.post("/embed", json={**long, "truncate": True}).json()
    assert np.array(cut[0], np.float32) == pytest.approx(
        encoder.encode("girl " * 50, normalize=True), abs=1e-6
    )
    assert len(client.post("/embed", json={"inputs": "a", "dimensions": 3}).json()[0]) == 3
    for wrong in ({"normalize": 1}, {"truncation_direction": "Left"}, {"prompt_name": "query"}):
        answer = client.post("/embed", json={"inputs": "a", **wrong})
        assert answer.status_code == 400
        assert error_of(answer)["param"] == next(iter(wrong))


def test_info(client: httpx.Client) -> None:
    info = client.get("/info").json()
    assert info["model_id"] == "small"
    assert info["max_client_batch_size"] == 3000
    assert info["max_input_length"] == 50
    assert info["version"] == noppa.__version__
    assert {"max_concurrent_requests", "auto_truncate"} <= set(info)


def test_health_and_metrics(server: Running, client: httpx.Client) -> None:
    """Everything is there from the start, and counts."""
    assert client.get("/health").json() == {"status": "ok"}
    assert client.head("/health").status_code == 200
    assert client.get("/ready").json() == {"status": "ready"}

    def numbers() -> dict[str, float]:
        answer = client.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        return dict(_samples(answer.text))

    before = numbers()
    client.post("/v1/embeddings", json={"input": ["the girl zzqx", "zzqx"]})
    after = numbers()
    gained = {name: after[name] - before[name] for name in before if after[name] != before[name]}
    route = 'noppa_requests_total{code="200",route="/v1/embeddings"}'
    assert gained[route] == 1
    assert gained["noppa_inputs_total"] == 2
    assert gained["noppa_tokens_total"] == 4
    assert gained["noppa_oov_tokens_total"] == 2
    assert gained["noppa_empty_inputs_total"] == 1
    assert gained["noppa_batch_size_count"] == 1
    assert gained["noppa_encode_duration_seconds_count"] == 1
    assert gained["noppa_encode_duration_seconds_sum"] > 0
    assert gained['noppa_request_duration_seconds_count{route="/v1/embeddings"}'] == 1
    assert gained['noppa_request_duration_seconds_sum{route="/v1/embeddings"}'] > 0
    many = {"inputs": ["the girl"] * 100}  # too many for the event loop: it waits for its turn
    client.post("/embed", json=many)
    name = "noppa_queue_duration_seconds_count"
    assert numbers()[name] == after[name] + 1
    assert (
        after[
            f'noppa_info{{instructions="{kernels.instruction_set()}",version="{noppa.__version__}"}}'
        ]
        == 1
    )
    assert after["noppa_resident_memory_bytes"] > 1e6
    assert set(before) == set(after)


def _samples(text: str) -> Iterator[tuple[str, float]]:
    """Every sample, by the rules of the text format: a TYPE before its samples, no sample twice."""
    seen, kinds = set(), set()
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            kinds.add(line.split()[2])
        if line.startswith("#"):
            continue
        found = re.fullmatch(r'([a-z_]+)(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? (\S+)', line)
        assert found, line
        assert {found[1], re.sub("_(bucket|sum|count)$", "", found[1])} & kinds
        name = found[1] + (found[2] or "")
        assert name not in seen
        seen.add(name)
        yield name, float(found[4])


def test_unknown_paths_and_methods(client: httpx.Client) -> None:
    missing = client.get("/nothing")
    assert (missing.status_code, error_of(missing)["code"]) == (404, "not_found")
    wrong = client.get("/v1/embeddings")
    assert (wrong.status_code, error_of(wrong)["code"]) == (405, "method_not_allowed")
    assert wrong.headers["allow"] == "POST"
    assert "use POST" in error_of(wrong)["message"]
    both = client.delete("/")
    assert both.headers["allow"] == "GET, HEAD, POST"
    assert "use GET or POST" in error_of(both)["message"]


def test_request_ids_and_headers(client: httpx.Client) -> None:
    answer = client.get("/health", headers={"x-request-id": "mine-1"})
    assert answer.headers["x-request-id"] == "mine-1"
    forged = client.get("/health", headers={"x-request-id": "bad id\t{}"})
    assert re.fullmatch("[0-9a-f]{32}", forged.headers["x-request-id"])
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "server" not in answer.headers
    cross = client.get("/health", headers={"origin": "https://example.org"})
    assert "access-control-allow-origin" not in cross.headers


def test_logs_hold_no_text(server: Running, client: httpx.Client) -> None:
    client.post("/v1/embeddings?secretquery=1", json={"input": "secretword of the girl"})
    client.post("/v1/embeddings", json={"input": {"secretword": 1}})
    client.post("/secretpath", content=b"secretword")
    client.get("/health", headers={"x-request-id": "the-last"})
    wait_until(lambda: any(entry["id"] == "the-last" for entry in server.events("request")))
    entries = server.events("request")
    assert "secret" not in json.dumps(entries)
    assert {"time", "event", "id", "method", "route", "status", "ms"} <= set(entries[-1])


def test_curl(server: Running, encoder: noppa.Encoder) -> None:
    """As the documentation of OpenAI shows it, with another address."""
    said = json.dumps({"input": TEXTS[0], "model": "small"})
    headers = ["-H", "Content-Type: application/json", "-H", "Authorization: Bearer whatever"]
    command = ["curl", "-s", "--noproxy", "*", f"{server.url}/v1/embeddings", *headers, "-d", said]
    run = subprocess.run(command, capture_output=True, check=True)
    row = json.loads(run.stdout)["data"][0]["embedding"]
    assert np.array(row, np.float32).tobytes() == encoder.encode(TEXTS[0], normalize=True).tobytes()


def test_a_model_without_prefix_and_other_switches(tmp_path: Path) -> None:
    """Keys from a file and the environment, a name, any model, an allowed origin, a prefix, zeros for empty texts."""
    model = made_encoder(tmp_path / "plain", whitened=False)
    file = tmp_path / "keys"
    file.write_text("# two\nfirst-key\nsecond-key\n")
    options = ["--keys", str(file), "--served-model-name", "mine/too", "--any-model"]
    options += ["--cors-origin", "https://example.org", "--url-prefix", "api", "--workers", "2"]
    options += ["--empty-input", "zero", "--no-normalize"]
    environment = {"NOPPA_API_KEYS": "third-key"}
    with serving(str(model.path), *options, environment=environment) as running:
        with running.client() as client:
            for wrong in ({}, {"authorization": "Bearer no"}, {"authorization": "Basic first-key"}):
                for method, path in (("POST", "/v1/embeddings"), ("POST", "/"), ("GET", "/info")):
                    answer = client.request(method, path, headers=wrong)
                    assert answer.status_code == 401
                    assert answer.headers["www-authenticate"] == "Bearer"
                    assert error_of(answer)["code"] == "invalid_api_key"
            for path in ("/health", "/ready", "/metrics"):
                assert client.get(path).status_code == 200
            for key in ("first-key", "second-key", "third-key"):
                client.headers["authorization"] = f"Bearer {key}"
                answer = client.post(
                    "/v1/embeddings", json={"input": ["the girl", ""], "model": "x"}
                )
                assert answer.json()["model"] == "mine/too"
            rows = np.array([item["embedding"] for item in answer.json()["data"]], np.float32)
            assert rows[0].tobytes() == model.encode("the girl").tobytes()
            assert not rows[1].any()
            assert client.get("/v1/models/mine/too").json()["id"] == "mine/too"
            cut = client.post("/v1/embeddings", json={"input": "a", "dimensions": 3})
            assert cut.status_code == 400
            assert "Whitening" in error_of(cut)["message"]
            cross = client.get("/health", headers={"origin": "https://example.org"})
            assert cross.headers["access-control-allow-origin"] == "https://example.org"
            refused = 'noppa_requests_total{code="401",route="/info"}'
            assert dict(_samples(client.get("/metrics").text))[refused] == 3

            def total_of_both() -> dict[str, float]:  # the second may still be starting
                total = dict(_samples(client.get("/metrics").text))
                return total if total["noppa_processes"] == 2 else {}

            total = wait_until(total_of_both)
            assert total['noppa_requests_total{code="200",route="/v1/embeddings"}'] == 3
        assert running.stop() == 0


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"empty_input": "drop"}, "--empty-input"),
        ({"max_inputs": 0}, "--max-inputs"),
        ({"body_seconds": 0}, "--body-seconds"),
        ({"queue": -1}, "--queue"),
        ({"max_held": 1000}, "--max-held is 1000, less than"),
    ],
)
def test_wrong_settings(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(NoppaError, match=told):
        Settings(**wrong)


def test_documented_limits() -> None:
    """The table of limits gives the defaults."""
    page = Path(__file__).parent.parent / "docs" / "server.md"
    rows = re.findall(
        r"^\| `--([a-z-]+)` \| (\d+) ?(kB|MB|M)? \|", page.read_text(encoding="utf-8"), re.M
    )
    assert len(rows) > 10
    settings, units = Settings(), {"": 1, "kB": 1 << 10, "MB": 1 << 20, "M": 1 << 20}
    for name, number, unit in rows:
        assert getattr(settings, name.replace("-", "_")) == int(number) * units[unit], name


def test_wrong_keys(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    for text, told in (("# none\n", "has no key"), ("ключ\n", "characters")):
        file.write_text(text)
        with pytest.raises(NoppaError, match=told):
            keys_of(file, {})
    with pytest.raises(NoppaError, match="cannot be read"):
        keys_of(tmp_path / "missing", {})
    assert keys_of(None, {"NOPPA_API_KEYS": "a, b c"}) == ("a", "b", "c")
    settings = Settings(keys=("a",), prefix="x/")
    assert Settings.from_json(settings.to_json()) == settings


def test_a_missing_package_is_named(encoder: noppa.Encoder) -> None:
    program = f"import sys; sys.modules['uvicorn'] = None; {PROGRAM}"
    command = [sys.executable, "-c", program, "serve", str(encoder.path), "--port", "0"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 1
    assert (
        run.stderr
        == "noppa: the server needs uvicorn, which is not installed: pip install 'noppa[serve]'\n"
    )


def test_a_port_in_use_is_one_sentence(server: Running, encoder: noppa.Encoder) -> None:
    port = server.url.rpartition(":")[2]
    command = [sys.executable, "-c", PROGRAM, "serve", str(encoder.path), "--port", port]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr.startswith(f"noppa: cannot listen at 127.0.0.1 port {port}")
    assert len(run.stderr.splitlines()) == 1

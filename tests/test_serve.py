"""The contracts of OpenAI, TEI and Ollama over real HTTP, and what every answer has: errors, ids, logs, metrics."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import noppa
from noppa import _native as kernels
from noppa.errors import NoppaError
from noppa.serve.settings import Settings, read_keys
from tests.runs import wait_until
from tests.serving import PROGRAM, Running, error_of, made_encoder, opened, serving

TEXTS = ["the girl eats a cake", "a boy is eating", "café w1 w2 , unheardof"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> noppa.Encoder:
    return made_encoder(tmp_path_factory.mktemp("serve") / "small")


@pytest.fixture(scope="module")
def server(encoder: noppa.Encoder) -> Iterator[Running]:
    with serving(str(encoder.path), "--max-inputs", "3000", "--max-tokens", "50") as running:
        yield running
    for entry in running.log:
        assert entry["event"] in ("listening", "request", "stopped"), entry


@pytest.fixture
def client(server: Running) -> Iterator[httpx.Client]:
    with server.client() as opened:
        yield opened


def test_embeddings(client: httpx.Client, encoder: noppa.Encoder) -> None:
    """Floats and base64 are the library's own bytes, in order, with usage."""
    expected = encoder.encode(TEXTS, normalize=True)
    for encoding in ("float", None, "base64"):
        body = {"input": TEXTS, "model": "small", "encoding_format": encoding, "user": "me"}
        answer = client.post("/v1/embeddings", json=body).json()
        assert set(answer) == {"object", "data", "model", "usage"}
        assert (answer["object"], answer["model"]) == ("list", "small")
        assert [item["index"] for item in answer["data"]] == [0, 1, 2]
        assert {item["object"] for item in answer["data"]} == {"embedding"}
        assert answer["usage"] == {"prompt_tokens": 14, "total_tokens": 14}
        vectors = [item["embedding"] for item in answer["data"]]
        if encoding == "base64":
            vectors = [np.frombuffer(base64.b64decode(vector), "<f4") for vector in vectors]
        assert np.array(vectors, np.float32).tobytes() == expected.tobytes()
    one = client.post("/embeddings", json={"input": TEXTS[0]}).json()
    assert one["data"][0]["embedding"] == pytest.approx(expected[0].tolist())


def test_dimensions(client: httpx.Client, encoder: noppa.Encoder) -> None:
    """Vectors are cut, then scaled to length one."""
    answer = client.post("/v1/embeddings", json={"input": TEXTS, "dimensions": 5}).json()
    rows = np.array([item["embedding"] for item in answer["data"]], np.float32)
    assert rows.tobytes() == encoder.encode(TEXTS, dim=5, normalize=True).tobytes()
    assert client.post("/v1/embeddings", json={"input": "a", "dimensions": 12}).status_code == 200
    for wrong in (0, -1, 13, 1.5, "5", True, 10**30):
        answer = client.post("/v1/embeddings", json={"input": "a", "dimensions": wrong})
        assert answer.status_code == 400
        assert error_of(answer)["param"] == "dimensions"


def test_many_inputs(client: httpx.Client, encoder: noppa.Encoder) -> None:
    texts = [f"the girl w{number % 40} eats" for number in range(2048)]
    answer = client.post("/v1/embeddings", json={"input": texts, "encoding_format": "base64"})
    rows = b"".join(base64.b64decode(item["embedding"]) for item in answer.json()["data"])
    assert rows == encoder.encode(texts, normalize=True).tobytes()
    answer = client.post("/v1/embeddings", json={"input": ["a"] * 3001})
    assert answer.status_code == 413
    assert "3001 texts and this server allows 3000" in error_of(answer)["message"]


@pytest.mark.parametrize(
    ("body", "status", "param", "code", "message"),
    [
        ({}, 400, "input", None, "missing required field `input`"),
        ({"input": None}, 400, "input", None, "missing required field `input`"),
        ({"input": 5}, 400, "input", None, "got `int`"),
        ({"input": {"a": 1}}, 400, "input", None, "got `object`"),
        ({"input": []}, 400, "input", None, "empty array"),
        ({"input": ""}, 400, "input", None, "input[0] is an empty string"),
        ({"input": ["a", ""]}, 400, "input", None, "input[1] is an empty string"),
        ({"input": ["a", None]}, 400, "input", None, "got `null`"),
        ({"input": [1, 2]}, 400, "input", "token_input_unsupported", "check_embedding_ctx_length=False"),
        ({"input": [[1, 2]]}, 400, "input", "token_input_unsupported", "check_embedding_ctx_length"),
        ({"input": "a", "encoding_format": "int8"}, 400, "encoding_format", None, "int8"),
        ({"input": "a", "model": 1}, 400, "model", None, "got `int`"),
        ({"input": "a", "model": "gpt"}, 404, "model", "model_not_found", "use small"),
        ({"input": "the " * 51}, 413, "input", "too_large", "51 tokens and this server allows 50"),
        ({"input": "x" * 12_801}, 413, "input", "too_large", "12801 characters and this server allows 12800"),
    ],
)  # fmt: skip
def test_wrong_requests(
    client: httpx.Client, body: Any, status: int, param: str, code: str, message: str
) -> None:
    answer = client.post("/v1/embeddings", json=body)
    assert answer.status_code == status
    error = error_of(answer)
    assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", param, code)
    assert message in error["message"]


def test_models(client: httpx.Client) -> None:
    (model,) = client.get("/v1/models").json()["data"]
    assert set(model) == {"id", "object", "created", "owned_by"}
    assert client.get("/v1/models/small").json() == model
    assert error_of(client.get("/v1/models/other/one"))["code"] == "model_not_found"


def test_text_embeddings_inference(client: httpx.Client, encoder: noppa.Encoder) -> None:
    expected = encoder.encode(TEXTS, normalize=True)
    for path in ("/embed", "/"):
        rows = np.array(client.post(path, json={"inputs": TEXTS}).json(), np.float32)
        assert rows.tobytes() == expected.tobytes()
    raw = client.post("/embed", json={"inputs": TEXTS[0], "normalize": False}).json()
    assert np.array(raw, np.float32).tobytes() == encoder.encode(TEXTS[:1]).tobytes()
    long = {"inputs": "girl " * 60}
    assert client.post("/embed", json=long).status_code == 413
    cut = np.array(client.post("/embed", json={**long, "truncate": True}).json()[0], np.float32)
    assert cut == pytest.approx(encoder.encode("girl " * 50, normalize=True), abs=1e-6)
    assert len(client.post("/embed", json={"inputs": "a", "dimensions": 3}).json()[0]) == 3
    for wrong in ({"normalize": 1}, {"truncation_direction": "Left"}, {"prompt_name": "query"}):
        answer = client.post("/embed", json={"inputs": "a", **wrong})
        assert answer.status_code == 400
        assert error_of(answer)["param"] == next(iter(wrong))
    info = client.get("/info").json()
    assert info["model_id"] == "small"
    assert info["max_client_batch_size"] == 3000
    assert info["max_input_length"] == 50
    assert info["version"] == noppa.__version__


def test_ollama(client: httpx.Client, encoder: noppa.Encoder) -> None:
    expected = encoder.encode(TEXTS, normalize=True)
    (listed,) = client.get("/api/tags").json()["models"]
    assert listed["name"] == listed["model"] == "small:latest"
    assert datetime.fromisoformat(listed["modified_at"]).tzinfo is not None
    for name in ("small", listed["name"]):
        body = {"model": name, "input": TEXTS, "keep_alive": "5m", "options": {"num_ctx": 1}}
        answer = client.post("/api/embed", json=body).json()
        assert np.array(answer["embeddings"], np.float32).tobytes() == expected.tobytes()
        assert (answer["model"], answer["prompt_eval_count"]) == ("small", 14)
        assert answer["total_duration"] > 0
    small = client.post("/api/embed", json={"model": "small", "input": "a", "dimensions": 4})
    assert np.shape(small.json()["embeddings"]) == (1, 4)
    long = {"model": "small", "input": "girl " * 51}
    assert client.post("/api/embed", json=long).status_code == 200
    assert client.post("/api/embed", json={**long, "truncate": False}).status_code == 413
    one = client.post("/api/embeddings", json={"model": "small", "prompt": TEXTS[0]}).json()
    assert np.array(one["embedding"], np.float32).tobytes() == expected[0].tobytes()
    assert client.get("/api/version").json() == {"version": noppa.__version__}
    for path, wrong, param in (
        ("/api/embed", {}, "input"),
        ("/api/embed", {"input": ["a", ""]}, "input"),
        ("/api/embed", {"input": "a", "dimensions": 99}, "dimensions"),
        ("/api/embeddings", {"prompt": ""}, "prompt"),
    ):
        assert error_of(client.post(path, json=wrong))["param"] == param


def test_health_and_metrics(client: httpx.Client) -> None:
    assert client.get("/health").json() == {"status": "ok"}
    assert client.head("/health").status_code == 200
    assert client.get("/ready").status_code == 200
    client.post("/v1/embeddings", json={"input": "a"})
    before = samples(client)
    client.post("/v1/embeddings", json={"input": ["the girl zzqx", "zzqx"]})
    after = samples(client)
    gained = {name: value - before[name] for name, value in after.items() if name in before}
    assert gained['noppa_requests_total{code="200",route="/v1/embeddings"}'] == 1
    assert gained["noppa_inputs_total"] == 2
    assert gained["noppa_tokens_total"] == 4
    assert gained["noppa_oov_tokens_total"] == 2
    assert gained["noppa_empty_inputs_total"] == 1
    assert gained["noppa_batch_size_count"] == 1
    assert gained["noppa_encode_duration_seconds_count"] == 1
    assert gained['noppa_request_duration_seconds_count{route="/v1/embeddings"}'] == 1
    client.post("/embed", json={"inputs": ["the girl"] * 100})  # large enough to wait for a thread
    name = "noppa_queue_duration_seconds_count"
    assert samples(client)[name] == after[name] + 1
    labels = f'instructions="{kernels.instruction_set()}",version="{noppa.__version__}"'
    assert after[f"noppa_info{{{labels}}}"] == 1
    assert after["process_resident_memory_bytes"] > 1e6


def samples(client: httpx.Client) -> dict[str, float]:
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_unknown_paths_and_methods(client: httpx.Client) -> None:
    missing = client.get("/nothing")
    assert (missing.status_code, error_of(missing)["code"]) == (404, "not_found")
    wrong = client.get("/v1/embeddings")
    assert (wrong.status_code, error_of(wrong)["code"]) == (405, "method_not_allowed")
    assert wrong.headers["allow"] == "POST"
    assert 'route="other"' in client.get("/metrics").text


def test_request_ids_and_headers(client: httpx.Client) -> None:
    answer = client.get("/health", headers={"x-request-id": "mine-1"})
    assert answer.headers["x-request-id"] == "mine-1"
    forged = client.get("/health", headers={"x-request-id": "bad id\t{}"})
    assert re.fullmatch("[0-9a-f]{32}", forged.headers["x-request-id"])
    assert answer.headers["x-content-type-options"] == "nosniff"
    cross = client.get("/health", headers={"origin": "https://example.org"})
    assert "access-control-allow-origin" not in cross.headers


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", {"input": TEXTS[0], "user": "me"}),
        ("/embed", {"inputs": TEXTS[0]}),
        ("/rerank", {"query": TEXTS[0], "documents": TEXTS}),
        ("/rerank", {"query": TEXTS[0], "texts": TEXTS}),
        ("/api/embed", {"model": "small", "input": TEXTS[0]}),
    ],
)
def test_unknown_fields_of_other_apis_are_listed(
    client: httpx.Client, path: str, body: dict[str, Any]
) -> None:
    assert "x-noppa-warning" not in client.post(path, json=body).headers
    answer = client.post(path, json={**body, "drop_params": True, "a\r\nb: ü": [1]})
    assert answer.status_code == 200
    assert answer.headers["x-noppa-warning"] == "ignored fields: drop_params, a??b???"
    many = client.post(path, json={**body, **{f"field{at}" * 20: at for at in range(200)}})
    assert len(many.headers["x-noppa-warning"]) < 5000


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/explain", {"text": "a"}),
        ("/similarity", {"a": "a", "b": "a"}),
        ("/search", {"query": "a", "lines": ["a"]}),
        ("/lines/map", {"lines": ["a"]}),
    ],
)
def test_our_own_routes_refuse_unknown_fields(
    client: httpx.Client, path: str, body: dict[str, Any]
) -> None:
    assert client.post(path, json=body).status_code == 200
    error = error_of(client.post(path, json={**body, "colour": 1}))
    assert (error["param"], error["code"]) == ("colour", "unknown_field")
    assert f"colour is not a field of {path}: its fields are " in error["message"]


def test_items_without_a_known_word_are_marked(client: httpx.Client) -> None:
    texts = ["zzqx", TEXTS[0], "qqxz zzqx"]
    answer = client.post("/v1/embeddings", json={"input": texts})
    assert [item.get("empty") for item in answer.json()["data"]] == [True, None, True]
    assert answer.headers["x-noppa-warning"] == "items without a known word: 0, 2"
    ranks = client.post("/rerank", json={"query": "zzqx", "documents": texts})
    assert ranks.headers["x-noppa-warning"] == "items without a known word: 0, 2"
    many = client.post("/embed", json={"inputs": [TEXTS[0]] + ["zzqx"] * 2900})
    assert "99, 100 and 2800 more" in many.headers["x-noppa-warning"]


def test_logs_hold_no_text(server: Running, client: httpx.Client) -> None:
    client.post("/v1/embeddings?secretquery=1", json={"input": "secretword of the girl"})
    client.post("/v1/embeddings", json={"input": {"secretword": 1}})
    client.post("/secretpath", content=b"secretword")
    client.get("/health", headers={"x-request-id": "the-last"})
    wait_until(lambda: any(entry["id"] == "the-last" for entry in server.events("request")))
    entries = server.events("request")
    assert "secret" not in json.dumps(entries)
    assert {"time", "event", "id", "method", "route", "status", "ms"} <= set(entries[-1])


def test_keys_name_and_workers(tmp_path: Path) -> None:
    """Keys from a file and the environment, a name, an allowed origin, and metrics of two processes."""
    model = made_encoder(tmp_path / "plain", whitened=False)
    file = tmp_path / "keys"
    file.write_text("# two\nfirst-key\nsecond-key\n")
    options = ["--keys", str(file), "--name", "mine/too", "--workers", "2"]
    options += ["--cors-origin", "https://example.org"]
    environment = {"NOPPA_API_KEYS": "third-key"}
    with serving(str(model.path), *options, environment=environment) as running:
        with running.client() as client:
            for wrong in ({}, {"authorization": "Bearer no"}, {"authorization": "Basic first-key"}):
                for method, path in (("POST", "/v1/embeddings"), ("POST", "/"), ("GET", "/info")):
                    answer = client.request(method, path, headers=wrong)
                    assert answer.status_code == 401
                    assert answer.headers["www-authenticate"] == "Bearer"
                    assert error_of(answer)["code"] == "invalid_api_key"
            for path in ("/health", "/ready", "/metrics", "/", "/docs"):
                assert client.get(path).status_code == 200
            for key in ("first-key", "second-key", "third-key"):
                client.headers["authorization"] = f"Bearer {key}"
                answer = client.post("/v1/embeddings", json={"input": "the girl"})
                assert answer.json()["model"] == "mine/too"
            assert client.get("/v1/models/mine/too").json()["id"] == "mine/too"
            cut = client.post("/v1/embeddings", json={"input": "a", "dimensions": 3})
            assert "Whitening" in error_of(cut)["message"]
            cross = client.get("/health", headers={"origin": "https://example.org"})
            assert cross.headers["access-control-allow-origin"] == "https://example.org"
            wait_until(lambda: samples(client)["noppa_workers"] == 2)
            total = samples(client)
            assert total['noppa_requests_total{code="200",route="/v1/embeddings"}'] == 3
        assert running.stop() == 0


def test_host_names(encoder: noppa.Encoder) -> None:
    """Against DNS rebinding, a server without keys answers only to its own names."""
    settings = Settings(allowed_hosts=("localhost", "127.0.0.1", "[::1]", "vectors.example.org"))
    with opened(settings, {"small": encoder}) as client:
        for host in ("localhost", "127.0.0.1:80", "[::1]:8000", "vectors.example.org"):
            assert client.get("/health", headers={"host": host}).status_code == 200, host
        assert client.get("/health", headers={"host": "evil.example.org"}).status_code == 400
    keyed = Settings(allowed_hosts=("localhost",), keys=("key",))
    with opened(keyed, {"small": encoder}) as client:
        assert client.get("/health", headers={"host": "any.example.org"}).status_code == 200


def test_wrong_settings_and_keys(tmp_path: Path) -> None:
    for wrong in ({"max_inputs": 0}, {"body_seconds": 0}, {"max_memory": 1000}, {"workers": 0}):
        with pytest.raises(NoppaError, match=next(iter(wrong))):
            Settings(**wrong)  # type: ignore[arg-type]
    file = tmp_path / "keys"
    for text, message in (("# none\n", "has no API key"), ("ключ\n", "characters")):
        file.write_text(text)
        with pytest.raises(NoppaError, match=message):
            read_keys(file, {})
    with pytest.raises(NoppaError, match="cannot read"):
        read_keys(tmp_path / "missing", {})
    assert read_keys(None, {"NOPPA_API_KEYS": "a, b c"}) == ("a", "b", "c")


def test_documented_limits() -> None:
    """The table of limits in the documentation gives the defaults."""
    page = Path(__file__).parent.parent / "docs" / "server.md"
    rows = re.findall(r"^\| `([a-z_]+)` \| (\d+) ?(MB)? \|", page.read_text(encoding="utf-8"), re.M)
    assert len(rows) > 5
    for name, number, unit in rows:
        assert getattr(Settings(), name) == int(number) << (20 if unit else 0), name


@pytest.mark.parametrize(
    ("prelude", "options", "message"),
    [
        ("sys.modules['granian.constants'] = None", [], "the server needs granian"),
        ("", ["--port", "{port}"], "cannot listen on 127.0.0.1 port {port}"),
        ("", ["--port", "0", "--max-inputs", "0"], "max"),
    ],
)
def test_errors_at_the_start_are_one_sentence(
    server: Running, encoder: noppa.Encoder, prelude: str, options: list[str], message: str
) -> None:
    port = server.url.rpartition(":")[2]
    arguments = [option.format(port=port) for option in options]
    command = [sys.executable, "-c", f"import sys; {prelude}; {PROGRAM}" if prelude else PROGRAM]
    run = subprocess.run(
        [*command, "serve", str(encoder.path), *arguments], capture_output=True, text=True
    )
    assert run.returncode in (1, 2)
    assert run.stderr.startswith("noppa: ")
    assert message.format(port=port) in run.stderr
    assert len(run.stderr.splitlines()) == 1


def test_the_page_is_sent_with_security_headers(client: httpx.Client) -> None:
    answer = client.get("/")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    for name in ("x-frame-options", "referrer-policy", "x-content-type-options"):
        assert name in answer.headers
    again = client.get("/", headers={"if-none-match": answer.headers["etag"]})
    assert again.status_code == 304
    for path in re.findall(r'(?:href|src)="(page/[^"]+)"', answer.text):
        assert client.get(f"/{path}").status_code == 200
    for missing in ("/page/..%2fapp.py", "/page/missing.js"):
        assert client.get(missing).status_code == 404


def test_the_page_needs_no_other_host() -> None:
    folder = Path(noppa.__file__).parent / "serve" / "page"
    for file in folder.iterdir():
        for address in re.findall(r"https?://[^\s\"'<)]+", file.read_text(encoding="utf-8")):
            assert address == "http://www.w3.org/2000/svg", f"{file.name}: {address}"

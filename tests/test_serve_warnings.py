"""Fields that nobody declared, texts without a known word, and what the document says of dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from starlette.testclient import TestClient

from noppa.serve.app import Application
from noppa.serve.served import Served
from noppa.serve.served_models import Models
from noppa.serve.settings import Settings
from noppa.serve.warning_header import HEADER
from tests.serving import made_encoder

TEXT = "the girl eats"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("warnings")
    encoders = {
        "ordered": made_encoder(folder / "ordered"),
        "plain": made_encoder(folder / "plain", whitened=False),
    }
    settings = Settings(log_requests=False)
    application = Application(settings, Served(Models(encoders, settings)))
    with TestClient(application, base_url="http://127.0.0.1") as opened:
        yield opened


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", {"input": TEXT, "user": "me"}),
        ("/embed", {"inputs": TEXT}),
        ("/rerank", {"query": TEXT, "documents": [TEXT]}),
        ("/rerank", {"query": TEXT, "texts": [TEXT]}),
        ("/v2/rerank", {"query": TEXT, "documents": [TEXT]}),
        ("/similarity", {"inputs": {"source_sentence": TEXT, "sentences": [TEXT]}}),
        ("/api/embed", {"model": "ordered", "input": TEXT}),
        ("/api/embeddings", {"model": "ordered", "prompt": TEXT}),
    ],
    ids=str,
)
def test_fields_of_other_servers_clients_are_listed(
    client: TestClient, path: str, body: dict[str, Any]
) -> None:
    plain = client.post(path, json=body)
    assert plain.status_code == 200
    assert HEADER not in plain.headers
    answer = client.post(path, json={**body, "drop_params": True, "a\r\nb: ü": [1]})
    assert answer.status_code == 200
    assert answer.headers[HEADER] == "ignored fields: drop_params, a??b???"
    many = client.post(path, json={**body, **{f"field{at}" * 20: at for at in range(200)}})
    assert many.status_code == 200
    assert len(many.headers[HEADER]) < 5000


def test_fields_inside_objects_are_listed_too(client: TestClient) -> None:
    inputs = {"source_sentence": TEXT, "sentences": [TEXT], "prompt": 1}
    answer = client.post("/similarity", json={"inputs": inputs, "parameters": {"top": 1}})
    assert answer.headers[HEADER] == "ignored fields: inputs.prompt, parameters.top"


def test_a_misspelt_field_is_told_beside_what_is_missing(client: TestClient) -> None:
    answer = client.post("/v1/embeddings", json={"imput": TEXT})
    assert answer.status_code == 400
    assert answer.headers[HEADER] == "ignored fields: imput"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/explain", {"text": TEXT}),
        ("/similarity", {"a": TEXT, "b": TEXT}),
        ("/search", {"query": TEXT, "lines": [TEXT]}),
        ("/lines", {"lines": [TEXT]}),
        ("/lines/map", {}),
        ("/lines/vectors", {}),
    ],
)
def test_our_own_routes_refuse_them(client: TestClient, path: str, body: dict[str, Any]) -> None:
    client.post("/lines", json={"lines": [TEXT]})
    assert client.post(path, json=body).status_code == 200
    refused = client.post(path, json={**body, "colour": 1})
    assert refused.status_code == 400
    error = refused.json()["error"]
    assert (error["param"], error["code"]) == ("colour", "unknown_field")
    assert f"'colour' is no field of {path}: it takes " in error["message"]


def test_items_without_a_known_word_are_marked(client: TestClient) -> None:
    texts = ["zzqx", TEXT, "qqxz zzqx"]
    answer = client.post("/v1/embeddings", json={"input": texts})
    assert [item.get("empty") for item in answer.json()["data"]] == [True, None, True]
    assert answer.headers[HEADER] == "items without a known word: 0, 2"
    for path, body in (
        ("/embed", {"inputs": texts}),
        ("/api/embed", {"input": texts}),
        ("/rerank", {"query": "zzqx", "documents": texts}),  # the query is no item
    ):
        assert client.post(path, json=body).headers[HEADER] == "items without a known word: 0, 2"
    many = client.post("/embed", json={"inputs": [TEXT] + ["zzqx"] * 3000})
    assert "99, 100 and 2900 more" in many.headers[HEADER]
    both = client.post("/embed", json={"inputs": "zzqx", "x": 1})
    assert both.headers[HEADER] == "ignored fields: x; items without a known word: 0"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"dimensions": 12}, 200),
        ({"dimensions": 5, "model": "ordered"}, 200),
        ({"dimensions": 13}, 400),
        ({"dimensions": None, "model": "plain"}, 200),
        ({"dimensions": 16, "model": "plain"}, 200),
        ({"dimensions": 5, "model": "plain"}, 400),
        ({"dimensions": 17, "model": "plain"}, 400),
    ],
    ids=str,
)
def test_dimensions_are_documented_by_model(
    client: TestClient, body: dict[str, Any], status: int
) -> None:
    """What the document allows is what the server takes."""
    document = client.get("/openapi.json").json()
    operation = document["paths"]["/v1/embeddings"]["post"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    about = schema["properties"]["dimensions"]["anyOf"][0]["description"]
    assert about == "The first: of ordered 1 to 12; of plain all 16 alone."
    sent = {"input": TEXT, **body}
    answer = client.post("/v1/embeddings", json=sent)
    assert answer.status_code == status, answer.text
    assert jsonschema_rs.Draft202012Validator(schema).is_valid(sent) == (status == 200)

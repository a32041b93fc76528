"""Memory of the server: what all requests hold together, what a body may hold, and how answers are sent."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noppa
from noppa.serve import receive, service
from noppa.serve.answers import written
from noppa.serve.app import Application
from noppa.serve.gate import PIECE
from noppa.serve.openai import answer
from noppa.serve.problems import Problem
from noppa.serve.served import Served
from noppa.serve.served_models import Counts, Models, Watch
from noppa.serve.settings import Settings
from tests.serving import ask, made_encoder

TEXT = "the girl eats a cake"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> noppa.Encoder:
    return made_encoder(tmp_path_factory.mktemp("budget") / "small")


class Apps:
    """Applications around one encoder."""

    def __init__(self, encoder: noppa.Encoder) -> None:
        self.encoder = encoder
        self.made: list[Application] = []

    def __call__(self, **settings: Any) -> Application:
        told = Settings(log_requests=False, **settings)
        self.made.append(Application(told, Served(Models({"small": self.encoder}, told))))
        return self.made[-1]


@pytest.fixture
def make(encoder: noppa.Encoder) -> Iterator[Apps]:
    apps = Apps(encoder)
    yield apps
    for app in apps.made:
        assert app.service.budget.held == 0
        app.service.close()


def padded(size: int) -> bytes:
    body = json.dumps({"inputs": TEXT}).encode()
    return body + b" " * (size - len(body))


@pytest.mark.found(
    "outside review", "the bodies of all connections together had no bound: 50 took 1.6 GB"
)
def test_bodies_share_a_budget(make: Apps) -> None:
    """Beyond it 503 before a byte is read; and room again when others are done."""
    app = make(max_held=1000, max_body=1000)
    go_on = asyncio.Event()
    read: list[str] = []

    async def slow(name: str) -> AsyncIterator[bytes]:
        read.append(name)
        await go_on.wait()
        yield padded(800)

    async def run() -> None:
        declared = {"content-length": "800"}
        first = asyncio.ensure_future(ask(app, "/embed", slow("first"), declared))
        while app.service.budget.held == 0:
            await asyncio.sleep(0)
        second = await ask(app, "/embed", slow("second"), declared)
        assert second.status == 503
        assert second.error["code"] == "out_of_memory"
        assert int(second.headers[b"retry-after"]) >= 1
        assert (await ask(app, "/embed", padded(100))).status == 200
        go_on.set()
        assert (await first).status == 200
        assert (await ask(app, "/embed", padded(800))).status == 200
        assert read == ["first"]

    asyncio.run(run())


def test_a_body_of_unknown_length_is_counted_as_it_comes(make: Apps) -> None:
    app = make(max_held=1000, max_body=1000)

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(9):
            yield b" " * 100

    others = app.service.budget.lease()
    others.resize(500)
    assert asyncio.run(ask(app, "/embed", pieces())).status == 503
    others.resize(0)
    assert asyncio.run(ask(app, "/embed", pieces())).status == 400


@pytest.mark.found("outside review", "unknown fields of a body were kept while its request waited")
def test_only_the_fields_of_a_route_are_kept(make: Apps) -> None:
    app = make()
    kept: list[receive.Parsed] = []
    original = receive.parsed

    def parsed(data: bytearray, names: frozenset[str]) -> receive.Parsed:
        kept.append(original(data, names))
        return kept[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(receive, "parsed", parsed)
        body = {"inputs": TEXT, "normalize": True, "input": TEXT, "other": [TEXT]}
        for path in ("/embed", "/"):
            assert asyncio.run(ask(app, path, json.dumps(body).encode())).status == 200
    assert kept == [({"inputs": TEXT, "normalize": True}, ["input", "other"])] * 2


RIGHT = {
    "inputs": {"source_sentence": TEXT, "sentences": [TEXT]},
    "documents": [TEXT],
    "texts": [TEXT],
}


def test_every_route_with_a_body_knows_its_fields(make: Apps) -> None:
    """A wrong value of any declared field is an error that names it; and every handler takes what its fields declare."""
    app = make()
    bodies = [
        contract
        for operation in app.operations
        if operation.body is not None
        for contract in operation.contracts
    ]
    assert len(bodies) > 10
    for operation in bodies:
        assert operation.method == "POST"
        taken = [*inspect.signature(operation.handler).parameters]
        assert sorted(taken) == sorted(["request", *operation.body]), operation.path
        right = dict.fromkeys(("input", "text", "a", "b", "query", "prompt"), TEXT)
        right = {name: TEXT for name in right if name in operation.body}
        right |= {name: RIGHT[name] for name in operation.body if name in RIGHT}
        if operation.path in ("/embed", "/"):
            right["inputs"] = TEXT
        for name in operation.body:
            wrong = json.dumps({**right, name: [{"no": "value"}]}).encode()
            if name != "user":
                refused = asyncio.run(ask(app, operation.path, wrong))
                assert refused.error["param"] == name, operation.path


@pytest.mark.found(
    "outside review", "28 MB of empty arrays took 730 MB and held /health for 3.5 seconds"
)
@pytest.mark.parametrize("values", [b"[]", b"{}", b'""', b"1", b'"\\\\"', b'"\\""'])
def test_a_body_of_many_values(make: Apps, values: bytes) -> None:
    app = make()
    body = b'{"inputs":[' + b",".join([values] * (2 * receive.MOST_VALUES)) + b"]}"
    refused = asyncio.run(ask(app, "/embed", body))
    assert refused.status == 413
    assert str(receive.MOST_VALUES) in refused.error["message"]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False)
    | st.text(st.sampled_from('ab,[{]}"\\é')),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.sampled_from('a"\\,')), inner),
)


@settings(max_examples=50)
@given(JSON, st.booleans())
def test_values_are_counted_outside_strings(value: Any, ascii_only: bool) -> None:
    def count(part: Any) -> int:
        if not isinstance(part, (list, dict)):
            return 0
        inner = part.values() if isinstance(part, dict) else part
        return 1 + max(0, len(part) - 1) + sum(map(count, inner))

    data = bytearray(json.dumps(value, ensure_ascii=ascii_only).encode())
    assert receive.value_count(data) == 1 + count(value)
    assert receive._marks(data) >= receive.value_count(data)


@pytest.mark.found("outside review", "large bodies were parsed on the event loop")
def test_large_bodies_are_parsed_in_a_thread(make: Apps, monkeypatch: pytest.MonkeyPatch) -> None:
    app = make()
    names: list[str] = []
    original = receive.parsed

    def parsed(data: bytearray, fields: frozenset[str]) -> dict[str, Any]:
        names.append(threading.current_thread().name)
        return original(data, fields)

    monkeypatch.setattr(receive, "parsed", parsed)
    for size in (100, receive.LARGE + 1):
        assert asyncio.run(ask(app, "/embed", padded(size))).status == 200
    assert names == [threading.current_thread().name, "parse_0"]


def test_only_utf_8_is_json(make: Apps) -> None:
    app = make()
    text = json.dumps({"inputs": TEXT})
    statuses = {
        name: asyncio.run(ask(app, "/embed", text.encode(name))).status
        for name in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32")
    }
    assert statuses == {
        "utf-8": 200,
        "utf-8-sig": 200,
        "utf-16": 400,
        "utf-16-le": 400,
        "utf-32": 400,
    }


def test_compressed_bodies_are_refused(make: Apps) -> None:
    refused = asyncio.run(ask(make(), "/embed", b"\x1f\x8b", {"content-encoding": "gzip"}))
    assert (refused.status, refused.error["code"]) == (415, "encoded_body")


@pytest.mark.found("outside review", "texts times dimensions of an answer had no bound")
def test_numbers_of_an_answer_are_bounded(make: Apps) -> None:
    app = make(max_values=100)
    for path, name in (("/embed", "inputs"), ("/v1/embeddings", "input")):
        fine = asyncio.run(ask(app, path, json.dumps({name: [TEXT] * 8}).encode()))
        assert fine.status == 200
        refused = asyncio.run(ask(app, path, json.dumps({name: [TEXT] * 9}).encode()))
        assert refused.status == 413
        assert "send up to 8 texts" in refused.error["message"]
    info = json.loads(asyncio.run(ask(app, "/info", method="GET")).body)
    assert info["max_client_batch_size"] == 8


def test_a_large_answer_is_sent_in_pieces_and_counted(make: Apps, encoder: noppa.Encoder) -> None:
    app = make()
    texts = [f"{TEXT} w{number % 40}" for number in range(4000)]
    held: list[int] = []
    told = asyncio.run(
        ask(
            app,
            "/embed",
            json.dumps({"inputs": texts}).encode(),
            sent=lambda message: held.append(app.service.budget.held),
        )
    )
    assert told.status == 200
    assert len(told.messages) > 2
    assert max(len(message["body"]) for message in told.messages[1:]) <= PIECE
    assert len(told.body) == int(told.headers[b"content-length"])
    assert held[1:] == [len(told.body)] * (len(held) - 1)
    rows = np.array(json.loads(told.body), np.float32)
    assert rows.tobytes() == encoder.encode(texts, normalize=True).tobytes()


def test_the_deadline_holds_while_an_answer_is_written() -> None:
    rows = np.ones((2, 3), np.float32)
    late = Watch(lambda: False, 0.0)
    for write in (
        lambda: written(rows, late, 1),
        lambda: answer("small", rows, "float", Counts(), late, 1),
    ):
        with pytest.raises(Problem, match="longer than this server allows"):
            write()


def test_many_empty_texts_are_no_small_request() -> None:
    assert service._small(["a"]) or service.SMALL == 0
    assert not service._small([""] * 8192)


def test_no_memory_is_no_bug(make: Apps, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: Any, **options: Any) -> None:
        raise MemoryError

    app = make()
    monkeypatch.setattr(app.service.models, "encode", full)
    refused = asyncio.run(ask(app, "/embed", padded(100)))
    assert (refused.status, refused.error["code"]) == (503, "out_of_memory")

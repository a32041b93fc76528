"""Heads of requests: any method, path and headers are answered, errors in the one shape, and never with 500.

An input is lines: a method, a path, `name: value` headers, and after an empty line a body.
"""

from __future__ import annotations

from urllib.parse import unquote

from reliability.fuzz.server_bodies import server
from tests.serving import ask

SEEDS = [
    b"POST\n/embed\nhost: localhost\norigin: http://localhost\ncontent-type: text/plain\n\n{}",
    b'POST\n/lines\ncookie: noppa_lines=a.b; x="\\\nsec-fetch-site: cross-site\n\n{"lines":["a"]}',
    b"DELETE\n/lines\ncookie: noppa_lines=\xff.\xff\nhost: [::1]:80\n",
    b"GET\n/page/%2e%2e%2fapp.py\nif-none-match: *\nrange: bytes=0-\n",
    b"GET\n/v1/models/%ed%a0%80\nauthorization: Bearer x\nx-request-id: \xff\n",
    b"OPTIONS\n/v1/embeddings\norigin: null\naccess-control-request-method: POST\n",
    b"HEAD\n/\naccept: text/html\ncontent-length: 99999999999999999999\n",
    b"PUT\n/info\norigin: http://[\ncontent-encoding: gzip\nexpect: 100-continue\n",
]


def once(data: bytes) -> None:
    head, _, body = data.partition(b"\n\n")
    method, path, *lines = [*head.split(b"\n"), b""]
    # uvicorn gives names in lower case, values as they are, and a path without its escapes.
    pairs = (line.partition(b":")[::2] for line in lines)
    headers = [(name.strip().lower(), value.strip()) for name, value in pairs if name.strip()]
    target = server()
    answer = target.loop.run_until_complete(
        ask(
            target.app,
            unquote("/" + path.decode("latin-1").lstrip("/")),
            body,
            method=method.decode("latin-1") or "GET",
            raw_headers=headers,
        )
    )
    assert answer.status != 500, answer.error
    if answer.status >= 400 and method != b"HEAD":
        assert answer.error["message"]
    assert target.app.service.budget.held == 0

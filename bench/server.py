"""The server under load on the loopback, beside the same endpoint on plain uvicorn with model2vec.

    pip install model2vec && python bench/server.py [MODEL] [--seconds 3] [--soak 100000] [-o bench/results/server.jsonl]

Both serve POST /v1/embeddings in base64, from processes of their own, to the same client in a third one, one after the
other for each number of texts and connections, so that the ratios mean something on a shared machine. model2vec's model is
the mean of the same word vectors under a word-level tokenizer. The last lines bound what batching small requests
together could save: the time that encoding takes of a whole request. docs/server.md shows what -o wrote.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import noppa
from noppa.serve.metrics import resident_bytes
from noppa.serve.variants import sentences

PLAIN = """
import base64, sys
import numpy as np, uvicorn
from model2vec import StaticModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

model = StaticModel.from_pretrained(sys.argv[1])

async def embeddings(request: Request):
    texts = (await request.json())["input"]
    rows = model.encode([texts] if isinstance(texts, str) else texts)
    data = [{"object": "embedding", "index": at, "embedding": base64.b64encode(row.astype("<f4").tobytes()).decode()}
            for at, row in enumerate(rows)]
    return JSONResponse({"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 0, "total_tokens": 0}})

app = Starlette(routes=[Route("/v1/embeddings", embeddings, methods=["POST"])])
config = uvicorn.Config(app, port=0, log_level="error", access_log=False)
server = uvicorn.Server(config)

import asyncio
async def main():
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.05)
    print(server.servers[0].sockets[0].getsockname()[1], flush=True)
    await task
asyncio.run(main())
"""


def static_model(model: noppa.Encoder, folder: Path) -> None:
    """The mean of the same word vectors, as model2vec serves it."""
    from model2vec import StaticModel
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    words = model.words.without_pieces()
    names = words.words
    vectors = np.vstack([words.vectors(np.arange(len(words))), np.zeros((1, words.dim))])
    vocabulary = {name: at for at, name in enumerate(names)} | {"[UNK]": len(names)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    StaticModel(vectors.astype(np.float32), tokenizer, {}).save_pretrained(str(folder))


def started(command: list[str]) -> tuple[subprocess.Popen[str], int]:
    """A server process and its port, which it prints first or logs as its address."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline().strip().split(":")[-1])


def cpu_seconds(pid: int) -> float:
    """Processor time of a process: what other programs on the machine cannot distort."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def load(
    port: int, body: bytes, connections: int, seconds: float, requests: int = 1 << 60
) -> tuple[int, list[float], int]:
    """Requests answered, the seconds of each, and how many were not 200."""
    head = f"POST /v1/embeddings HTTP/1.1\r\nhost: a\r\ncontent-length: {len(body)}\r\n\r\n"
    message = head.encode() + body
    times: list[float] = []
    wrong = 0
    end = time.perf_counter() + seconds

    async def connection() -> None:
        nonlocal wrong
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
        while time.perf_counter() < end and len(times) < requests:
            begun = time.perf_counter()
            writer.write(message)
            answer = (await reader.readuntil(b"\r\n\r\n")).lower()
            size = int(answer.split(b"content-length: ")[1].split(b"\r\n")[0])
            await reader.readexactly(size)
            times.append(time.perf_counter() - begun)
            wrong += not answer.startswith(b"http/1.1 200")
        writer.close()

    await asyncio.gather(*(connection() for _ in range(connections)))
    return len(times), times, wrong


def body_of(texts: list[str]) -> bytes:
    return json.dumps({"input": texts, "encoding_format": "base64"}).encode()


Row = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", nargs="?", default="similarity")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--soak", type=int, default=100_000)
    parser.add_argument("-o", "--output", type=Path, help="JSON lines, written anew")
    given = parser.parse_args()
    model = noppa.load(given.model)
    texts = sentences()
    rows: list[Row] = []

    def tell(row: Row) -> None:
        rows.append(row)
        print(json.dumps(row), flush=True)

    program = "import sys; from noppa.cli import main; sys.argv[0] = 'noppa'; main()"
    serve = [sys.executable, "-c", program, "serve", given.model]
    with tempfile.TemporaryDirectory() as folder:
        static_model(model, Path(folder))
        ours, port = started([*serve, "--port", "0", "--no-log-requests", "--queue", "1000"])
        plain, other = started([sys.executable, "-c", PLAIN, folder])
        try:
            for count in (1, 32, 2048):
                body = body_of((texts * 6)[:count])
                for connections in (1, 8, 64):
                    row: Row = {"texts": count, "connections": connections}
                    for name, one, process in (
                        ("noppa", port, ours),
                        ("model2vec", other, plain),
                    ):
                        found = timed(one, body, connections, given.seconds, process.pid)
                        row |= {f"{name} {key}": value for key, value in found.items()}
                    tell(row)
            if given.soak:
                tell(soak(ours.pid, port, texts, given.soak))
            tell(share(model, port, texts))
        finally:
            for process in (ours, plain):
                process.terminate()
                process.wait()
    if given.output:
        lines = [json.dumps({"load": round(os.getloadavg()[2], 1), **row}) for row in rows]
        given.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


def timed(port: int, body: bytes, connections: int, seconds: float, pid: int) -> Row:
    """Requests a second, the slowest hundredth and the processor time of a request, after a warm-up."""
    asyncio.run(load(port, body, connections, 0.3))
    begun, used = time.perf_counter(), cpu_seconds(pid)
    done, times, wrong = asyncio.run(load(port, body, connections, seconds))
    assert wrong == 0, f"{wrong} requests were not answered with 200"
    return {
        "rate": done / (time.perf_counter() - begun),
        "p99": 1000 * float(np.quantile(times, 0.99)),
        "cpu": 1000 * (cpu_seconds(pid) - used) / done,
    }


def soak(pid: int, port: int, texts: list[str], requests: int) -> Row:
    """Megabytes of the server before and after many requests of many sizes."""
    sizes = [body_of(texts[:count]) for count in (1, 2, 7, 32)]
    asyncio.run(load(port, sizes[-1], 16, 1e9, 2000))
    before = resident_bytes(pid)
    marks = []
    for _ in range(10):
        for body in sizes:
            _, _, wrong = asyncio.run(load(port, body, 16, 1e9, requests // 40))
            assert wrong == 0
        marks.append(resident_bytes(pid))
    return {
        "soak": requests,
        "before": before / 1e6,
        "most": max(marks) / 1e6,
        "after": marks[-1] / 1e6,
    }


async def hop_seconds(times: int = 2000) -> float:
    """What it takes to hand nothing to a thread and hear that it is done."""
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(2) as pool:
        begun = time.perf_counter()
        for _ in range(times):
            await loop.run_in_executor(pool, int)
        return (time.perf_counter() - begun) / times


def share(model: noppa.Encoder, port: int, texts: list[str]) -> Row:
    """Microseconds of a request with one text, of encoding it, which is all that batching could save, and of a thread."""
    begun = time.perf_counter()
    for text in texts * 10:
        model.encode_ids(*model.look_up([text], 1), 1, normalize=True)
    encoding = (time.perf_counter() - begun) / (10 * len(texts))
    done, _, _ = asyncio.run(load(port, body_of(texts[:1]), 64, 3))
    hop = asyncio.run(hop_seconds())
    return {"encoding": 1e6 * encoding, "request": 3e6 / done, "hop": 1e6 * hop}


if __name__ == "__main__":
    main()

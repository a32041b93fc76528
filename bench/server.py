"""Compare `noppa serve` under load with the same endpoint on plain uvicorn with model2vec.

    pip install model2vec && python bench/server.py -o bench/results/server.jsonl

Both serve POST /v1/embeddings from their own processes to the same client, in turns for each number of texts and connections. model2vec
averages the same word vectors. CPU time per request is the figure to compare on a shared machine.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from runner import ROOT, Row, arguments, record, sick, static_model

import noppa

sys.path.insert(0, str(ROOT))

from tests.serving import serving

PLAIN = """
import base64, sys
import uvicorn
from model2vec import StaticModel
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

model = StaticModel.from_pretrained(sys.argv[1])

async def embeddings(request):
    texts = (await request.json())["input"]
    rows = model.encode([texts] if isinstance(texts, str) else texts)
    data = [{"object": "embedding", "index": at, "embedding": base64.b64encode(row.astype("<f4").tobytes()).decode()}
            for at, row in enumerate(rows)]
    return JSONResponse({"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 0, "total_tokens": 0}})

app = Starlette(routes=[Route("/v1/embeddings", embeddings, methods=["POST"])])
uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False)
"""
PORT = 8977


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and its children."""
    processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    return sum(sum(process.cpu_times()[:2]) for process in processes)


async def load(port: int, body: bytes, connections: int, seconds: float) -> list[float]:
    """Send requests on some connections for a while, and return the seconds of each."""
    head = f"POST /v1/embeddings HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    times: list[float] = []
    end = time.perf_counter() + seconds

    async def connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
        while time.perf_counter() < end:
            began = time.perf_counter()
            writer.write(head.encode() + body)
            answer = (await reader.readuntil(b"\r\n\r\n")).lower()
            assert answer.startswith(b"http/1.1 200"), answer
            await reader.readexactly(int(answer.split(b"content-length: ")[1].split(b"\r\n")[0]))
            times.append(time.perf_counter() - began)
        writer.close()

    await asyncio.gather(*(connection() for _ in range(connections)))
    return times


def measure(port: int, pid: int, body: bytes, connections: int, seconds: float) -> Row:
    """Return requests per second, the 99th percentile in ms, and CPU ms per request, after a warm-up."""
    asyncio.run(load(port, body, connections, 0.3))
    began, cpu = time.perf_counter(), cpu_seconds(pid)
    times = asyncio.run(load(port, body, connections, seconds))
    return {
        "rate": len(times) / (time.perf_counter() - began),
        "p99": 1000 * float(np.quantile(times, 0.99)),
        "cpu": 1000 * (cpu_seconds(pid) - cpu) / len(times),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--model", default="similarity")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    options.output.unlink(missing_ok=True)
    texts = sick(options.data)
    with tempfile.TemporaryDirectory() as folder, serving(options.model) as ours:
        words = noppa.load(options.model).words.without_pieces()
        static_model(words).save_pretrained(folder)
        plain = subprocess.Popen([sys.executable, "-c", PLAIN, folder, str(PORT)])
        try:
            time.sleep(5)
            servers = {
                "noppa": (int(ours.url.rpartition(":")[2]), ours.process.pid),
                "model2vec": (PORT, plain.pid),
            }
            for count in (1, 32, 2048):
                request = {"input": texts[:count], "encoding_format": "base64"}
                body = json.dumps(request).encode()
                for connections in (1, 8, 64):
                    row: Row = {"texts": count, "connections": connections}
                    for name, (port, pid) in servers.items():
                        figures = measure(port, pid, body, connections, options.seconds)
                        row |= {f"{name} {key}": value for key, value in figures.items()}
                    record(options.output, row)
        finally:
            plain.terminate()
            plain.wait()


if __name__ == "__main__":
    main()

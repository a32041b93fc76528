"""Other people's clients against `noppa serve`, changed in nothing but the address: those too large for the tests.

    pip install 'noppa[serve]' && python bench/clients.py [CLIENT ...]

Each client is installed into a folder of its own (npm for the one in JavaScript), embeds a few texts, and must give the
bytes that `encode(texts, normalize=True)` gives. The tests try the others, LiteLLM in an environment of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import noppa

MODEL = "noppa-similarity"
TEXTS = ["the girl eats a cake", "a boy is eating", "café , and"]

LLAMAINDEX = """
import json, sys
from llama_index.embeddings.openai import OpenAIEmbedding
url, model, texts = json.loads(sys.argv[1])
client = OpenAIEmbedding(model_name=model, api_base=url, api_key="none")
print(json.dumps(client.get_text_embedding_batch(texts)))
"""
NODE = """
const OpenAI = require("openai");
const [url, model, texts] = JSON.parse(process.argv[2]);
const client = new OpenAI({ baseURL: url, apiKey: "none" });
client.embeddings.create({ model, input: texts }).then((answer) =>
  console.log(JSON.stringify(answer.data.map((item) => item.embedding))));
"""
CLIENTS = {
    "llama-index-embeddings-openai": LLAMAINDEX,
    "openai-node": NODE,
}


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server on a free port."""
    program = "import sys; from noppa.cli import main; sys.argv[0] = 'noppa'; main()"
    command = [sys.executable, "-c", program, "serve", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                entry = json.loads(line)
                if entry["event"] == "listening":
                    yield f"{entry['url']}/v1"
                    return
        finally:
            process.terminate()
    raise SystemExit("the server ended before it listened")


def command_of(client: str, folder: Path) -> list[str]:
    """Install a client; the command that runs its program."""
    if client == "openai-node":
        (folder / "program.js").write_text(NODE)
        subprocess.run(["npm", "install", "--silent", "openai"], cwd=folder, check=True)
        return ["node", str(folder / "program.js")]
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    python = str(folder / "env" / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", client], check=True)
    return [python, "-c", CLIENTS[client]]


def main() -> None:
    chosen = sys.argv[1:] or [*CLIENTS]
    if unknown := set(chosen) - set(CLIENTS):
        raise SystemExit(f"no such client: {', '.join(unknown)}; there are {', '.join(CLIENTS)}")
    expected = noppa.load("similarity").encode(TEXTS, normalize=True)
    environment = {**os.environ, "NO_PROXY": "127.0.0.1"}
    failed = False
    with serving() as url:
        for client in chosen:
            with tempfile.TemporaryDirectory(prefix="noppa-client-") as folder:
                command = [*command_of(client, Path(folder)), json.dumps([url, MODEL, TEXTS])]
                run = subprocess.run(command, capture_output=True, text=True, env=environment)
            same = run.returncode == 0 and (
                np.array(json.loads(run.stdout), np.float32).tobytes() == expected.tobytes()
            )
            failed |= not same
            print(f"{client}: {'the same bytes' if same else 'FAILED ' + run.stderr}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()

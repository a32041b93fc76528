"""Encode every text of SentEval's tasks with a model from elsewhere; `noppa paper run --encoded` scores the file.

    python bench/peers.py SentEval/data -o all-MiniLM-L6-v2.npy --onnx FOLDER       # noppa[onnx]
    python bench/peers.py SentEval/data -o all-mpnet-base-v2.npy --sbert FOLDER     # noppa[sbert]
    python bench/peers.py SentEval/data -o use-lite.npy --command "node bench/use_lite.mjs FOLDER"
    python bench/peers.py SentEval/data -o wordllama.npy --wordllama                # the weights are in its package

A command reads one text per line and writes float32 rows. Finished blocks stay in NAME.parts, so that an interrupted run resumes.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import noppa
from noppa.distill.teacher import OnnxModel
from noppa.paper.tasks import read, tasks_in

BLOCK = 2048


def distinct_texts(data: Path) -> list[str]:
    """Return every distinct text, shortest first: a transformer pads a batch to its longest text."""
    parts = [part for task in tasks_in(data) for part in read(data, task).values()]
    texts = {text for part in parts for row in part for text in row.texts}
    return sorted(texts, key=lambda text: (len(text), text))


def by_command(command: str) -> Callable[[Sequence[str]], Any]:
    def encode(texts: Sequence[str]) -> Any:
        lines = "".join(f"{text}\n" for text in texts).encode()
        done = subprocess.run(shlex.split(command), input=lines, capture_output=True, check=True)
        return np.frombuffer(done.stdout, "<f4").reshape(len(texts), -1)

    return encode


def encoder_of(options: argparse.Namespace) -> Callable[[Sequence[str]], Any]:
    if options.command:
        return by_command(options.command)
    if options.onnx:
        return OnnxModel(options.onnx).sentences
    if options.wordllama:
        from cost import load_wordllama

        return load_wordllama("")  # type: ignore[return-value]
    return noppa.external(str(options.sbert)).encode


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    kinds = parser.add_mutually_exclusive_group(required=True)
    kinds.add_argument("--onnx", type=Path)
    kinds.add_argument("--sbert", type=Path)
    kinds.add_argument("--command")
    kinds.add_argument("--wordllama", action="store_true")
    options = parser.parse_args()
    texts, parts = distinct_texts(options.data), options.output.with_suffix(".parts")
    parts.mkdir(exist_ok=True)
    encode = encoder_of(options)
    files = []
    for start in range(0, len(texts), BLOCK):
        file = parts / f"{start:07}.npy"
        files.append(file)
        if not file.exists():
            partial = file.with_suffix(".partial")
            with partial.open("wb") as out:
                np.save(out, np.asarray(encode(texts[start : start + BLOCK]), np.float32))
            partial.rename(file)
            print(f"{start + BLOCK:,} of {len(texts):,}", flush=True)
    np.save(options.output, np.concatenate([np.load(file) for file in files]))
    options.output.with_suffix(".txt").write_text("".join(f"{text}\n" for text in texts), "utf-8")


if __name__ == "__main__":
    main()

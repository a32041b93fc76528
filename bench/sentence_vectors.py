"""Vectors of every distinct text of SentEval's tasks by a model from elsewhere, as a row of `noppa paper run --encoded`.

    python bench/sentence_vectors.py SentEval/data -o all-MiniLM-L6-v2.npy --onnx FOLDER       # noppa[onnx]
    python bench/sentence_vectors.py SentEval/data -o all-mpnet-base-v2.npy --sbert FOLDER     # noppa[sbert]
    python bench/sentence_vectors.py SentEval/data -o use-lite.npy --command "node bench/use_lite.mjs FOLDER"

A command reads a text a line and writes float32 rows. Blocks that are done are in NAME.parts, so that an interrupted run
goes on; the texts are sorted by length, because a transformer pads the texts of a batch to the longest.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import noppa
from noppa.distill.onnx_model import OnnxModel
from noppa.paper import tasks as task_files

BLOCK = 2048


def texts_of(data: Path) -> list[str]:
    """Every distinct text, the shortest first; those of tasks with a fixed split, which are cheap to score, before the others."""
    ordered: dict[str, None] = {}
    for folds in (False, True):
        tasks = [task for task in task_files.tasks_in(data) if (task.layout == "folds") == folds]
        parts = [part for task in tasks for part in task_files.read(data, task).values()]
        new = {text for part in parts for row in part for text in row.texts}
        ordered |= dict.fromkeys(sorted(new, key=lambda text: (len(text), text)))
    return list(ordered)


def by_command(command: str) -> Callable[[Sequence[str]], Any]:
    def encode(texts: Sequence[str]) -> Any:
        given = "".join(f"{text}\n" for text in texts).encode()
        done = subprocess.run(shlex.split(command), input=given, capture_output=True, check=True)
        return np.frombuffer(done.stdout, "<f4").reshape(len(texts), -1)

    return encode


def encoder_of(options: argparse.Namespace) -> Callable[[Sequence[str]], Any]:
    if options.command:
        return by_command(options.command)
    if options.onnx:
        return OnnxModel(options.onnx).sentences
    return noppa.external(str(options.sbert)).encode


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--blocks", type=int, help="stop after so many new ones")
    kinds = parser.add_mutually_exclusive_group(required=True)
    kinds.add_argument("--onnx", type=Path)
    kinds.add_argument("--sbert", type=Path)
    kinds.add_argument("--command")
    options = parser.parse_args()
    texts, parts = texts_of(options.data), options.output.with_suffix(".parts")
    parts.mkdir(exist_ok=True)
    encode, new = encoder_of(options), 0
    files = [parts / f"{start:07}.npy" for start in range(0, len(texts), BLOCK)]
    for at, file in enumerate(files):
        if file.exists():
            continue
        if new == options.blocks:
            return
        block, start = texts[at * BLOCK : (at + 1) * BLOCK], time.process_time()
        rows = np.asarray(encode(block), np.float32)
        partial = file.with_suffix(".partial")
        with partial.open("wb") as out:
            np.save(out, rows)
        partial.rename(file)
        new += 1
        print(f"{at + 1}/{len(files)} {time.process_time() - start:.1f} CPU s", flush=True)
    np.save(options.output, np.concatenate([np.load(file) for file in files]))
    options.output.with_suffix(".txt").write_text("".join(f"{text}\n" for text in texts), "utf-8")


if __name__ == "__main__":
    main()

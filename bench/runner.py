"""Shared parts of the benchmarks: texts and vectors, interleaved timing, memory, and results as JSON lines."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import noppa

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
COUNTS = "frequency/enwiki_vocab_min200.txt"
NEUTRAL, CAPTIONS = "text/neutral.en.txt", "text/captions.en.txt"

Row = dict[str, Any]


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with --data, the folder of vectors, texts and SentEval's tasks."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    return parser


def record(file: Path, row: Mapping[str, Any], digits: int = 4) -> None:
    """Print a row and append it to a file of JSON lines; floats are rounded."""
    rounded = {k: round(v, digits) if isinstance(v, float) else v for k, v in row.items()}
    print(json.dumps(rounded), flush=True)
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(rounded) + "\n")


# Texts and vectors


def sick(data: Path) -> list[str]:
    """Return the 19,854 sentences of SICK, which the paper measures speed on."""
    texts = []
    for name in ("SICK_train", "SICK_trial", "SICK_test_annotated"):
        file = data / "senteval" / "downstream" / "SICK" / f"{name}.txt"
        for line in file.read_text(encoding="utf-8").splitlines()[1:]:
            texts += line.split("\t")[1:3]
    return texts


def sst(data: Path) -> list[str]:
    """Return every sentence and phrase of SST-2."""
    folder = data / "senteval" / "downstream" / "SST" / "binary"
    return [
        line.rpartition("\t")[0]
        for part in ("train", "dev", "test")
        for line in (folder / f"sentiment-{part}").read_text(encoding="utf-8").splitlines()
    ]


def english(data: Path) -> list[str]:
    """Return all lines of neutral English text and of captions."""
    return [
        line
        for name in (NEUTRAL, CAPTIONS)
        for line in (data / name).read_text(encoding="utf-8").splitlines()
    ]


def vectors(data: Path, name: str = "word2vec-googlenews-300d-26k.bin") -> noppa.WordVectors:
    """Load word vectors with the Wikipedia counts."""
    return noppa.WordVectors.load(data / "vectors" / name).with_counts(data / COUNTS)


def static_model(words: noppa.WordVectors) -> Any:
    """Return model2vec's average over the same vectors."""
    from model2vec import StaticModel
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    vocabulary = {word: row for row, word in enumerate(words.words)}
    vocabulary.setdefault("[UNK]", len(vocabulary))
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    matrix = np.vstack([words.vectors(np.arange(len(words))), np.zeros((1, words.dim), np.float32)])
    return StaticModel(matrix.astype(np.float32), tokenizer)


# Measuring


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of a call by the clock and of CPU."""
    clock, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - clock, time.process_time() - cpu


def in_turns(
    runs: Mapping[str, Callable[[], object]], rounds: int
) -> dict[str, tuple[float, float]]:
    """Run all calls in turns, and return the fastest of each by the clock and by CPU time.

    Interleaving makes ratios meaningful on a machine whose speed changes.
    """
    turns = [{name: timed(run) for name, run in runs.items()} for _ in range(rounds)]
    return {
        name: (min(turn[name][0] for turn in turns), min(turn[name][1] for turn in turns))
        for name in runs
    }


def memory(field: str = "VmRSS", process: int | str = "self") -> float:
    """Return a field of /proc/PID/status in megabytes: VmRSS now, VmHWM the peak; 0 if the process has ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0
    return next(
        (
            int(line.split()[1]) / 1024
            for line in status.splitlines()
            if line.startswith(f"{field}:")
        ),
        0.0,
    )

"""Raw text of SICK to vectors: noppa, a straightforward NumPy NoPPA, and model2vec's average over the same table.

    pip install model2vec && python bench/speed.py > bench/results/speed.jsonl

Everybody takes turns, and of several turns the fastest counts, by the clock and by CPU time: ratios of one run mean something
on a machine whose speed changes. noppa and model2vec start from raw text; the NumPy program is given tokens. The error is
noppa's against that program, in float64. `arithmetic` is the pooling of as many tokens with every word in the nearest
cache and rows in the next one, and `copy` what the machine copies in a second.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from corpora import arguments, sick, word2vec
from measure import tell

import noppa
from noppa import _native as kernels
from noppa.methods.method import smooth_frequency_weight
from noppa.methods.noppa import positions

A, K = 0.05, 12
FEW = 600
#: Words that fit the nearest cache, and sentences whose rows fit the next one.
CLOSE_SENTENCES, CLOSE_WORDS = 200, 6


def straightforward(words: noppa.WordVectors, sentences: list[list[int]]) -> np.ndarray:
    """Algorithm 1 as one would write it in NumPy: a matrix expression per word."""
    matrix = words.matrix.astype(np.float64)
    weights = smooth_frequency_weight(words.needed_probabilities("NoPPA"), A)
    places = positions(128, words.dim, "paper")
    rows = np.zeros((len(sentences), 2 * words.dim))
    for at, ids in enumerate(sentences):
        vectors = matrix[ids]
        positional = vectors + places[: len(ids)]
        total = np.zeros(2 * words.dim)
        for i, word in enumerate(ids):
            scores = positional @ positional[i] / np.sqrt(words.dim)
            attention = np.exp(scores - scores.max())
            attention /= attention.sum()
            context = attention @ np.log2(1 + (positional - positional[i]) ** 2)
            total += weights[word] * np.concatenate([context, vectors[i]])
        rows[at] = total / max(len(ids), 1)
    return rows


def static_model(words: noppa.WordVectors):  # type: ignore[no-untyped-def]
    """model2vec over the same table."""
    from model2vec import StaticModel
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    vocabulary = {word: row for row, word in enumerate(words.words)}
    vocabulary.setdefault("[UNK]", len(vocabulary))
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    vectors = np.vstack([words.matrix, np.zeros((1, words.dim), np.float32)])
    return StaticModel(vectors, tokenizer)


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock and of CPU."""
    clock, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - clock, time.process_time() - cpu


def in_turns(runs: dict[str, Callable[[], object]], turns: int) -> dict[str, tuple[float, float]]:
    """The fastest of several turns of each, by the clock and by CPU time."""
    all_turns = [{name: timed(run) for name, run in runs.items()} for _ in range(turns)]
    return {
        name: tuple(min(turn[name][by] for turn in all_turns) for by in (0, 1))  # type: ignore[misc]
        for name in runs
    }


def arithmetic(encoder: noppa.Encoder, texts: list[str]) -> float:
    """CPU seconds a text of pooling as many tokens, the words of each text being a few that lie in the nearest cache."""
    ids, offsets = encoder.look_up(texts, 1)
    ids = np.where(ids < 0, ids, np.arange(len(ids)) % CLOSE_WORDS).astype(np.int32)
    seconds = 0.0
    starts = range(0, len(texts) - CLOSE_SENTENCES, len(texts) // 20)
    for first in starts:
        inner = offsets[first : first + CLOSE_SENTENCES + 1]
        part = np.ascontiguousarray(ids[inner[0] : inner[-1]]), inner - inner[0]
        seconds += min(timed(lambda p=part: encoder.encode_ids(*p, 1))[1] for _ in range(20))  # type: ignore[misc]
    return seconds / (len(starts) * CLOSE_SENTENCES)


def copy_speed() -> float:
    """Bytes a second that the machine copies between two arrays that no cache holds, reading counted alone."""
    one, other = np.ones((2, 1 << 25))
    return float(one.nbytes / min(timed(lambda: np.copyto(other, one))[1] for _ in range(7)))


def two_processes(seconds: float = 4.0) -> float:
    """What two processes at once do of the work of one and one: 2 where they are not in each other's way."""
    program = (
        "import sys, time, noppa\n"
        "sys.path.insert(0, 'bench')\n"
        "from corpora import arguments, sick\n"
        "texts = sick(arguments(None).parse_args([]).data)[:4000]\n"
        "model = noppa.load()\n"
        "model.encode(texts, threads=1)\n"
        "print(flush=True)\n"
        "sys.stdin.readline()\n"
        f"end, rounds = time.perf_counter() + {seconds}, 0\n"
        "while time.perf_counter() < end:\n"
        "    model.encode(texts, threads=1)\n"
        "    rounds += 1\n"
        "print(rounds)\n"
    )

    def rounds(count: int) -> int:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        started = [subprocess.Popen([sys.executable, "-c", program], **pipes) for _ in range(count)]  # type: ignore[call-overload]
        for process in started:
            process.stdout.readline()
        for process in started:
            process.stdin.write("\n")
            process.stdin.flush()
        return sum(int(process.communicate()[0]) for process in started)

    return rounds(2) / rounds(1)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=9)
    options = parser.parse_args()
    texts, words = sick(options.data), word2vec(options.data)
    ids, offsets = words.vocabulary.look_up(texts, 1)
    sentences = [[int(row) for row in ids[a:b] if row >= 0] for a, b in pairwise(offsets)]
    exact = straightforward(words, sentences[:FEW])
    of_words = {
        "NoPPA": noppa.NoPPA(a=A, k=K),
        "NoPPA(k=0)": noppa.NoPPA(a=A, k=0),
        'NoPPA(k=0, kernel="abs")': noppa.NoPPA(a=A, k=0, kernel="abs"),
        'NoPPA(k=0, kernel="square")': noppa.NoPPA(a=A, k=0, kernel="square"),
        "Average": noppa.Average(),
    }
    encoders = {name: noppa.Encoder(words, method).fit(texts) for name, method in of_words.items()}
    encoders |= {"default": noppa.load(), "similarity": noppa.load("similarity")}
    static = static_model(words)

    def encodes(encoder: noppa.Encoder, threads: int) -> Callable[[], object]:
        return lambda: encoder.encode(texts, threads=threads)

    runs: dict[str, Callable[[], object]] = {
        "model2vec": lambda: static.encode(texts, use_multiprocessing=False)
    }
    for name, encoder in encoders.items():
        runs[name] = encodes(encoder, options.threads)
        runs[f"{name}, one thread"] = encodes(encoder, 1)
    best = in_turns(runs, options.turns)
    best["model2vec, its processes"] = timed(lambda: static.encode(texts))
    slow = timed(lambda: straightforward(words, sentences[:FEW]))
    best["NumPy, tokens given"] = (slow[0] / FEW * len(texts), slow[1] / FEW * len(texts))
    gap = np.linalg.norm(encoders["NoPPA(k=0)"].encode(texts[:FEW]) - exact, axis=1)
    tell(
        9,
        what="machine",
        set=kernels.instruction_set(),
        threads=options.threads,
        load=os.getloadavg()[0],
        texts=len(texts),
        tokens=int((ids >= 0).sum()),
        error=float((gap / np.linalg.norm(exact, axis=1)).max()),
        copy=copy_speed(),
        two_processes=two_processes(),
    )
    for name, (clock, cpu) in best.items():
        facts = {"clock": clock / len(texts) * 1e6, "cpu": cpu / len(texts) * 1e6}
        if name in encoders:
            encoder = encoders[name]
            facts["arithmetic"] = arithmetic(encoder, texts) * 1e6
            found = encoder.look_up(texts, 1)
            pooled = min(timed(lambda e=encoder, f=found: e.encode_ids(*f, 1))[1] for _ in range(5))  # type: ignore[misc]
            facts["pooling"] = pooled / len(texts) * 1e6
            rows = encoder.words.rows.values
            facts["bytes"] = float(
                (found[0] >= 0).sum() * rows.itemsize * rows.shape[1] / len(texts)
            )
        tell(4, what="encode", name=name, **facts)


if __name__ == "__main__":
    main()

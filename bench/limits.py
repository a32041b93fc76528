"""Start-up, latency, sameness of bytes, and memory for very long texts.

python bench/limits.py
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from corpora import arguments, sick, word2vec

import noppa

LONG = {
    "exact": (20_000, noppa.NoPPA(a=0.05, k=0)),
    "windows of 512": (1_000_000, noppa.NoPPA(a=0.05, k=0, max_tokens=512, policy="window")),
}


def cpu_of_import() -> float:
    """CPU seconds of `import noppa`, NumPy included, best of five."""
    program = "import time; t = time.process_time(); import noppa; print(time.process_time() - t)"
    return min(float(subprocess.check_output([sys.executable, "-c", program])) for _ in range(5))


def resident(field: str) -> float:
    """Resident size in MB: `VmRSS` now, `VmHWM` the largest since the last reset."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) / 1024


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--long", choices=LONG)
    options = parser.parse_args()
    if options.long:
        return long_text(word2vec(options.data), options.long)
    print(f"import noppa: {cpu_of_import():.3f} s of CPU")

    texts, words = sick(options.data), word2vec(options.data)
    encoder = noppa.Encoder(words, noppa.NoPPA(a=0.05, k=12)).fit(texts)
    sentence = "A group of kids is playing in a yard"
    times = []
    for _ in range(5000):
        start = time.perf_counter()
        encoder.encode(sentence)
        times.append(time.perf_counter() - start)
    middle, late = np.percentile(np.array(times) * 1e6, [50, 99])
    print(f"one sentence of nine words: median {middle:.1f} µs, 99th percentile {late:.1f} µs")

    whole = encoder.encode(texts).tobytes()
    for size in (1, 7, 1024):
        for threads in (1, 2, 4):
            some = texts if size > 1 else texts[:4000]
            blocks = encoder.encode_iter(some, block=size, threads=threads)
            same = whole.startswith(b"".join(block.tobytes() for block in blocks))
            print(
                f"batches of {size:5}, {threads} threads: {'the same bytes' if same else 'DIFFERENT'}"
            )

    for name in LONG:  # in a process of its own each, so that one does not hide the other's memory
        subprocess.run(
            [sys.executable, __file__, "--data", options.data, "--long", name], check=True
        )


def long_text(words: noppa.WordVectors, name: str) -> None:
    tokens, method = LONG[name]
    rows = np.random.default_rng(0).integers(0, len(words), tokens)
    text = [[words.words[row] for row in rows]]
    encoder = noppa.Encoder(words, method)
    encoder.encode("warm")
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM
    before, start = resident("VmRSS"), time.perf_counter()
    row = encoder.encode_tokens(text)[0]
    seconds = time.perf_counter() - start
    print(
        f"{tokens:9,} tokens, {name}: {seconds:.1f} s, {resident('VmHWM') - before:.0f} MB more, "
        f"finite: {np.isfinite(row).all()}"
    )


if __name__ == "__main__":
    main()

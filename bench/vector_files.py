"""How fast vector files are read and opened, beside gensim, polars and NumPy in one run.

    python bench/vector_files.py [--made 2000000]

Needs the shared GloVe vectors (NOPPA_SHARED, or ../shared beside the repository); prints one JSON object a line.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import measure
import numpy as np
from measure import best

from noppa import WordVectors
from noppa.words import formats as files

SHARED = Path(os.environ.get("NOPPA_SHARED", Path(__file__).parents[2] / "shared"))
tell = partial(measure.tell, 4)


def parse(path: Path, short: Path, dim: int) -> None:
    """MB/s of everyone; NumPy reads a part, since it takes minutes for the whole."""
    size, part = path.stat().st_size / 1e6, short.stat().st_size / 1e6
    speeds = {"noppa": size / best(lambda: WordVectors.load(path), 5)}
    speeds["noppa, 1 thread"] = size / best(lambda: WordVectors.load(path, threads=1), 2)
    try:
        import polars

        schema = {"word": polars.String} | {f"v{at}": polars.Float32 for at in range(dim)}

        def with_polars() -> Any:
            table = polars.read_csv(
                path, separator=" ", has_header=False, quote_char=None, schema=schema
            )
            return table["word"].to_list(), table.select(polars.exclude("word")).to_numpy()

        speeds["polars"] = size / best(with_polars, 2)
    except ImportError:
        tell(skipped="polars is not installed")
    try:
        from gensim.models import KeyedVectors

        speeds["gensim"] = size / best(
            lambda: KeyedVectors.load_word2vec_format(str(path), no_header=True), 1
        )
    except ImportError:
        tell(skipped="gensim is not installed")
    columns = range(1, dim + 1)
    speeds["numpy.loadtxt"] = part / best(
        lambda: np.loadtxt(
            short, np.float32, comments=None, delimiter=" ", usecols=columns, encoding="utf-8"
        ),
        1,
    )
    for name, speed in speeds.items():
        tell(figure="parse", reader=name, mb_per_s=speed, noppa_is_times=speeds["noppa"] / speed)


CHILD = """
import sys, time, numpy as np
def memory():
    lines = (line.split() for line in open("/proc/self/smaps_rollup"))
    table = {line[0]: int(line[1]) / 1024 for line in lines if line[0].endswith(":") and line[1].isdigit()}
    return table["Rss:"], table["Private_Clean:"] + table["Private_Dirty:"]
from noppa import WordVectors
before, alone = memory()
start = time.perf_counter()
words = WordVectors.load(sys.argv[1])
opened = time.perf_counter() - start
after = memory()[0]
names = [sys.argv[2] % at for at in range(0, 1000)] if "%" in sys.argv[2] else [sys.argv[2]]
sum(words[name].sum() for name in names)
used = memory()[0]
if sys.argv[3] == "all":
    words.matrix.sum()
rss, private = memory()
print(opened * 1e3, after - before, used - before, rss - before, private - alone, flush=True)
sys.stdin.read()
"""


def child(path: Path, word: str, mode: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path), word, mode],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def measured(process: subprocess.Popen[str]) -> list[float]:
    assert process.stdout is not None
    return [float(part) for part in process.stdout.readline().split()]


def opening(what: str, path: Path, word: str) -> None:
    """Milliseconds to open, and resident MB after opening, after 1,000 look-ups and after reading all."""
    times = []
    for _ in range(3):
        process = child(path, word, "some")
        times.append(measured(process))
        process.communicate()
    size = sum(file.stat().st_size for file in path.iterdir()) / 2**20
    tell(
        figure="open", what=what, ms=min(row[0] for row in times), table_mb=size,
        resident_after_open_mb=times[0][1], resident_after_look_ups_mb=times[0][2],
    )  # fmt: skip
    first, second = child(path, word, "all"), child(path, word, "all")
    one, two = measured(first), measured(second)
    tell(
        figure="second process", what=what, resident_after_all_mb=two[3],
        private_mb=two[4], private_share_of_table=two[4] / size,
    )  # fmt: skip
    for process in (first, second):
        process.communicate()
    del one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--made", type=int, default=2_000_000, help="rows of the made table; 0 for none"
    )
    options = parser.parse_args()
    glove = WordVectors.load(SHARED / "data/vectors/glove.6B.100d.npy")
    with tempfile.TemporaryDirectory() as folder:
        path, short, native = Path(folder, "v.txt"), Path(folder, "short.txt"), Path(folder, "v")
        tell(
            figure="write text",
            mb_per_s=0.0
            + 1 / best(lambda: files.write(glove, path), 1) * path.stat().st_size / 1e6,
        )
        lines = path.read_bytes().split(b"\n")[:20000]
        short.write_bytes(b"\n".join(lines) + b"\n")
        again = WordVectors.load(path)
        assert (again.matrix == glove.matrix).all()
        assert again.words == glove.words
        parse(path, short, glove.dim)
        glove.save(native)
        opening("GloVe", native, "cake")
    if options.made:
        with tempfile.TemporaryDirectory() as folder:
            some = np.random.default_rng(0).normal(size=(1000, 300)).astype(np.float32)
            matrix = np.lib.format.open_memmap(
                Path(folder, "made.npy"), "w+", np.dtype(np.float32), (options.made, 300)
            )
            for start in range(0, options.made, 1000):
                matrix[start : start + 1000] = some[: options.made - start]
            words = WordVectors([f"word{at}" for at in range(options.made)], matrix)
            words.save(Path(folder, "native"))
            opening(f"{options.made} x 300", Path(folder, "native"), "word%d")


if __name__ == "__main__":
    main()

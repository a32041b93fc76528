"""The log kernel of pairs alone, in the nearest cache, for each instruction set that runs here: nanoseconds a pair of 300 numbers.

    python bench/pair_kernel.py > bench/results/pair_kernel.jsonl

Compiles `pair_kernel.cpp` with the flags of the build; the least time of 2,000 short runs counts. Numbers within 0.9 of
each other take the polynomial of close words or the cubics by pieces, those within 1.9 and 3.9 the cubics where there are some, those within 8 the logarithm.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import tell

from noppa import _native as kernels

ROOT = Path(__file__).resolve().parent.parent
FLAGS = {
    "base": [],
    "v3": ["-march=x86-64-v3"],
    "v4": ["-march=x86-64-v4", "-mprefer-vector-width=512"],
}
COMMON = "-std=c++17 -O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast".split()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, ROOT / "tools" / "native_tables.py", folder], check=True)
        for name in kernels.instruction_sets():
            program = Path(folder) / name
            sources = [
                f"-I{ROOT / 'src' / 'native'}",
                f"-I{folder}",
                ROOT / "bench/pair_kernel.cpp",
            ]
            compiler = os.environ.get("CXX", "c++")
            subprocess.run([compiler, *COMMON, *FLAGS[name], *sources, "-o", program], check=True)
            lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout
            for reach, ordered, nanoseconds in map(str.split, lines.splitlines()):
                kernel = "log2" if float(reach) else "square"
                facts = {"kernel": kernel, "reach": float(reach), "ordered": ordered == "1"}
                tell(3, set=name, **facts, nanoseconds=float(nanoseconds))


if __name__ == "__main__":
    main()

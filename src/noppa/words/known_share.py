"""A warning in time: few words of a batch are known whole, or few of its words are common ones, so that its vectors mean little."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from noppa.errors import UnknownWordsWarning, warn
from noppa.text.characters import is_segmented
from noppa.text.telling import LATIN, is_telling, script_of
from noppa.text.tokens import Split
from noppa.words.word_table import WordTable

#: Above this share of known words nothing is looked at any more.
ENOUGH = 0.75
#: Below this share of known words a batch is reported.
FEW, FEW_IN_CODE = 0.5, 0.45
#: Standard deviations that a batch in Latin script must lie below it, and the words that it must have: a few unknown ones may
#: all be names.
DEVIATIONS, LEAST_WORDS = 1.0, 6

#: Many vocabularies have rare words of other languages, too. So prose is also reported where few of its words are among
#: this many most frequent ones.
COMMON = 20_000
FEW_COMMON = 0.55
COMMON_DEVIATIONS, LEAST_COMMON = 0.5, 3
#: Every language has words that every text of it has: enough of the most frequent ones, and it is the vocabulary's.
EVERYDAY, ENOUGH_EVERYDAY = 100, 0.16
#: Beyond this share of tokens with digits or signs a text is no prose but code, a log or a table.
CODES = 0.08
CODE_SIGNS = "_/=\\"

SAMPLED_TEXTS = 64
SAMPLED_CHARACTERS = 2000

#: Names of tokenizers for scripts without spaces.
TOKENIZERS = {"Chinese": "zh", "Japanese": "ja", "Thai": "th", "Lao": "lo", "Khmer": "km", "Myanmar": "my"}  # fmt: skip

ADVICE = (
    "their vectors mean little with these word vectors: load some of that language "
    "(noppa vectors get lists those that are published)"
)
SPLIT = (
    "the word vectors have words of it, but not of texts that are split at spaces: give --tokenizer {0} (tokenizer={0!r} in "
    "Python)"
)


class _Token(NamedTuple):
    text: str
    row: int


class KnownShare:
    """How many telling words a call has looked up, and how many of them were known whole: `counts`.

    A word is telling where it has at least four letters, or one beyond ASCII at its beginning: see `noppa.text.telling`.
    """

    __slots__ = ("_split", "_warned", "_words", "counts")

    def __init__(self, words: WordTable, split: Split, counts: list[int] | None = None) -> None:
        self._words, self._split, self._warned = words.base or words, split, False
        self.counts = [0, 0] if counts is None else counts

    def warn_of_few(self, texts: list[str]) -> None:
        """Warn where few words of the texts that were counted are known; once, however many texts are counted after."""
        message = None if self._warned else self.complaint(texts)
        if message is not None:
            self._warned = True
            warn(message, UnknownWordsWarning)

    def complaint(self, texts: list[str]) -> str | None:
        """What to tell of the texts that were counted, in ASCII; None where enough words are known."""
        words, known = self.counts
        if has_enough(self.counts) or (words < LEAST_COMMON and all(map(str.isascii, texts))):
            return None
        sample = self._sample(texts)
        is_foreign = self._lacks_everyday_words(sample)
        if not is_foreign and known >= FEW * words:  # nearly all that is left of English
            return None
        unknown = [
            token.text for token in sample if token.row < 0 and is_telling(token.text, False)
        ]
        script, prose = script_of(unknown), _is_prose(sample)
        if not self._is_unknown(script, prose) and not (
            is_foreign and prose and self._is_uncommon(sample)
        ):
            return None
        reason, advice = f"most of the others are in {script} script", ADVICE
        if script == LATIN:
            reason = "this looks like another language, or like many names and codes"
        elif self._needs_splitting(unknown):
            advice = SPLIT.format(TOKENIZERS.get(script, "zh"))
        return f"{known} of {words} longer words ({known / words:.0%}) are known, and {reason}: {advice}"

    def _is_unknown(self, script: str, prose: bool) -> bool:
        words, known = self.counts
        if script != LATIN:
            return known < FEW * words
        few = FEW if prose else FEW_IN_CODE
        spread = DEVIATIONS * math.sqrt(words * few * (1 - few))
        return words >= LEAST_WORDS and known < few * words - spread

    def _lacks_everyday_words(self, sample: list[_Token]) -> bool:
        letters = [token.row for token in sample if token.text.isalpha()]
        return self._among(EVERYDAY, letters) < ENOUGH_EVERYDAY * len(letters)

    def _is_uncommon(self, sample: list[_Token]) -> bool:
        longer = [token.row for token in sample if is_telling(token.text, token.row >= 0)]
        spread = COMMON_DEVIATIONS * math.sqrt(len(longer) * FEW_COMMON * (1 - FEW_COMMON))
        few = self._among(COMMON, longer) < FEW_COMMON * len(longer) - spread
        return few and len(longer) >= LEAST_COMMON

    def _among(self, count: int, rows: list[int]) -> int:
        """How many rows are those of the `count` most probable words; all where no word has a probability."""
        probabilities = self._words.word_probabilities
        if probabilities is None:
            return len(rows)
        known = np.array([row for row in rows if row >= 0], np.int64)
        return int(np.count_nonzero(probabilities.values[known] >= probabilities.least_of(count)))

    def _needs_splitting(self, unknown: list[str]) -> bool:
        """Whether most unknown words are runs of a script without spaces that begin with a word of the vocabulary."""
        if self._words.tokenizer.segment != "none":
            return False
        row = self._words.lexicon.row
        runs = [word for word in unknown if is_segmented(word[0])]
        begun = sum(any(row(word[:size]) >= 0 for size in range(2, 7)) for word in runs)
        return 2 * begun > len(unknown)

    def _sample(self, texts: list[str]) -> list[_Token]:
        """The tokens of some texts from all over them, with their rows."""
        chosen = texts[:: max(1, len(texts) // SAMPLED_TEXTS)][:SAMPLED_TEXTS]
        tokens = [token for text in chosen for token in self._split(text[:SAMPLED_CHARACTERS])]
        rows, _ = self._words.lexicon.known.look_up_tokens([tokens])
        return list(map(_Token, tokens, rows.tolist()))


def _is_prose(sample: list[_Token]) -> bool:
    """Whether few tokens have digits or signs, as those of code and of logs do."""
    codes = sum(any(c in CODE_SIGNS or c.isdigit() for c in token.text) for token in sample)
    return codes <= CODES * len(sample)


def has_enough(counts: list[int]) -> bool:
    """Whether so many of the words are known whole that there is nothing to tell."""
    return counts[1] >= ENOUGH * counts[0]

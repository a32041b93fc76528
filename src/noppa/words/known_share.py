"""A warning in time: few words of a batch are known whole, so that its vectors mean little."""

from __future__ import annotations

import math
from itertools import islice

from noppa.errors import UnknownWordsWarning, warn
from noppa.text.telling import LATIN, is_telling, script_of
from noppa.text.tokens import Split
from noppa.words.lexicon import Lexicon

#: Below this share of known words a batch is reported: bench/unknown_words.py measures it on English and on other languages.
FEW = 0.5
#: Standard deviations that a small batch must lie below.
DEVIATIONS = 1.0
#: In Latin script at least so many words are judged: a few unknown ones may all be names.
LEAST_LATIN_WORDS = 6

SAMPLED_WORDS = 100
SAMPLED_TEXTS = 1000
SAMPLED_CHARACTERS = 10_000

ADVICE = (
    "their vectors mean little with these word vectors: load some of that language "
    "(noppa vectors get lists those that are published for 157 languages)"
)


class KnownShare:
    """How many telling words a call has looked up, and how many of them were known whole: `counts`.

    A word is telling where it has at least four letters, or one beyond ASCII at its beginning: see `noppa.text.telling`.
    """

    __slots__ = ("_lexicon", "_split", "_warned", "counts")

    def __init__(self, lexicon: Lexicon, split: Split) -> None:
        self._lexicon, self._split, self._warned = lexicon, split, False
        self.counts = [0, 0]

    def warn_of_few(self, texts: list[str]) -> None:
        """Warn where few words of the texts that were counted are known; once, however many texts are counted after."""
        message = None if self._warned else self.complaint(texts)
        if message is not None:
            self._warned = True
            warn(message, UnknownWordsWarning)

    def complaint(self, texts: list[str]) -> str | None:
        """What to tell of the texts that were counted, in ASCII; None where enough words are known."""
        words, known = self.counts
        if known >= FEW * words - DEVIATIONS * math.sqrt(words * FEW * (1 - FEW)):
            return None
        script = script_of(self._unknown_words(texts))
        if script == LATIN and words < LEAST_LATIN_WORDS:
            return None
        reason = (
            "this looks like another language, or like many names and codes"
            if script == LATIN
            else f"most of the others are in {script} script"
        )
        return f"{known} of {words} longer words ({known / words:.0%}) are known, and {reason}: {ADVICE}"

    def _unknown_words(self, texts: list[str]) -> list[str]:
        """The first unknown words of the first texts; no more than tell the script."""
        beginnings = (text[:SAMPLED_CHARACTERS] for text in texts[:SAMPLED_TEXTS])
        tokens = (token for text in beginnings for token in self._split(text))
        telling = (token for token in tokens if is_telling(token, False))
        unknown = (token for token in telling if self._lexicon.row(token) < 0)
        return list(islice(unknown, SAMPLED_WORDS))

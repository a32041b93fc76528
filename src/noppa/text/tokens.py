"""Text to tokens: deterministic rules that fit GloVe-style vocabularies, and their variants for other languages.

The English rules, in the order in which they are tried at each place:

1. white space and control characters separate;
2. web addresses, e-mail addresses and domain names stay whole, without the punctuation that follows them;
3. a Chinese, Japanese or Korean ideograph is a token of its own;
4. abbreviations keep their dots (`U.S.`, `e.g.`, `Mr.`);
5. a word is a run of letters and digits, held together by `-`, `&`, `'` and, between digits, by `. , : /`;
   contractions split as in the Penn Treebank (`do n't`, `it 's`);
6. dots and dashes in a row become `...` and `--`, doubled quotes become `"`;
7. every other character is a token of its own.

Others differ in this (`RULE_SET`, `RUN`): `plain` and `elision` know no English abbreviations and contractions, keep joiners
between letters, and take a word with joints whole or in parts as the vocabulary has it (`joints`); `whitespace` knows rule 1
alone, and leaves every character as it is. A run of a script without spaces may be segmented (`segmentation`).

This scanner is the twin of `src/native/text/scanner.cpp`: the same functions, tested to give the same tokens for any text.
Both take their word lists and limits from `rules`.
Every look-ahead is bounded, so the time is linear in the length of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from noppa.text.characters import (
    DIGIT,
    IDEOGRAPH,
    LETTER,
    SPACE,
    character_class,
    clean,
    is_segmented,
    lower,
    normalize,
    replaced_surrogate,
)
from noppa.text.joints import parts_at_joints
from noppa.text.rules import (
    ABBREVIATIONS,
    CLITICS,
    CLITICS_LIMIT,
    DOMAIN_LIMIT,
    DOMAINS,
    FOLD,
    FORM,
    JOINERS,
    JOINTS,
    LETTERS_LIMIT,
    LOCAL_LIMIT,
    NEGATION,
    RULE_SET,
    RUN,
    SCHEMES,
    TRAILING,
)
from noppa.text.segmentation import Find, segment

#: A function from a text to its tokens.
Split = Callable[[str], Sequence[str]]


class Splitting(NamedTuple):
    """How a text is split, as the numbers of `RULE_SET`, `RUN`, `FOLD` and `FORM`: what the native scanner takes."""

    rules: int = RULE_SET["english"]
    run: int = RUN["none"]
    fold: int = FOLD["none"]
    form: int = FORM["nfc"]


ENGLISH = Splitting()


class Known(NamedTuple):
    """What a scanner asks of a vocabulary: the row of a word in the cases that it tries, or as it is; how many words."""

    find_in_cases: Find
    find: Find
    words: int


def tokenize(text: str, how: Splitting = ENGLISH, known: Known | None = None) -> list[str]:
    """The tokens of `text`, by the rules above.

    >>> tokenize("It's 3.50 dollars, isn't it?")
    ['It', "'s", '3.50', 'dollars', ',', 'is', "n't", 'it', '?']
    """
    if how.rules == RULE_SET["whitespace"]:
        text = "".join(map(replaced_surrogate, normalize(text, how.form)))
    else:
        text = clean(text, how.form, how.rules != RULE_SET["english"])
    return _Scanner(text, how, known).scan()


class _Scanner:
    """One pass over cleaned text; positions past the end read as white space."""

    def __init__(self, text: str, how: Splitting, known: Known | None) -> None:
        self.text = text
        self.length = len(text)
        self.how, self.known = how, known
        self.english = how.rules == RULE_SET["english"]

    def char(self, at: int) -> str:
        return self.text[at] if 0 <= at < self.length else " "

    def kind(self, at: int) -> int:
        """The class of a character; letters of a run that is segmented count as ideographs, joiners as letters."""
        if not 0 <= at < self.length:
            return SPACE
        character = self.text[at]
        if self.how.run and is_segmented(character):
            return IDEOGRAPH
        return LETTER if character in JOINERS else character_class(character)

    def knows(self, start: int, end: int) -> bool:
        return self.known is not None and self.known.find_in_cases(self.text[start:end]) >= 0

    def is_word(self, at: int) -> bool:
        return self.kind(at) in (LETTER, DIGIT)

    def is_letter(self, at: int) -> bool:
        return self.kind(at) == LETTER

    def is_digit(self, at: int) -> bool:
        return self.kind(at) == DIGIT

    def matches(self, at: int, expected: str) -> bool:
        return lower(self.text[at : at + len(expected)]) == expected

    def scan(self) -> list[str]:
        tokens: list[str] = []
        at = 0
        while at < self.length:
            kind = self.kind(at)
            if kind == SPACE:
                at += 1
            elif self.how.rules == RULE_SET["whitespace"]:
                at = self.chunk(at, tokens)
            elif kind == IDEOGRAPH:
                at = self.run(at, tokens)
            elif kind in (LETTER, DIGIT):
                at = self.word(at, tokens)
            else:
                at = self.symbol(at, tokens)
        return tokens

    def chunk(self, at: int, tokens: list[str]) -> int:
        """Everything up to the next white space."""
        end = at
        while self.kind(end) != SPACE:
            end += 1
        tokens.append(self.text[at:end])
        return end

    def run(self, at: int, tokens: list[str]) -> int:
        """An ideograph, or a whole run of a script without spaces."""
        end = at + 1
        while self.how.run and self.kind(end) == IDEOGRAPH:
            end += 1
        text = self.text[at:end]
        if self.how.run == RUN["vocabulary"]:
            find, words = (self.known.find, self.known.words) if self.known else (lambda _: -1, 0)
            tokens += segment(text, find, words)
        else:
            tokens.append(text)
        return end

    def word(self, at: int, tokens: list[str]) -> int:
        """A token that starts with a letter or digit."""
        end = self.url_end(at) or self.email_end(at) or self.letters_end(at)
        if end:
            tokens.append(self.text[at:end])
            return end
        end = self.word_end(at)
        if self.char(end) == ".":
            domain = self.domain_end(at)
            if domain:
                end = self.path_end(domain)
                tokens.append(self.text[at:end])
                return end
            if self.english and lower(self.text[at:end]) in ABBREVIATIONS:
                tokens.append(self.text[at : end + 1])
                return end + 1
        if self.english:
            self.contractions(at, end, tokens)
            return end
        return self.joined(at, end, tokens)

    def joined(self, at: int, end: int, tokens: list[str]) -> int:
        """A word of languages other than English, with the apostrophe behind it where the vocabulary has it so (`po'`)."""
        elides = self.how.rules == RULE_SET["elision"]
        if elides and self.char(end) == "'" and self.knows(at, end + 1):
            tokens.append(self.text[at : end + 1])
            return end + 1
        word, known = self.text[at:end], self.known
        if any(character in JOINTS for character in word):
            knows = None if known is None else lambda part: known.find_in_cases(part) >= 0
            tokens += parts_at_joints(word, knows, elides)
        else:
            tokens.append(word)
        return end

    def symbol(self, at: int, tokens: list[str]) -> int:
        """A token that starts with any other character."""
        char = self.text[at]
        if char == "'" and self.english:
            end = self.clitic_end(at)
            if end:
                tokens.append(self.text[at:end])
                return end
        if char == "." and self.is_digit(at + 1):
            end = self.word_end(at + 1)
            tokens.append(self.text[at:end])
            return end
        run = at + 1
        if char in ".-":
            while self.char(run) == char:
                run += 1
            tokens.append(char if run == at + 1 else "..." if char == "." else "--")
            return run
        if char in "'`" and self.char(run) == char:
            tokens.append('"')
            return run + 1
        tokens.append(char)
        return run

    def word_end(self, at: int) -> int:
        end = at
        while True:
            if self.is_word(end) or (end > at and self.joins(end)):
                end += 1
            else:
                return end

    def joins(self, at: int) -> bool:
        """Whether the character at `at` holds the word characters on its two sides together."""
        char = self.char(at)
        if char == "-":
            return self.is_word(at - 1) and self.is_word(at + 1)
        if char == "'":
            return self.is_word(at - 1) and self.is_letter(at + 1)
        if char == "&":
            return self.is_letter(at - 1) and self.is_letter(at + 1)
        if char in ".,:/":
            return self.is_digit(at - 1) and self.is_digit(at + 1)
        if char in JOINTS and not self.english:
            return self.is_letter(at - 1) and self.is_letter(at + 1)
        return False

    def url_end(self, at: int) -> int:
        for scheme in SCHEMES:
            start = at + len(scheme)
            if self.matches(at, scheme) and self.is_word(start):
                return self.trimmed(start + 1, self.chunk_end(start))
        return 0

    def email_end(self, at: int) -> int:
        middle = at
        while middle - at < LOCAL_LIMIT and (self.is_word(middle) or self.char(middle) in ".+-"):
            middle += 1
        if self.char(middle) != "@":
            return 0
        end, dots = self.labels(middle + 1)
        return end if dots else 0

    def domain_end(self, at: int) -> int:
        end, dots = self.labels(at)
        if not dots:
            return 0
        start = self.text.rindex(".", at, end) + 1
        return end if lower(self.text[start:end]) in DOMAINS else 0

    def labels(self, at: int) -> tuple[int, int]:
        """The end of `label.label…` from `at`, and how many dots it holds."""
        end, dots = at, 0
        while end - at < DOMAIN_LIMIT:
            if self.is_word(end):
                end += 1
            elif self.char(end) in ".-" and self.is_word(end - 1) and self.is_word(end + 1):
                if end == at:
                    break
                dots += self.char(end) == "."
                end += 1
            else:
                break
        return (end, dots) if not self.is_word(end) else (end, 0)

    def path_end(self, at: int) -> int:
        return self.trimmed(at, self.chunk_end(at)) if self.char(at) == "/" else at

    def chunk_end(self, at: int) -> int:
        """The end of what an address may hold: white space, or a script without spaces that is segmented."""
        stops = (SPACE, IDEOGRAPH) if self.how.run else (SPACE,)
        while at < self.length and self.kind(at) not in stops:
            at += 1
        return at

    def trimmed(self, start: int, end: int) -> int:
        while end > start and self.text[end - 1] in TRAILING:
            end -= 1
        return end

    def letters_end(self, at: int) -> int:
        """The end of single letters with dots between them (`U.S.`, `e.g.`), or 0."""
        end, letters = at, 0
        while letters < LETTERS_LIMIT and self.is_letter(end) and self.char(end + 1) == ".":
            end += 2
            letters += 1
        if letters and self.is_letter(end) and not self.is_word(end + 1):
            end += 1
            letters += 1
        return end if letters > 1 and not self.is_word(end) else 0

    def clitic_end(self, at: int) -> int:
        """The end of an apostrophe and its clitic standing alone (`'s`), or 0."""
        for clitic in CLITICS:
            end = at + 1 + len(clitic)
            if self.matches(at + 1, clitic) and not self.is_word(end):
                return end
        return 0

    def contractions(self, start: int, end: int, tokens: list[str]) -> None:
        """Split `n't` and clitics off the end of a word, last one first."""
        cuts = [end]
        while len(cuts) <= CLITICS_LIMIT:
            cut = self.clitic_start(start, cuts[-1])
            if cut < 0:
                break
            cuts.append(cut)
        if cuts[-1] != start:
            cuts.append(start)
        for left, right in zip(cuts[:0:-1], cuts[-2::-1], strict=True):
            tokens.append(self.text[left:right])

    def clitic_start(self, start: int, end: int) -> int:
        """Where the last clitic of the word in [start, end) begins, or -1."""
        negation = end - len(NEGATION)
        if negation >= start and self.matches(negation, NEGATION):
            return negation
        for clitic in CLITICS:
            at = end - len(clitic) - 1
            if at > start and self.char(at) == "'" and self.matches(at + 1, clitic):
                return at
        return -1

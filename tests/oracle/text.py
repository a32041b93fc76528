"""Text to tokens to rows in plain Python: the same rules as src/native/text, one character at a time."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import cache
from itertools import groupby
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa.constants import CASE
from noppa.text.rules import (
    ABBREVIATIONS,
    CLITICS,
    CLITICS_LIMIT,
    DOMAIN_LIMIT,
    DOMAINS,
    FOLD,
    FORM,
    KIND,
    LETTERS_LIMIT,
    LOCAL_LIMIT,
    LONGEST_IN_PIECES,
    PIECE_MARK,
    REPLACED,
    RULE_SET,
    RUN,
)
from tools import native_tables
from tools.scanner_rules import (
    JOINERS,
    JOINTS,
    JOINTS_LIMIT,
    LOG_STEPS,
    LONGEST_SEGMENT,
    MIN_COUNTED_LETTERS,
    NEGATION,
    NO_BREAK_AFTER,
    NO_BREAK_BEFORE,
    RANK_OFFSET,
    REPLACEMENT,
    SCHEMES,
    SEGMENTED,
    SHARP_S,
    SURROGATES,
    SYLLABLES,
    TRAILING,
    TURKISH_LOWER,
    UNELIDED,
    UNKNOWN_COST,
    WORD_COST,
)

SPACE, DROP, LETTER, DIGIT, IDEOGRAPH, SYMBOL = KIND.values()

#: Returns the row of a word or piece, -1 if there is none.
Find = Callable[[str], int]


def character_kind(character: str) -> int:
    """Return the KIND of a character."""
    return native_tables.values("kind")[ord(character)]


def replaced_surrogate(character: str) -> str:
    """Return the character, or U+FFFD for half of a surrogate pair."""
    return REPLACEMENT if SURROGATES[0] <= ord(character) <= SURROGATES[1] else character


def replaced(character: str) -> str:
    """Return a straight quote or plain hyphen for a typographic one, U+FFFD for a lone surrogate."""
    return REPLACED.get(character, replaced_surrogate(character))


def lower_character(character: str) -> str:
    """Return the lower-case form of a character if that is one character, too."""
    return chr(ord(character) + native_tables.values("lower")[ord(character)])


def lower(token: str, fold: int = FOLD["none"]) -> str:
    """Lower case character by character, so that no letter depends on its neighbours (final sigma)."""
    if fold == FOLD["turkish"]:
        return "".join(TURKISH_LOWER.get(c) or lower_character(c) for c in token)
    return token.lower() if token.isascii() else "".join(map(lower_character, token))


def plain(character: str) -> str:
    """Return the character without case and accents: nothing for a mark, the letters of a Hangul syllable."""
    code = ord(character)
    if SYLLABLES[0] <= code <= SYLLABLES[1]:  # Hangul
        return unicodedata.normalize("NFD", character)
    distance = native_tables.values("plain")[code]
    return "" if distance == native_tables.NOTHING else chr(code + distance)


def normalize(text: str, form: int = FORM["nfc"]) -> str:
    """Normalize all but characters newer than the oldest supported Unicode, so that every Python agrees."""
    if form == FORM["none"] or text.isascii():
        return text
    name: Literal["NFC", "NFKC"] = "NFKC" if form == FORM["nfkc"] else "NFC"
    stable = native_tables.values("stable")
    runs = ((known, "".join(run)) for known, run in groupby(text, lambda c: stable[ord(c)]))
    return "".join(unicodedata.normalize(name, run) if known else run for known, run in runs)


def clean(text: str, form: int = FORM["nfc"], joiners: bool = False) -> str:
    """Normalize, replace quotes and hyphens, and drop invisible characters, except `joiners` between two letters."""
    if text.isascii():
        return text
    text = "".join(map(replaced, normalize(text, form)))
    kinds = [character_kind(c) for c in text]
    return "".join(
        c
        for at, c in enumerate(text)
        if kinds[at] != DROP
        or (
            joiners
            and c in JOINERS
            and [*kinds[max(at - 1, 0) : at], *kinds[at + 1 : at + 2]] == [LETTER, LETTER]
        )
    )


@cache
def is_segmented(character: str) -> bool:
    """Return whether a character is a letter or an ideograph of a script without spaces."""
    return character_kind(character) in (LETTER, IDEOGRAPH) and _is_within(character, SEGMENTED)


@cache
def no_break_before(character: str) -> bool:
    """Return whether no word of a script without spaces begins with the character."""
    return _is_within(character, NO_BREAK_BEFORE)


@cache
def no_break_after(character: str) -> bool:
    """Return whether no word of a script without spaces ends with the character."""
    return _is_within(character, NO_BREAK_AFTER)


def _is_within(character: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(low <= ord(character) <= high for low, high in ranges)


# The scanner


class Splitting(NamedTuple):
    """The numbers of `RULE_SET`, `RUN`, `FOLD` and `FORM` that say how to split a text."""

    rules: int = RULE_SET["english"]
    run: int = RUN["none"]
    fold: int = FOLD["none"]
    form: int = FORM["nfc"]


ENGLISH = Splitting()


class Known(NamedTuple):
    """What a scanner needs of a vocabulary: lookup in any case, lookup as spelled, and the number of words."""

    find_in_cases: Find
    find: Find
    words: int


def tokenize(
    text: str, how: tuple[int, int, int, int] = ENGLISH, known: Known | None = None
) -> list[str]:
    """Return the tokens of a text.

    >>> tokenize("It's 3.50 dollars, isn't it?")
    ['It', "'s", '3.50', 'dollars', ',', 'is', "n't", 'it', '?']
    """
    how = Splitting(*how)
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
        return LETTER if character in JOINERS else character_kind(character)

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


# Words with joints


def parts_at_joints(word: str, knows: Callable[[str], bool] | None, elides: bool) -> list[str]:
    """Return the tokens of a word that holds joints.

    >>> parts_at_joints("l'arc-en-ciel", {"l'", "arc-en-ciel"}.__contains__, True)
    ["l'", 'arc-en-ciel']
    """
    if knows is not None:
        if knows(word):
            return [word]
        if parts := _known_parts(word, knows):
            return parts
    return _elided(word) if elides else [word]


def _known_parts(word: str, knows: Callable[[str], bool]) -> list[str]:
    """Apply rule 2 of joints.cpp; return nothing if no part is known."""
    ends = [*(at for at, character in enumerate(word) if character in JOINTS), len(word)]
    parts: list[str] = []
    unknown = 0
    first = start = free = (
        0  # the next of `ends`, where the part begins, and from where it may take the joint before it
    )
    while first < len(ends):
        for at in range(min(first + JOINTS_LIMIT, len(ends)) - 1, first - 1, -1):
            begin, end = _known_form(word, start, ends[at], free, knows)
            if end:
                break
        else:
            at, begin, end = first, start, ends[first]
            unknown += 1
        parts.append(word[begin:end])
        first, start, free = at + 1, ends[at] + 1, end
    return parts if len(parts) > unknown else []


def _known_form(
    word: str, start: int, end: int, free: int, knows: Callable[[str], bool]
) -> tuple[int, int]:
    """Return the part from `start` to the joint at `end` as the vocabulary spells it, (0, 0) if it does not."""
    if word[end : end + 1] == "'" and knows(word[start : end + 1]):
        return start, end + 1
    if free < start and word[free] in "-'" and knows(word[free:end]):
        return free, end
    return (start, end) if knows(word[start:end]) else (0, 0)


def _elided(word: str) -> list[str]:
    parts = []
    while "'" in word and lower(word) not in UNELIDED:
        head, _, word = word.partition("'")
        parts.append(f"{head}'")
    return [*parts, word]


# Scripts without spaces


def word_cost(row: int) -> int:
    """Return the cost of a word by its row, in sixteenths of a bit."""
    rank = row + RANK_OFFSET
    bits = rank.bit_length() - 1
    return 16 * bits + bisect_right(LOG_STEPS, rank << 31 >> bits) + WORD_COST


def segment(run: str, find: Find, words: int) -> list[str]:
    """Return the words of a run; `words` is the size of the vocabulary.

    >>> rows = {"我": 0, "喜欢": 1, "音": 2, "音乐": 3}
    >>> segment("我喜欢音乐", lambda word: rows.get(word, -1), 4)
    ['我', '喜欢', '音乐']
    """
    length, unknown = len(run), word_cost(words) + UNKNOWN_COST
    costs: list[int | None] = [0] + [None] * length
    starts, known = [0] * (length + 1), [True] * (length + 1)
    for start in range(length):
        cost = costs[start]
        if cost is None:
            continue
        first = next(end for end in range(start + 1, length + 1) if may_break(run, end))
        for end in range(start + 1, max(first, min(length, start + LONGEST_SEGMENT)) + 1):
            if not may_break(run, end):
                continue
            row = find(run[start:end]) if end - start <= LONGEST_SEGMENT else -1
            if row < 0 and end != first:
                continue
            total = cost + (word_cost(row) if row >= 0 else unknown * (end - start))
            before = costs[end]
            if before is None or total < before:
                costs[end], starts[end], known[end] = total, start, row >= 0
    return _joined(run, starts, known)


def may_break(run: str, at: int) -> bool:
    """Return whether a word of the run may end, and the next begin, at a place after its first character."""
    return at == len(run) or not (no_break_before(run[at]) or no_break_after(run[at - 1]))


def _joined(run: str, starts: list[int], known: list[bool]) -> list[str]:
    """Return the words of the path, with unknown letters in a row as one word."""
    words: list[str] = []
    end, joins = len(run), False
    while end:
        start = starts[end]
        is_letters = not known[end] and character_kind(run[start]) != IDEOGRAPH
        if joins and is_letters:
            words[-1] = run[start:end] + words[-1]
        else:
            words.append(run[start:end])
        end, joins = start, is_letters
    return words[::-1]


# Pieces of unknown words


def parts_of(word: str) -> list[str]:
    """Split a word into runs of letters and digits, and ideographs.

    >>> parts_of("mother-in-law's")
    ['mother', 'in', 'law', 's']
    """
    parts = [""]
    for character in word:
        kind = character_kind(character)
        if kind in (LETTER, DIGIT):
            parts[-1] += character
        else:
            parts += [character, ""] if kind == IDEOGRAPH else [""]
    return [part for part in parts if part] or [word]


def rows_of_pieces(
    word: str, look_up: Find, find: Find, find_piece: Find, exact: bool
) -> list[int]:
    """Return the rows of an unknown word's pieces, none if it stays unknown."""
    if len(word) > LONGEST_IN_PIECES:
        return []
    rows = []
    for part in parts_of(word):
        row = look_up(part) if part != word else -1
        rows += [row] if row >= 0 else _piece_rows(part, find, find_piece, exact)
    return rows


def _piece_rows(part: str, find: Find, find_piece: Find, exact: bool) -> list[int]:
    """Return rows that cover the whole part, or none."""
    unmatched = part if exact else "".join(map(plain, part))
    rows: list[int] = []
    while unmatched:
        for end in range(len(unmatched), 0, -1):
            if rows:
                row = find_piece(PIECE_MARK + unmatched[:end])
            else:
                row = find(unmatched[:end])
                if row < 0 and not unmatched.startswith(PIECE_MARK, 0, end):
                    row = find_piece(unmatched[:end])
            if row >= 0:
                break
        else:
            return []
        rows.append(row)
        unmatched = unmatched[end:]
    return rows


# Words to rows


def build_slots(
    text: NDArray[np.uint8], bounds: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return no slots, since the oracle uses a dict, and the rows whose word occurred before."""
    seen: set[bytes] = set()
    repeated = []
    for row, word in enumerate(_split(text, bounds)):
        if word in seen:
            repeated.append(row)
        seen.add(word)
    return np.empty(0, np.uint64), np.array(repeated, np.int64)


def _split(text: NDArray[np.uint8], bounds: NDArray[np.int64]) -> Iterable[bytes]:
    whole = text.tobytes()
    return (whole[a:b] for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))


def _utf8(word: str) -> bytes:
    return "".join(map(replaced_surrogate, word)).encode()


def counts_as_word(token: str, known: bool) -> bool:
    """Return whether a token counts as a word of the known share: see `KnownWords` in src/native/text/vocabulary.hpp."""
    if not token or (len(token) < MIN_COUNTED_LETTERS and token[0].isascii()):
        return False
    if not _is_letter(token[0]):
        return False
    return known or all(_is_letter(c) and lower_character(c) == c for c in token[1:])


def _is_letter(character: str) -> bool:
    return character_kind(character) in (LETTER, IDEOGRAPH) and character != "_"


class Vocabulary:
    """Looks words up as they are, then in lower case, then in pieces, then as `unknown`."""

    def __init__(
        self,
        text: NDArray[np.uint8],
        bounds: NDArray[np.int64],
        slots: NDArray[np.uint64],
        letter_case: int,
        unknown: int,
        pieces: int = 0,
        piece_slots: NDArray[np.uint64] | None = None,
        how: tuple[int, int, int, int] = ENGLISH,
        composed: bool = False,
    ) -> None:
        self.composed = composed
        self.rows: dict[bytes, int] = {}
        self.pieces: dict[bytes, int] = {}
        first_piece = len(bounds) - 1 - pieces
        for row, word in enumerate(_split(text, bounds)):
            (self.rows if row < first_piece else self.pieces).setdefault(word, row)
        self.letter_case = letter_case
        self.unknown = unknown
        self.how = Splitting(*how)
        self.known = Known(self.find_in_cases, self.find, first_piece)

    def find(self, word: str) -> int:
        return self.rows.get(_utf8(word), -1)

    def find_piece(self, piece: str) -> int:
        return self.pieces.get(_utf8(piece), -1)

    def find_in_cases(self, token: str) -> int:
        lowered = lower(token, self.how.fold)
        forms = {
            CASE["exact-then-lower"]: (token, lowered),
            CASE["exact"]: (token,),
            CASE["lower"]: (lowered,),
        }[self.letter_case]
        found = (self.find(form) for form in (*forms, *self._spellings(forms[-1])))
        return next((row for row in found if row >= 0), -1)

    def _spellings(self, word: str) -> list[str]:
        """Return other spellings of a word: ss for the German sharp s and the reverse, and without joiners."""
        spellings = []
        if self.how.fold == FOLD["german"]:
            spellings += [word.replace(SHARP_S, "ss"), word.replace("ss", SHARP_S)]
        if self.how.fold == FOLD["german"] or self.how.rules != RULE_SET["english"]:
            spellings.append("".join(c for c in word if c not in JOINERS))
        return [spelling for spelling in spellings if spelling != word]

    def tokenize(self, text: str) -> list[str]:
        return tokenize(text, self.how, self.known)

    def look_up_token(self, token: str, seen: list[int] | None = None) -> list[int]:
        row = self.find_in_cases(token)
        if seen is not None and counts_as_word(token, row >= 0):
            seen[:] = seen[0] + 1, seen[1] + (row >= 0)
        if row >= 0 or not self.pieces:
            return [row if row >= 0 else self.unknown]
        if self.composed:
            return [self.pieces.get(_utf8(token), self.unknown)]
        exact = self.letter_case == CASE["exact"]
        rows = rows_of_pieces(token, self.find_in_cases, self.find, self.find_piece, exact)
        return rows or [self.unknown]

    def look_up_tokens(
        self, sentences: list[list[str]], seen: list[int] | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return ids and offsets; add the words, and those found whole, to the two numbers of `seen`."""
        ids = [
            [row for token in one for row in self.look_up_token(token, seen)] for one in sentences
        ]
        offsets = np.cumsum([0, *map(len, ids)], dtype=np.int64)
        return np.array([row for one in ids for row in one], np.int32), offsets

    def look_up(
        self, texts: list[str], threads: int, seen: list[int] | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        return self.look_up_tokens([self.tokenize(text) for text in texts], seen)

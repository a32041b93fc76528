"""Our tokenizer and lookup as a `tokenizer.json` of Hugging Face's tokenizers.

The rules of `noppa.text.tokenizer` become one regular expression, and the lookup becomes its WordLevel model or, with pieces,
its WordPiece model. With pieces, a word of several parts (`mother-in-law`) stays whole only if it is in the vocabulary, so
the expression lists those words. Not covered then: the inside of addresses and of initials (`U.S.S.R.`), and pieces of
words whose accents must be removed first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from noppa.text.characters import lower
from noppa.text.rules import (
    ABBREVIATIONS,
    APOSTROPHES,
    CLITICS,
    CLITICS_LIMIT,
    DOMAINS,
    HYPHENS,
    IDEOGRAPHS,
    LETTERS_LIMIT,
    LOCAL_LIMIT,
    LONGEST_IN_PIECES,
    QUOTES,
)
from noppa.words.word_vectors import WordVectors

_LETTERS = r"\p{L}\p{M}\p{Nl}\p{No}_"
_APART = "".join(f"\\x{{{low:X}}}-\\x{{{high:X}}}" for low, high in IDEOGRAPHS)
LETTER = f"[[{_LETTERS}]&&[^{_APART}]]"
DIGIT = r"\p{Nd}"
WORD = rf"[[{_LETTERS}\p{{Nd}}]&&[^{_APART}]]"
SOLID = r"[^\s\p{Z}\p{Cc}]"
TAIL = rf"(?:{SOLID}*[^\s\p{{Z}}\p{{Cc}}.,;:!?'\")\]}}>])?"
JOINT = (
    rf"(?:(?<={WORD})-(?={WORD})|(?<={WORD})'(?={LETTER})|(?<={LETTER})&(?={LETTER})"
    rf"|(?<={DIGIT})[.,:/](?={DIGIT}))"
)
CLITIC = rf"'(?i:{'|'.join(CLITICS)})"
END = rf"(?!{WORD}|{JOINT})"
CUT = rf"(?=(?:(?i:n't)|{CLITIC}){{0,{CLITICS_LIMIT}}}{END})"
DOMAIN = rf"(?i:{'|'.join(sorted(DOMAINS, key=len, reverse=True))})(?!{WORD})"

#: The rules in the order of `noppa.text.tokenizer`.
RULES = (
    rf"(?i:https?://|ftp://|www\.){WORD}{TAIL}",
    rf"{WORD}(?:{WORD}|[.+-]){{0,{LOCAL_LIMIT - 1}}}@{WORD}+(?:-{WORD}+)*\.{WORD}+(?:[.-]{WORD}+)*",
    rf"(?:{LETTER}\.){{2,{LETTERS_LIMIT}}}+(?:{LETTER}(?!{WORD}))?+(?!{WORD})|{LETTER}\.{LETTER}(?!{WORD})",
    rf"{WORD}+(?:[.-]{WORD}+)*\.{DOMAIN}(?![.-]{WORD})(?:/{TAIL})?",
    rf"(?i:{'|'.join(sorted(ABBREVIATIONS, key=len, reverse=True))})\.",
    rf"{WORD}(?:{WORD}|{JOINT})*?{CUT}",
    rf"{CLITIC}(?!{WORD})",
    rf"\.(?={DIGIT})(?:{WORD}|{JOINT})+",
    r"\.+|-+",
    SOLID,
)


def tokenizer_json(words: WordVectors, tokens: dict[str, int], unknown: str) -> dict[str, Any]:
    """The whole file: `tokens` are the ids of its vocabulary, `unknown` is the name of one of them."""
    small = words.case == "lower" or (words.case != "exact" and not cased(words.words))
    whole = words.unknown != "pieces"
    model: dict[str, Any] = {"type": "WordLevel", "vocab": tokens, "unk_token": unknown}
    if not whole:
        model |= {
            "type": "WordPiece",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": LONGEST_IN_PIECES,
        }
    rules = RULES if whole else _parts(words.words[: words.lexicon.whole_words])
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": _normalizers(small)},
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": "|".join(rules)},
            "behavior": "Removed",
            "invert": True,
        },
        "post_processor": None,
        "decoder": None,
        "model": model,
    }


def cased(tokens: Iterable[str]) -> bool:
    """Whether any word has a capital, so that lower case is only the fallback."""
    return any(lower(token) != token for token in tokens)


def _normalizers(small: bool) -> list[dict[str, Any]]:
    """`noppa.text.characters.clean`, doubled quotes, runs of dots and dashes, and lower case where it is always right."""
    replaced = {
        f"[{APOSTROPHES}]": "'",
        f"[{QUOTES}]|''|``": '"',
        f"[{HYPHENS}]": "-",
        r"[\p{Cf}\x{FE00}-\x{FE0F}]": "",
        r"\.{2,}": "...",
        r"-{2,}": "--",
    }
    steps: list[dict[str, Any]] = [{"type": "NFC"}]
    for pattern, content in replaced.items():
        steps.append({"type": "Replace", "pattern": {"Regex": pattern}, "content": content})
    return [*steps, {"type": "Lowercase"}] if small else steps


def _parts(words: list[str]) -> tuple[str, ...]:
    """Rules that keep a word of several parts whole if it is known, and split it otherwise."""
    joined = [
        word for word in words if len(word) > 1 and re.search(r"\W", word) and word[:1] != "'"
    ]
    inside = rf"{JOINT}|(?<={WORD})\.(?={DOMAIN})"
    return (
        rf"(?!{JOINT})(?<!{WORD}[-'&])(?<!{DIGIT}[.,:/])(?:{_trie(joined)}){CUT}",
        rf"{WORD}+?{CUT}|{WORD}+",
        rf"{CLITIC}(?!{WORD})",
        r"\.{3}|--",
        rf"(?!{inside}){SOLID}",
    )


def _trie(words: list[str]) -> str:
    """A regular expression for any of the words, longest match first, as a trie: each letter is tried once."""
    root: dict[str, Any] = {}
    for word in words:
        node = root
        for character in word:
            node = node.setdefault(character, {})
        node[""] = {}
    return _branches(root) if root else r"(?!)"


def _branches(node: dict[str, Any]) -> str:
    chain = ""
    while len(node) == 1 and "" not in node:
        ((character, node),) = node.items()
        chain += re.escape(character)
    others = [re.escape(c) + _branches(below) for c, below in node.items() if c]
    if not others:
        return chain
    optional = "?" if "" in node else ""
    return f"{chain}(?:{'|'.join(others)}){optional}"

"""A folder that `model2vec.StaticModel.from_pretrained` opens, written without that package.

Our tokenizer and lookup become a `tokenizer.json` of Hugging Face's tokenizers: the rules of `noppa.text.tokenizer` become one
regular expression, and the lookup becomes a WordLevel model or, with pieces, a WordPiece model. With pieces, a word of
several parts (`mother-in-law`) stays whole only if it is in the vocabulary, so the expression lists those words. The inside
of addresses and of initials (`U.S.S.R.`), and pieces of words whose accents must be removed first, are not covered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from noppa import WordVectors
from noppa.errors import FileError, ParameterError
from noppa.io.atomic import atomic_folder
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
from noppa.text.tokenizer import ENGLISH
from noppa.words.formats.write import write_tensors

FILES = ("model.safetensors", "tokenizer.json", "config.json")
MODULES = "sentence_transformers.models."

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

#: The rules of `noppa.text.tokenizer`, in their order.
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


def write_model2vec(words: WordVectors, normalize: bool, path: Path) -> None:
    """Write word vectors whose mean is the vector of a text, scaled to length one if `normalize`."""
    if words.tokenizer != ENGLISH:
        raise ParameterError(
            f"model2vec can express only the English rules, and these words have the tokenizer {words.tokenizer}",
            "export to another format, or load them with tokenizer='english'",
        )
    if words.unknown in ("zero", "unk"):
        raise ParameterError(
            f"model2vec leaves unknown words out, and unknown={words.unknown!r} counts them",
            "load the words with unknown='skip' or 'pieces'",
        )
    if path.exists() and not all((path / name).is_file() for name in FILES):
        raise FileError(
            f"{path} exists and is not a model2vec folder", "choose another name or remove it first"
        )
    tokens = token_rows(words)
    unknown = next(name for name in ("[UNK]", "[noppa unknown]", "[UNK]" * 9) if name not in tokens)
    rows = words.vectors(np.arange(len(words)))
    tensors = {"embeddings": np.concatenate([rows, np.zeros((1, words.dim), np.float32)])}
    mapping = np.array([*tokens.values(), len(rows)], np.int64)
    if not np.array_equal(mapping, np.arange(len(rows) + 1)):
        tensors["mapping"] = mapping
    ids = {token: number for number, token in enumerate([*tokens, unknown])}
    config = {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "normalize": normalize,
        "max_length": None,
        "hidden_dim": words.dim,
        "embedding_dtype": "float32",
    }
    modules = [("StaticEmbedding", "."), *[("Normalize", "1_Normalize")] * normalize]
    contents = {
        "tokenizer.json": tokenizer_json(words, ids, unknown),
        "config.json": config,
        "modules.json": [
            {"idx": number, "name": str(number), "path": folder, "type": MODULES + kind}
            for number, (kind, folder) in enumerate(modules)
        ],
    }
    with atomic_folder(path) as new:
        write_tensors(new / "model.safetensors", tensors)
        for name, content in contents.items():
            (new / name).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def token_rows(words: WordVectors) -> dict[str, int]:
    """Map each token to its row: words as spelled, also capitalized if lookup falls back to lower case, and pieces."""
    count = words.lexicon.whole_words
    rows: dict[str, int] = {}
    for row, word in enumerate(words.words[:count]):
        if not (words.unknown == "pieces" and word.startswith("##")):  # no text has such a token
            rows.setdefault(word, row)
    if words.case == "exact-then-lower" and has_capitals(rows):
        for word, row in list(rows.items()):
            for other in (word[:1].upper() + word[1:], word.upper()):
                if lower(other) == word:
                    rows.setdefault(other, row)
    if words.unknown == "pieces":
        for row, piece in enumerate(words.words[count:], count):
            rows.setdefault(piece, row)
    return rows


def tokenizer_json(words: WordVectors, tokens: dict[str, int], unknown: str) -> dict[str, Any]:
    """Return the contents of `tokenizer.json`, with the ids of all tokens and the name of the unknown one."""
    small = words.case == "lower" or (words.case != "exact" and not has_capitals(words.words))
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


def has_capitals(tokens: Iterable[str]) -> bool:
    """Return whether any word has a capital letter, so that lower case is only the fallback."""
    return any(lower(token) != token for token in tokens)


def _normalizers(small: bool) -> list[dict[str, Any]]:
    """Return the steps of `noppa.text.characters.clean`, and lower case if all words are in lower case."""
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
    """Return rules that keep a word of several parts whole if it is known, and split it otherwise."""
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
    """Return a regular expression for any of the words, longest match first, as a trie: each letter is tried once."""
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

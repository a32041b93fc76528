"""Messages of the library in the words of the command line: its options in place of Python's arguments."""

from __future__ import annotations

#: What a message of the library says, and what it is here; the longest first where one holds another.
WORDS: dict[str, str] = {
    "give counts with words.with_counts(file or dict), count your own text with words.with_corpus(texts), or estimate "
    "them from the order of the words with words.with_ranks()": "give --counts FILE, which noppa vectors counts makes of "
    "your own text, or --ranks, which estimates them from the order of the words",
    "choose one with member=, from": "unpack it and give one of them:",
    "pass on_error='skip'": "convert it with noppa vectors convert --on-error skip",
    "pass errors='replace' or errors='skip'": "convert it with noppa vectors convert --errors replace or --errors skip",
    "or pass strict=False": "or leave out --strict",
    "pass header=True or header=False": "convert it with noppa vectors convert --header or --no-header",
    "or pass vocabulary=": "or convert it with noppa vectors convert --vocabulary FILE",
    "header=True, but": "--header, but",
}


def worded(message: object) -> str:
    """A message with the names of options."""
    text = str(message)
    for ours, theirs in WORDS.items():
        text = text.replace(ours, theirs)
    return text

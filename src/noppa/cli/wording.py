"""Messages of the library in the words of the command line: its options in place of Python's arguments."""

from __future__ import annotations

import re

#: What is said of an archive in commands that can open one of its files.
MEMBER = "choose one with member=, from"
#: What a message of the library says, and what it is here; the longest first where one holds another.
WORDS: dict[str, str] = {
    "give counts with words.with_counts(file or dict), count your own text with words.with_corpus(texts), or estimate "
    "them from the order of the words with words.with_ranks()": "give --counts FILE, which noppa vectors counts makes of "
    "your own text, or --ranks, which estimates them from the order of the words",
    MEMBER: "unpack it and give one of them:",
    "pass on_error='skip'": "convert it with noppa vectors convert --on-error skip",
    "pass errors='replace' or errors='skip'": "convert it with noppa vectors convert --errors replace or --errors skip",
    "or pass strict=False": "or leave out --strict",
    "pass header=True or header=False": "convert it with noppa vectors convert --header or --no-header",
    "or pass vocabulary=": "or convert it with noppa vectors convert --vocabulary FILE",
    "header=True, but": "--header, but",
    "the input format must be one of None, ": "--from must be one of ",
    "the output format must be one of None, ": "--to must be one of ",
    ", or give noppa the object": "",
    "words_only (--words-only)": "--words-only",
}


#: Arguments that are options of the same name; parameters of methods, which `-p` sets, are none of them.
OPTIONS = (
    *(
        "diversity",
        "dtype",
        "engine",
        "folds",
        "frequencies",
        "limit",
        "on_error",
        "on_error",
        "errors",
    ),
    *("shard_size", "threads", "threshold", "workers"),
)
_ARGUMENT = re.compile(rf"^({'|'.join(OPTIONS)}) must be ")


def worded(message: object, command: str | None = None) -> str:
    """A message with the names of options, as they are in a command."""
    text = str(message)
    if command == "vectors":
        text = text.replace(MEMBER, MEMBER.replace("member=", "--member"))
    for ours, theirs in WORDS.items():
        text = text.replace(ours, theirs)
    return _ARGUMENT.sub(lambda match: f"--{match[1].replace('_', '-')} must be ", text)

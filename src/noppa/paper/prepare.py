"""Convert the published files of tasks to those that SentEval's scripts write.

MR, CR, SUBJ and MPQA go through `cat -v` and Penn Treebank's tokenizer.sed, SICK and STS-B through the Moses tokenizer;
TREC loses its quotes. These are ports of the rules; the results equal those of the programs byte for byte
(`tasks.tsv`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from noppa.errors import FileError
from noppa.io.atomic import atomic_file
from noppa.paper import tasks
from noppa.paper.tasks import Folder, Task

Rules = tuple[tuple[re.Pattern[str], str], ...]


def _rules(*pairs: tuple[str, str]) -> Rules:
    return tuple((re.compile(pattern), replacement) for pattern, replacement in pairs)


def cat_v(content: bytes) -> str:
    """Return what `cat -v` prints: control characters as ^A, bytes of 128 or more as M- and the character 128 below."""
    return "".join(map(_CARETS.__getitem__, content))


def _caret(byte: int) -> str:
    if byte >= 128:
        return "M-" + (_caret(byte - 128) if byte - 128 not in (9, 10) else f"^{chr(byte - 64)}")
    if byte == 127:
        return "^?"
    return chr(byte) if byte >= 32 or byte in (9, 10) else f"^{chr(byte + 64)}"


_CARETS = [_caret(byte) for byte in range(256)]

_CLITICS = ("'ll", "'re", "'ve", "n't", "'LL", "'RE", "'VE", "N'T")
_JOINED = {
    "([Cc])annot": r"\1an not",
    "([Dd])'ye": r"\1' ye",
    "([Gg])imme": r"\1im me",
    "([Gg])onna": r"\1on na",
    "([Gg])otta": r"\1ot ta",
    "([Ll])emme": r"\1em me",
    "([Mm])ore'n": r"\1ore 'n",
    "'([Tt])is": r"'\1 is",
    "'([Tt])was": r"'\1 was",
    "([Ww])anna": r"\1an na",
}
#: In the order of the script: quotes, marks, the final period, brackets and dashes, then clitics and joined words.
_PENN = _rules(
    (r'^"', "`` "),
    (r'([ (\[{<])"', r"\1 `` "),
    (r"\.\.\.", " ... "),
    (r"[,;:@#$%&]", r" \g<0> "),
    (r"""([^.])(\.)([\])}>"']*)[ \t]*$""", r"\1 \2\3 "),
    (r"[?!]", r" \g<0> "),
    (r"[\]\[(){}<>]", r" \g<0> "),
    (r"--", " -- "),
    (r"^(.*)$", r" \1 "),
    (r'"', " '' "),
    (r"([^'])' ", r"\1 ' "),
    (r"'([sSmMdD]) ", r" '\1 "),
    *((f"{clitic} ", f" {clitic} ") for clitic in _CLITICS),
    *((f" {word} ", f" {parts} ") for word, parts in _JOINED.items()),
    (r" +", " "),
    (r"^ *", ""),
)


def penn(line: str) -> str:
    """Tokenize one line as Penn Treebank's tokenizer.sed does."""
    for pattern, replacement in _PENN:
        line = pattern.sub(replacement, line)
    return line


#: Abbreviations that keep their period, and those that keep it before a number.
_TITLES = frozenset(
    (
        "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z "
        "Adj Adm Adv Asst Bart Bldg Brig Bros Capt Cmdr Col Comdr Con Corp Cpl DR Dr Drs Ens Gen Gov Hon Hr Hosp Insp Lt "
        "MM MR MRS MS Maj Messrs Mlle Mme Mr Mrs Ms Msgr Op Ord Pfc Ph Prof Pvt Rep Reps Res Rev Rt Sen Sens Sfc Sgt Sr "
        "St Supt Surg v vs i.e rev e.g Rs Nos Nr Jan Feb Mar Apr Jun Jul Aug Sep Oct Nov Dec"
    ).split()
)
_BEFORE_NUMBERS = frozenset(("No", "Art", "pp"))

_LETTER, _NUMBER = r"[^\W\d_]", r"\d"
_NO_LETTER = r"[\W\d_]"
_MOSES = _rules(
    (r"\s+", " "),
    (r"[\x00-\x1f]", ""),
    (r"^ | $", ""),
    (r"([^\w\s.'`,\-]|_)", r" \1 "),
    (r"\.{2,}", r" \g<0> "),
    (r"(\D),", r"\1 , "),
    (r",(\D)", r" , \1"),
    (r"(\d),$", r"\1 ,"),
    (rf"({_NO_LETTER})'({_NO_LETTER})", r"\1 ' \2"),
    (rf"([^\w]|_)'({_LETTER})", r"\1 ' \2"),
    (rf"({_LETTER})'({_NO_LETTER})", r"\1 ' \2"),
    (rf"({_LETTER})'({_LETTER})", r"\1 '\2"),
    (rf"({_NUMBER})'s", r"\1 's"),
)
_ENDING = re.compile(r"(\S*[^\s.])\.")


def moses(line: str) -> str:
    """Tokenize one line as the Moses tokenizer does for English with -no-escape."""
    if not line.strip():
        return line
    for pattern, replacement in _MOSES:
        line = pattern.sub(replacement, line)
    words = re.split(r"\s", line.rstrip())
    for index, word in enumerate(words):
        ending = _ENDING.fullmatch(word)
        if ending and not _keeps_period(ending[1], words[index + 1 :]):
            words[index] = f"{ending[1]} ."
    line = re.sub(r" +", " ", " ".join(words)).removeprefix(" ")
    return re.sub(r"\.' ?$", " . ' ", line)


def _keeps_period(before: str, rest: list[str]) -> bool:
    """Return whether a period belongs to the word before it; it never does in the last word of a line."""
    if not rest:
        return False
    inner = "." in before and any(map(str.isalpha, before))
    if inner or before in _TITLES or rest[0][:1].islower():
        return True
    return before in _BEFORE_NUMBERS and "0" <= rest[0][:1] <= "9"


def _convert_lines(content: bytes) -> bytes:
    *lines, last = cat_v(content).split("\n")
    return "\n".join([*map(penn, lines), penn(last) if last else ""]).encode()


def _convert_columns(
    content: bytes, columns: tuple[int, int], header: int, convert: Callable[[str], str]
) -> bytes:
    """Convert two columns of a table; carriage returns at the ends of lines stay, as `cut` leaves them."""
    lines = content.decode("utf-8").removesuffix("\n").split("\n")
    for number in range(header, len(lines)):
        cells = lines[number].split("\t")
        for column in columns:
            cells[column] = convert(cells[column])
        lines[number] = "\t".join(cells)
    return ("\n".join(lines) + "\n").encode()


_convert_sick = partial(_convert_columns, columns=(1, 2), header=1, convert=moses)
#: By the format of a file; all other formats are copied.
CONVERTERS: dict[str, Callable[[bytes], bytes]] = {
    "lines": _convert_lines,
    "trec": lambda content: content.replace(b"`", b"").replace(b"'", b""),
    "sick-entailment": _convert_sick,
    "sick-relatedness": _convert_sick,
    "sts-benchmark": partial(
        _convert_columns, columns=(5, 6), header=0, convert=lambda text: moses(text).lower()
    ),
}


def prepare(raw: Folder, output: Folder, task: Task) -> list[Path]:
    """Write the files of a task to output/downstream as SentEval's scripts do; return their paths.

    Files that are in that form already are copied.
    """
    target = Path(output) / "downstream"
    if target.resolve() in (Path(raw).resolve(), (Path(raw) / "downstream").resolve()):
        raise FileError(f"{output} is the folder to read: give another folder for the output")
    written, hashes = [], tasks.file_hashes(raw, task)
    for file in task.files:
        content = tasks.read_bytes(raw, file.path, task)
        if file.format in CONVERTERS and hashes[file.path] != file.sha256[tasks.SENTEVAL]:
            content = CONVERTERS[file.format](content)
        place = target / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(place) as new:
            new.write_bytes(content)
        written.append(place)
    return written

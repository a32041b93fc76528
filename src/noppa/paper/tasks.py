"""The tasks of SentEval: a table of their files (`tasks.tsv`), checks, readers, and the conversion of published files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path

from noppa.errors import FileError, ParameterError
from noppa.io.atomic import atomic_file

#: Sources of a file: as its authors published it, or as SentEval's scripts write it.
RAW, SENTEVAL = "raw", "senteval"
#: In SentEval's order, by which rows of equal length are sorted.
ENTAILMENT = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
#: The formats of tab-separated files: columns of the texts, column of the label, least number of columns, header lines.
TABLES = {
    "sst": ((0,), 1, 2, 0),
    "mrpc": ((3, 4), 0, 5, 1),
    "sick-entailment": ((1, 2), 4, 5, 1),
    "sick-relatedness": ((1, 2), 3, 5, 1),
    "sts-benchmark": ((5, 6), 4, 7, 0),
}

Folder = str | PathLike[str]


@dataclass(frozen=True)
class Row:
    """One item: a text or a pair of texts, with its label or human score."""

    texts: tuple[str, ...]
    label: float | str


@dataclass(frozen=True)
class File:
    """One file of a task: its path, part, format, number of rows, label if all rows share one, and checksum by source."""

    path: str
    part: str
    format: str
    rows: int
    label: int | None
    sha256: dict[str, str]


@dataclass(frozen=True)
class Task:
    """A task and its files in SentEval's layout.

    Attributes:
        layout: "folds" (one set of rows, ten outer folds), "train-test" (folds within train choose), "train-dev-test",
            or "similarity" (cosines against human scores; train is only text to fit on).
    """

    name: str
    layout: str
    metric: str
    files: tuple[File, ...]


def _read_tasks() -> dict[str, Task]:
    tasks: dict[str, Task] = {}
    table = Path(__file__).with_name("tasks.tsv").read_text(encoding="utf-8")
    for line in table.splitlines()[1:]:
        name, layout, metric, path, part, form, rows, label, published, prepared = line.split("\t")
        hashes = {RAW: published, SENTEVAL: prepared}
        file = File(path, part, form, int(rows), int(label) if label else None, hashes)
        files = tasks[name].files if name in tasks else ()
        tasks[name] = Task(name, layout, metric, (*files, file))
    return tasks


#: All tasks by name, in the order of the tables.
TASKS = _read_tasks()

#: The tasks of the paper's Table 1.
CLASSIFICATION = tuple(name for name, task in TASKS.items() if task.layout != "similarity")


def tasks_in(data: Folder, names: str | None = None) -> list[Task]:
    """Return the tasks with these comma-separated names, or all tasks whose files are in a folder."""
    if names is None:
        folder = _downstream(data)

        def is_complete(task: Task) -> bool:
            return all((folder / file.path).is_file() for file in task.files)

        return list(filter(is_complete, TASKS.values()))
    selected = [name.strip() for name in names.split(",")]
    for name in selected:
        if name not in TASKS:
            raise ParameterError(f"there is no task {name!r}: choose from {', '.join(TASKS)}")
    return [TASKS[name] for name in selected]


def check(data: Folder, task: Task) -> dict[str, str]:
    """Return the sha256 of each file of a task; raise FileError for the first missing or wrong one."""
    folder = _downstream(data)
    hashes = file_hashes(data, task)
    hint = "get SentEval's copy, or score it with unchecked=True"
    for file in task.files:
        digest, known = hashes[file.path], list(dict.fromkeys(file.sha256.values()))
        if digest not in known:
            expected = " or ".join(f"{one[:12]}…" for one in known)
            raise FileError(
                f"{folder / file.path} is not the file that {task.name} is scored on (sha256 {digest[:12]}…, "
                f"not {expected})",
                hint,
            )
    if source_of(task, hashes) is None:
        raise FileError(
            f"{folder} holds some files of {task.name} as published and some as SentEval writes them",
            hint="convert all of them with `noppa paper prepare`",
        )
    return hashes


def source_of(task: Task, hashes: Mapping[str, str]) -> str | None:
    """Return the source that all files of a task share: SENTEVAL, RAW, or None for anything else."""
    for source in (SENTEVAL, RAW):
        if all(file.sha256[source] == hashes[file.path] for file in task.files):
            return source
    return None


def file_hashes(data: Folder, task: Task) -> dict[str, str]:
    """Return the sha256 of each file of a task without checking it."""
    return {
        file.path: hashlib.sha256(read_bytes(data, file.path, task)).hexdigest()
        for file in task.files
    }


def read_bytes(data: Folder, path: str, task: Task) -> bytes:
    """Return the content of a file of a task."""
    file = _downstream(data) / path
    try:
        return file.read_bytes()
    except OSError as error:
        raise FileError(
            f"{task.name} needs {file}, which cannot be read ({error.strerror}): put SentEval's file {file.name} there"
        ) from error


def read(data: Folder, task: Task) -> dict[str, list[Row]]:
    """Return the rows of a task by part, sorted by length and label as SentEval does.

    On SentEval's own files the folds equal SentEval's. The published files have other lengths, so most rows fall into
    other folds.
    """
    folder = _downstream(data)
    parts: dict[str, list[Row]] = {}
    for file in task.files:
        parts.setdefault(file.part, []).extend(_read_file(folder, file, task))
    if task.layout == "similarity":
        return parts

    def senteval_order(row: Row) -> tuple[object, ...]:
        return (*(len(text.split()) for text in row.texts), row.label)

    return {name: sorted(rows, key=senteval_order) for name, rows in parts.items()}


def _downstream(data: Folder) -> Path:
    """Return the folder that holds MR, CR and so on: `data` itself, or `downstream` in it."""
    path = Path(data)
    if not path.is_dir():
        raise FileError(
            f"{path} is not a folder: give SentEval's data folder, which holds downstream/"
        )
    return path / "downstream" if (path / "downstream").is_dir() else path


def _read_file(folder: Path, file: File, task: Task) -> list[Row]:
    lines = _lines(read_bytes(folder, file.path, task))
    if file.format == "lines":
        return [Row((line,), float(file.label or 0)) for line in lines]
    if file.format == "trec":
        pairs = (line.partition(" ") for line in lines)
        return [Row((question,), target.partition(":")[0]) for target, _, question in pairs]
    try:
        return _table_rows(lines, file)
    except ValueError as error:
        raise FileError(f"{folder / file.path} cannot be read: {error}; get it again") from error


def _lines(content: bytes) -> list[str]:
    """Decode UTF-8 with or without a BOM, else Latin-1, and split at line feeds.

    Not `splitlines`: the Latin-1 files of MR, SUBJ and TREC contain NEL characters, where it would split too.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def _table_rows(lines: list[str], file: File) -> list[Row]:
    """Parse tab-separated lines."""
    texts, label, least, header = TABLES[file.format]
    rows = []
    for number, line in enumerate(lines[header:], header + 1):
        cells = line.split("\t")
        if len(cells) < least:
            raise FileError(
                f"line {number} of {file.path} has {len(cells)} columns, not {least}: get the file again"
            )
        entailment = file.format == "sick-entailment"
        score = float(ENTAILMENT.index(cells[label]) if entailment else cells[label])
        rows.append(Row(tuple(cells[column] for column in texts), score))
    return rows


# The conversion of published files to those that SentEval's scripts write. MR, CR, SUBJ and MPQA go through `cat -v` and
# Penn Treebank's tokenizer.sed, SICK and STS-B through the Moses tokenizer; TREC loses its quotes. These are ports of the
# rules; the results equal those of the programs byte for byte.


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
_PENN = (
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
        line = re.sub(pattern, replacement, line)
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
_MOSES = (
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


def moses(line: str) -> str:
    """Tokenize one line as the Moses tokenizer does for English with -no-escape."""
    if not line.strip():
        return line
    for pattern, replacement in _MOSES:
        line = re.sub(pattern, replacement, line)
    words = re.split(r"\s", line.rstrip())
    for index, word in enumerate(words):
        ending = re.fullmatch(r"(\S*[^\s.])\.", word)
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
    written, hashes = [], file_hashes(raw, task)
    for file in task.files:
        content = read_bytes(raw, file.path, task)
        if file.format in CONVERTERS and hashes[file.path] != file.sha256[SENTEVAL]:
            content = CONVERTERS[file.format](content)
        place = target / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(place) as new:
            new.write_bytes(content)
        written.append(place)
    return written

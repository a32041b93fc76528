"""Lines of a word and its numbers: GloVe, word2vec text, fastText `.vec`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from noppa import _native as kernels
from noppa.constants import LARGEST_VALUE
from noppa.errors import FileError
from noppa.io.compression import Source, damage, whole_lines
from noppa.threads import thread_count
from noppa.words.formats.load_options import Options
from noppa.words.formats.load_report import Report
from noppa.words.formats.row_buffer import Rows
from noppa.words.formats.sniff import LARGEST_DIM, NUMBER, Content

BLOCK = 2 << 20

#: Room for a vector of LARGEST_DIM values of 32 bytes each.
LONGEST_LINE = 32 * LARGEST_DIM


def read_text(source: Source, content: Content, rows: Rows, options: Options) -> None:
    """Parse every line of the stream, which is past its header, into `rows`."""
    report = rows.report
    threads = thread_count(options.threads)
    lines = 0 if content.declared is None else 1
    position = content.header_bytes
    vectors = 0
    for block in whole_lines(_blocks(source, report, options), LONGEST_LINE):
        if len(block) > LONGEST_LINE and b"\n" not in block:
            raise FileError(
                f"{report.path}, line {lines + 1}: it is longer than {LONGEST_LINE} bytes, which no vector is; "
                "mend the file, or fetch it again"
            )
        text, bounds, matrix, bad, invalid, invalid_at, newlines = kernels.parse_vectors(
            block, content.dim, threads
        )
        for number, at in numbered(block, bad.tolist(), lines + 1):
            line = block[at : _end_of_line(block, at)]
            if at + len(line) == len(block) and _is_cut(line, content.dim):
                report.truncate(f"ends within line {number}", options.strict)
                continue
            if options.on_error == "skip" and report.full:
                report.skip("")
                continue
            where = f"line {number}"
            complaint = complain(line, content.dim)
            if options.on_error == "raise":
                raise FileError(
                    f"{report.path}, {where}: {complaint}; mend the file, or pass on_error='skip'"
                )
            report.skip(f"{where}: {complaint}")
        words = text.tobytes()
        if len(invalid) and options.errors != "replace":
            places = numbered(block, invalid_at.tolist(), lines + 1)
            for row, (number, at) in zip(invalid.tolist(), places, strict=True):
                word = words[bounds[row] : bounds[row + 1]]
                refuse_invalid_word(word, position + at, f"line {number}", options, report)
        rows.add(words, bounds, matrix, invalid)
        vectors += len(matrix) + len(bad)
        lines += newlines
        position += len(block)
        if options.progress is not None:
            options.progress(source.position(), source.size)
        if rows.full:
            return
    if content.declared is not None and vectors != content.declared and not report.truncated:
        report.truncate(
            f"has {vectors} vectors where its header promises {content.declared}", options.strict
        )


def _blocks(source: Source, report: Report, options: Options) -> Iterator[bytes]:
    """Blocks of a stream; a thread reads and decompresses the next one while this one is parsed."""
    with ThreadPoolExecutor(1) as reader:
        next_block = reader.submit(source.read, BLOCK)
        while True:
            try:
                block = next_block.result()
            except FileError as error:
                report.truncate(damage(error.__cause__), options.strict)
                return
            if not block:
                return
            next_block = reader.submit(source.read, BLOCK)
            yield block


def numbered(block: bytes, places: list[int], first: int) -> Iterator[tuple[int, int]]:
    """Line numbers of rising offsets in a block: (line, offset) pairs, in one pass over the block."""
    before = 0
    for at in places:
        first += block.count(b"\n", before, at)
        before = at
        yield first, at


def _end_of_line(block: bytes, at: int) -> int:
    end = block.find(b"\n", at)
    return len(block) if end < 0 else end


def _is_cut(line: bytes, dim: int) -> bool:
    """Whether a last line without a newline is the beginning of a good line."""
    fields = re.split(rb"[ \t]+", line.rstrip(b" \t\r"))
    return len(fields) <= dim and all(
        NUMBER.match(field) or (at == len(fields) - 1 and NUMBER.match(field + b"0"))
        for at, field in enumerate(fields)
        if at
    )


def complain(line: bytes, dim: int) -> str:
    """What is wrong with a line that is not a word and `dim` numbers, with the column at fault."""
    content = line.removesuffix(b"\r").rstrip(b" \t")
    fields = re.split(rb"[ \t]+", content)
    word = fields[0].decode("utf-8", "replace")[:60]
    numeric = [bool(NUMBER.match(field)) for field in fields]
    if (len(fields) != dim + 1 and all(numeric[1:])) or len(fields) < dim + 1:
        return f"the row of {word!r} has {len(fields)} columns where {dim + 1} are expected"
    for column, field in enumerate(fields[-dim:], len(fields) - dim + 1):
        shown = field.decode("utf-8", "replace")[:40]
        if not NUMBER.match(field):
            if field.lower().lstrip(b"+-") in (b"nan", b"inf", b"infinity"):
                return (
                    f"the row of {word!r} has {shown} in column {column}, and values must be finite"
                )
            return f"the row of {word!r} has {shown!r} in column {column}, which is no number"
        if not abs(float(field)) <= LARGEST_VALUE:
            return f"the row of {word!r} has {shown} in column {column}, and values must be at most {LARGEST_VALUE:g} in size"
    return f"the row of {word!r} has {len(fields)} columns where {dim + 1} are expected"


def refuse_invalid_word(word: bytes, at: int, where: str, options: Options, report: Report) -> None:
    """Raise for a word that is not UTF-8, or report it as skipped."""
    try:
        word.decode()
    except UnicodeDecodeError as error:
        complaint = (
            f"byte {at + error.start} of the word {word.decode('utf-8', 'replace')!r} is not UTF-8"
        )
        if options.errors == "strict":
            raise FileError(
                f"{report.path}, {where}: {complaint}; pass errors='replace' or errors='skip'"
            ) from None
        report.skip(f"{where}: {complaint}")

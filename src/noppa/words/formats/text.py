"""GloVe text, word2vec text and binary, fastText `.vec`: a word and its numbers per line or record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from noppa import _native as kernels
from noppa.errors import FileError
from noppa.io.compression import Source, damage, whole_lines
from noppa.threads import thread_count
from noppa.words.formats.rows import Rows
from noppa.words.formats.sniff import LARGEST_DIM, NUMBER, Content

TEXT_BLOCK = 2 << 20
RECORDS_BLOCK = 8 << 20

#: Room for a vector of LARGEST_DIM values of 32 bytes each.
LONGEST_LINE = 32 * LARGEST_DIM
#: In bytes; without a space for that long, the file is not a word2vec binary.
LONGEST_WORD = 1 << 20


def read_text(source: Source, content: Content, rows: Rows) -> None:
    """Parse every line of the stream, which is past its header, into `rows`."""
    report, options = rows.report, rows.options
    threads = thread_count(options.threads)
    lines = 0 if content.declared is None else 1
    position = content.header_bytes
    vectors = 0
    for block in whole_lines(_read_ahead(source, rows), LONGEST_LINE):
        if len(block) > LONGEST_LINE and b"\n" not in block:
            raise FileError(
                f"{report.path}, line {lines + 1}: it is longer than {LONGEST_LINE} bytes; fetch the file again"
            )
        text, bounds, matrix, bad, invalid, invalid_at, newlines = kernels.parse_vectors(
            block, content.dim, threads
        )
        for number, offset in _line_numbers(block, bad.tolist(), lines + 1):
            end = block.find(b"\n", offset)
            line = block[offset : len(block) if end < 0 else end]
            if end < 0 and _is_cut(line, content.dim):
                report.truncate(f"ends within line {number}", options.strict)
                continue
            shown = line[:60].decode("utf-8", "replace")
            complaint = f"expected a word and {content.dim} finite numbers, found {shown!r}"
            report.reject(f"line {number}", complaint, options.on_error)
        words = text.tobytes()
        places = _line_numbers(block, invalid_at.tolist(), lines + 1)
        for row, (number, offset) in zip(invalid.tolist(), places, strict=True):
            word = words[bounds[row] : bounds[row + 1]]
            rows.reject_invalid(word, position + offset, f"line {number}")
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
            f"has {vectors} vectors, but its header declares {content.declared}", options.strict
        )


def _read_ahead(source: Source, rows: Rows) -> Iterator[bytes]:
    """Yield blocks of a stream; a thread reads and decompresses the next one meanwhile."""
    with ThreadPoolExecutor(1) as reader:
        next_block = reader.submit(source.read, TEXT_BLOCK)
        while True:
            try:
                block = next_block.result()
            except FileError as error:
                rows.report.truncate(damage(error.__cause__), rows.options.strict)
                return
            if not block:
                return
            next_block = reader.submit(source.read, TEXT_BLOCK)
            yield block


def _line_numbers(block: bytes, offsets: list[int], first: int) -> Iterator[tuple[int, int]]:
    """Yield (line number, offset) for rising offsets in a block, in one pass over it."""
    before = 0
    for offset in offsets:
        first += block.count(b"\n", before, offset)
        before = offset
        yield first, offset


def _is_cut(line: bytes, dim: int) -> bool:
    """Whether a last line without a newline is the beginning of a good line."""
    _, *numbers = re.split(rb"[ \t]+", line.rstrip(b" \t\r"))
    if len(numbers) >= dim:
        return False
    return all(map(NUMBER.match, numbers[:-1])) and all(
        NUMBER.match(last) or NUMBER.match(last + b"0") for last in numbers[-1:]
    )


def read_binary(source: Source, content: Content, rows: Rows) -> None:
    """Read every record of a word2vec binary, past its header: `word SPACE dim x float32`, perhaps a newline."""
    report, options = rows.report, rows.options
    declared = content.declared or 0
    position = content.header_bytes
    unparsed = b""
    records = 0
    while records < declared and not rows.full:
        try:
            more = source.read(max(RECORDS_BLOCK, 8 * content.dim))
        except FileError as error:
            return report.truncate(damage(error.__cause__), options.strict)
        block = unparsed + more
        text, bounds, matrix, bad, invalid, invalid_at, used = kernels.parse_records(
            block, content.dim, declared - records
        )
        for offset in bad.tolist():
            word = block[offset : block.find(b" ", offset)].lstrip(b"\n").decode("utf-8", "replace")
            complaint = f"the vector of {word!r} has values that are not finite or too large"
            report.reject(f"byte {position + offset}", complaint, options.on_error)
        words = text.tobytes()
        for row, offset in zip(invalid.tolist(), invalid_at.tolist(), strict=True):
            offset += block[offset : offset + 1] == b"\n"
            word_bytes = words[bounds[row] : bounds[row + 1]]
            rows.reject_invalid(word_bytes, position + offset, f"vector {records + row + 1}")
        rows.add(words, bounds, matrix, invalid)
        records += len(matrix) + len(bad)
        if not used and len(block) > LONGEST_WORD + 4 * content.dim:
            raise FileError(
                f"{report.path}, byte {position}: a word is longer than {LONGEST_WORD} bytes; fetch the file again"
            )
        position += used
        unparsed = block[used:]
        if options.progress is not None:
            options.progress(source.position(), source.size)
        if not more:
            return report.truncate(
                f"has {records} whole vectors, but its header declares {declared}", options.strict
            )

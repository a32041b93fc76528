"""Recognize the format of a vector file by its first bytes, and read those with a word and its numbers per line or record.

These are GloVe text, word2vec text and binary, and fastText `.vec`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice, takewhile

from noppa import _native as kernels
from noppa.errors import FileError, ParameterError
from noppa.io.compression import Source, damage, whole_lines
from noppa.threads import thread_count
from noppa.words.formats.rows import LARGEST_DIM, Rows

NPY = b"\x93NUMPY"
BOM = b"\xef\xbb\xbf"
FASTTEXT_MODEL = b"\xba\x16O/"
SAMPLE = 1 << 18
LINES = 20

#: Far above any real table and far below an overflow.
LARGEST_COUNT = 1 << 40

# Digits can end in one way only, so a long run of them is matched in linear time.
NUMBER = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_INTEGERS = re.compile(rb"[ \t]*([0-9]{1,99})[ \t]+([0-9]{1,99})[ \t\r]*\Z")
_SPARSE = re.compile(rb"[0-9]+:[-+0-9.eE]+\Z")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")

#: Files that are often mistaken for vector files: the pattern of their first bytes, and what to tell the user.
IMPOSTORS: list[tuple[re.Pattern[bytes], str]] = [
    (
        re.compile(rb"\s*<(!doctype|html|\?xml)", re.I),
        "is a web page and not a vector file: the download failed, fetch it again",
    ),
    (
        re.compile(rb"version https://git-lfs\.github\.com/"),
        "is a Git LFS pointer and not the file itself: run git lfs pull",
    ),
    (
        re.compile(rb"\x80[\x02-\x05]"),
        "is a Python pickle, which is not opened since it can run code: in gensim, "
        "KeyedVectors.load(path).save_word2vec_format('vectors.bin', binary=True), or pass the object itself",
    ),
    (re.compile(rb"PAR1|\x89HDF|%PDF|\x7fELF|\x89PNG|7z\xbc\xaf|Rar!"), "is not a vector file"),
]

TEXT_BLOCK = 2 << 20
RECORDS_BLOCK = 8 << 20

#: Room for a vector of LARGEST_DIM values of 32 bytes each.
LONGEST_LINE = 32 * LARGEST_DIM
#: In bytes; without a space for that long, the file is not a word2vec binary.
LONGEST_WORD = 1 << 20


@dataclass(frozen=True)
class Content:
    """A recognized format, and what its header declares."""

    format: str
    dim: int = 0
    declared: int | None = None
    header_bytes: int = 0


def sniff(sample: bytes, name: str, header: bool | None = None) -> Content:
    """Return the format of a file with the first bytes `sample`, or raise what the file is instead."""
    if not sample.removeprefix(BOM).strip():
        what = "is empty" if len(sample) < SAMPLE else f"begins with {SAMPLE} blank bytes"
        raise FileError(f"{name} {what}: fetch it again")
    for pattern, complaint in IMPOSTORS:
        if pattern.match(sample[:4096]):
            raise FileError(f"{name} {complaint}")
    if sample.startswith(NPY):
        return Content("npy")
    if sample.startswith(FASTTEXT_MODEL):
        return Content("fastText model")
    if len(sample) > 9 and sample[8:9] == b"{" and int.from_bytes(sample[:8], "little") < 1 << 27:
        return Content("safetensors")
    bom = len(BOM) if sample.startswith(BOM) else 0
    is_whole = len(sample) < SAMPLE
    first, newline, after = sample[bom:].partition(b"\n")
    integers = _INTEGERS.match(first)
    if integers and header is not False:
        count, dim = int(integers[1]), int(integers[2])
        begin = bom + len(first) + len(newline)
        # A binary file has a control character among the floats of its first record.
        if dim and _CONTROL.search(after[: 64 + 4 * dim]):
            _check_header(count, dim, len(after) // 4 if is_whole else None, name)
            return Content("word2vec binary", dim, count, begin)
        lines = _lines(after)
        if header is True or (lines and _numbers_at_end(_fields(lines[0])) == dim):
            if header is None and dim == 1:
                raise ParameterError(
                    f"{name} begins with {first.strip().decode()!r}, which may be a header or a word with one number",
                    "pass header=True or header=False",
                )
            # The longest line bounds the values, each a digit and a separator; a line that is cut does not.
            longest = max(map(len, after.split(b"\n")))
            room = longest // 2 if is_whole or b"\n" in after else None
            _check_header(count, dim, room, name)
            return Content("word2vec text", dim, count, begin)
    elif header is True:
        raise FileError(
            f"{name}: header=True, but line 1 is not a count and a dimension, it begins with {first[:40]!r}"
        )
    if _CONTROL.search(sample[:1024]):
        raise FileError(f"{name} is not a known vector file: it begins with {sample[:16]!r}")
    return Content("GloVe text", _dimension(_lines(sample[bom:]), name), None, bom)


def _check_header(count: int, dim: int, room: int | None, name: str) -> None:
    """Raise if a header declares vectors of more than `room` values, or more than any file could hold."""
    if not 0 < dim <= LARGEST_DIM or count > LARGEST_COUNT or (room is not None and dim > room):
        raise FileError(
            f"{name} declares {count} vectors of {dim} dimensions in its header, which it cannot hold: fetch it again"
        )


def _lines(text: bytes) -> list[bytes]:
    """Return the first lines that are not blank; the last of the sample, which may be cut, only if it is the only one."""
    *complete, last = (line.rstrip(b" \t\r") for line in text.split(b"\n"))
    return list(islice(filter(None, complete), LINES)) or list(filter(None, [last]))


def _fields(line: bytes) -> list[bytes]:
    return re.split(rb"[ \t]+", line)


def _numbers_at_end(fields: list[bytes]) -> int:
    """Return how many numbers a line ends in; its first field is a word."""
    return sum(1 for _ in takewhile(NUMBER.match, reversed(fields[1:])))


def _dimension(lines: list[bytes], name: str) -> int:
    """Return how many numbers most of the first lines end in."""
    dimensions: Counter[int] = Counter()
    for line in lines:
        fields = _fields(line)
        if len(fields) > 1 and all(_SPARSE.match(field) for field in fields[1:]):
            raise FileError(f"{name} is in a sparse format (index:value), which is not supported")
        dimensions[_numbers_at_end(fields)] += 1
    dim = dimensions.most_common(1)[0][0] if dimensions else 0
    if dim == 0:
        raise FileError(
            f"{name} is not a known vector file: a line should be a word and its numbers, and line 1 is "
            f"{lines[0][:60].decode('utf-8', 'replace')!r}"
        )
    return dim


# Reading


def read_text(source: Source, content: Content, rows: Rows) -> None:
    """Parse every line of the stream, which is past its header, into `rows`."""
    report, options = rows.report, rows.options
    threads = thread_count(options.threads)
    lines = 0 if content.declared is None else 1
    position = content.header_bytes
    vectors = 0
    for block in whole_lines(_read_ahead(source, rows), b"\n", LONGEST_LINE):
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

"""word2vec's binary format: `count dim`, then `word SPACE dim x float32`, with or without a newline after a vector."""

from __future__ import annotations

from noppa import _native as kernels
from noppa.errors import FileError
from noppa.io.compression import Source, damage
from noppa.words.formats.load_options import Options
from noppa.words.formats.row_buffer import Rows
from noppa.words.formats.sniff import Content
from noppa.words.formats.text_lines import refuse_invalid_word

BLOCK = 8 << 20

#: In bytes; without a space for that long, the file is no word2vec binary.
LONGEST_WORD = 1 << 20


def read_binary(source: Source, content: Content, rows: Rows, options: Options) -> None:
    """Read every record of the stream, which is past its header, into `rows`."""
    report = rows.report
    declared = content.declared or 0
    position = content.header_bytes
    unparsed = b""
    records = 0
    while records < declared and not rows.full:
        try:
            more = source.read(max(BLOCK, 8 * content.dim))
        except FileError as error:
            report.truncate(damage(error.__cause__), options.strict)
            return
        block = unparsed + more
        text, bounds, matrix, bad, invalid, invalid_at, used = kernels.parse_records(
            block, content.dim, declared - records
        )
        for at in bad.tolist():
            word = block[at : block.find(b" ", at)].lstrip(b"\n").decode("utf-8", "replace")
            complaint = f"the vector of {word!r}, at byte {position + at}, has values that are not finite or too large"
            if options.on_error == "raise":
                raise FileError(
                    f"{report.path}: {complaint}; fetch the file again, or pass on_error='skip'"
                )
            report.skip(complaint)
        words = text.tobytes()
        if len(invalid) and options.errors != "replace":
            for row, at in zip(invalid.tolist(), invalid_at.tolist(), strict=True):
                at += block[at : at + 1] == b"\n"
                word_bytes = words[bounds[row] : bounds[row + 1]]
                refuse_invalid_word(
                    word_bytes, position + at, f"vector {records + row + 1}", options, report
                )
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
            report.truncate(
                f"has {records} whole vectors where its header promises {declared}", options.strict
            )
            return

"""Any bytes as lines, JSONL, CSV, TSV or Parquet: batches whose records and faults add up, or one sentence.

The first byte chooses the format, whether there is a header, and the column.
"""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path

import pyarrow
import pyarrow.parquet

from noppa.errors import NoppaError
from noppa.files import FORMATS, Input, read

FORMS = tuple(FORMATS)
COLUMNS = (None, "text", "1", "b")
_FOLDER = tempfile.TemporaryDirectory(prefix="noppa-fuzz-records-")


def _parquet(**options: object) -> bytes:
    file = io.BytesIO()
    texts = ["a cake", None, "é", "a cake"]
    pyarrow.parquet.write_table(pyarrow.table({"text": texts, "b": [1, 2, 3, 4]}), file, **options)
    return file.getvalue()


def _first(form: str, header: bool = True, column: int = 0) -> bytes:
    return bytes([FORMS.index(form) + 8 * header + 16 * column])


SEEDS = [
    _first("lines") + b"\xef\xbb\xbfa cake\r\nthe girl\n\n\xff\x00\n\xe2\x80\xa8",
    _first("jsonl")
    + b'{"text": "a"}\n"b"\n\n[[[[1]]]]\n{"text": "\\ud800"}\n{"text": 1e999}\nnull',
    _first("csv") + b'\xef\xbb\xbfid,text\n1,"a, ""cake""\nthe"\n2\n\n3,\xff\n',
    _first("csv", False, 2) + b'"open\n',
    _first("tsv", True, 3) + b'label\tb\r\n1\t"x\r\n',
    _first("parquet") + _parquet(compression="none"),
    _first("parquet", True, 1) + _parquet(use_dictionary=False, row_group_size=2),
]


def once(data: bytes) -> None:
    if not data:
        return
    form = FORMS[(data[0] & 7) % len(FORMS)]
    path = Path(_FOLDER.name, f"input-{os.getpid()}")
    path.write_bytes(data[1:])
    source = Input([str(path)], form, COLUMNS[data[0] >> 4 & 3], bool(data[0] & 8))
    records = 0
    try:
        for batch in read(source):
            records += len(batch.texts)
            bad = [at for at, why in batch.bad]
            assert bad == sorted(set(bad)), "a record is bad once"
            assert bad == [at for at, text in enumerate(batch.texts) if text is None]
            for text in batch.texts:
                assert text is None or text.encode() is not None
            assert all("\n" not in why for _, why in batch.bad), "a fault is one line"
    except NoppaError:
        return
    if form in ("lines", "jsonl") and path.stat().st_size and not data[1:].startswith(MAGIC):
        plain = data[1:].removeprefix(b"\xef\xbb\xbf")
        assert records == plain.count(b"\n") + (not plain.endswith(b"\n")), "one line, one record"


MAGIC = (b"\x1f\x8b", b"BZh", b"\xfd7z", b"PK\x03", b"PK\x05", b"\x28\xb5\x2f")

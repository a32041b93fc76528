"""Text of any encoding, tables of any delimiter and JSON arrays; files that hold no text."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from noppa import NoppaError, NoppaWarning
from noppa.errors import ParameterError
from noppa.files import Input, read
from noppa.files.columns import Selection
from noppa.files.places import Place
from noppa.files.record_formats import FORMATS, json_array
from noppa.files.record_formats.record_format import WHOLE


def texts(path, **options):
    return [text for batch in read(Input([str(path)], **options)) for text in batch.texts]


def faults(path, **options):
    return [fault for batch in read(Input([str(path)], **options)) for _, fault in batch.bad]


# Encodings

LINES = ["a café", "", "naïve “girl”"]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("encoding", "given"),
    [
        ("cp1252", "cp1252"),
        ("utf-16", None),
        ("utf-32", None),
        ("utf-16-be", "utf-16-be"),
        ("utf-8-sig", "utf-8"),
    ],
)
def test_encodings(tmp_path, encoding, given, packed):
    content = "".join(f"{line}\r\n" for line in LINES * 3000).encode(encoding)
    path = tmp_path / ("t.txt.gz" if packed else "t.txt")
    path.write_bytes(gzip.compress(content) if packed else content)
    assert texts(path, encoding=given) == LINES * 3000


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "json"])
def test_encodings_of_tables(tmp_path, form):
    content = {
        "csv": "id,text\n1,a café\n",
        "tsv": "id\ttext\n1\ta café\n",
        "jsonl": '{"text": "a café"}\n',
        "json": '[{"text": "a café"}]',
    }[form]
    path = tmp_path / f"t.{form}"
    path.write_bytes(content.encode("cp1252"))
    assert texts(path, encoding="latin-1") == ["a café"]
    path.write_bytes(content.encode("utf-16"))
    assert texts(path) == ["a café"]


def test_a_wrong_encoding(tmp_path):
    (tmp_path / "t.txt").write_bytes(b"a \x81\n")
    with pytest.raises(NoppaError, match=r"t.txt is not cp1252 \(.*\): pass another --encoding"):
        texts(tmp_path / "t.txt", encoding="cp1252")
    for name in ("klingon", "rot13", "hex", ""):
        with pytest.raises(ParameterError, match="there is no encoding"):
            Input(["t.txt"], encoding=name)


def test_bytes_that_are_not_utf8_are_told_from_latin_1(tmp_path):
    path = tmp_path / "t.txt"
    path.write_bytes(b"a caf\xe9 in town\n\x93\xfa\x96\x7b\x8c\xea\ngood\n")
    assert faults(path) == [
        f"{path}, line 1: it is not UTF-8 (it reads as Latin-1: pass --encoding cp1252)",
        f"{path}, line 2: it is not UTF-8 (pass --encoding if it is something else)",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x7fELF\x02\x01\x01\x00" + bytes(99), "is a binary file and no text"),
        (bytes(range(256)), "is a binary file and no text"),
        ("the girl".encode("utf-16-be"), "looks like UTF-16: pass --encoding utf-16-be"),
        (b"%PDF-1.4", "pdftotext"),
        (b"PAR1", "pass --from parquet"),
    ],
)
def test_what_is_no_text_is_named(tmp_path, content, message):
    for name in ("t.txt", "t.csv", "t.jsonl", "t.json"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(NoppaError, match=message):
            texts(tmp_path / name)


def test_a_stray_zero_byte_is_text(tmp_path):
    (tmp_path / "t.txt").write_bytes(b"the girl eats\x00 a cake\n")
    assert texts(tmp_path / "t.txt") == ["the girl eats\x00 a cake"]


@pytest.mark.parametrize("name", ["t.txt", "t.csv", "t.jsonl", "t.json"])
def test_an_empty_file_is_said(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    with pytest.warns(NoppaWarning, match=f"{name} is empty: there is no record in it"):
        assert texts(tmp_path / name) == []


# Delimiters


@pytest.mark.parametrize(
    ("content", "header", "expected"),
    [
        ("id;text\n1;a, b, c\n2;d\n", True, ["a, b, c", "d"]),
        ("id\ttext\n1\ta; b\n", True, ["a; b"]),
        ("id,text\n1,a; b\n2,c; d\n", True, ["a; b", "c; d"]),
        ("text\na; b\nc\n", True, ["a; b", "c"]),
        ('id;"a, b";text\n1;"x;\ny";c, d\n', True, ["c, d"]),
        ("a;b;c\nd;e;f\ng;h;i\n", False, ["a", "d", "g"]),
        ("a; b\nc\nd\n", False, ["a; b", "c", "d"]),
        ("a,b;c\nd,e\nf,g\n", False, ["a", "d", "f"]),
    ],
)
def test_delimiters_are_found_out(tmp_path, content, header, expected):
    path = tmp_path / "t.csv"
    path.write_text(content)
    assert texts(path, header=header) == expected
    place = Place.of(path)
    fields, sections = FORMATS["csv"].divide(
        [place], [place.size()], Selection(header=header), 1 << 20
    )
    [section] = sections[0]
    batches = FORMATS["csv"].read(place, section.start, section.stop, fields)
    assert [text for batch in batches for text in batch.texts] == expected


def test_a_delimiter_that_is_given(tmp_path):
    (tmp_path / "t.csv").write_text("id|text\n1|a;b\n")
    assert texts(tmp_path / "t.csv", delimiter="|") == ["a;b"]
    (tmp_path / "t.tsv").write_text('id;text\n1;a "b\n')
    assert texts(tmp_path / "t.tsv", delimiter=";") == ['a "b']
    for given, message in {";;": "one character", "\n": "one character", ";": "belongs to tables"}.items():  # fmt: skip
        with pytest.raises(ParameterError, match=message):
            Input(["t.txt"], delimiter=given)


# JSON arrays

VALUES = [
    {"text": 'a, "b" é\\n\u2028', "id": 1.25},
    "plain",
    {"text": "c", "x": [1, 2, {"d": None}], "t": True},
    3.5,
    -12e-3,
    False,
    {"no": 1},
]


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 97, 1 << 18])
@pytest.mark.parametrize("indent", [None, 3])
def test_arrays_are_read_piece_by_piece(tmp_path, monkeypatch, piece, indent):
    monkeypatch.setattr(json_array, "PIECE", piece)
    path = tmp_path / "t.json"
    path.write_text(json.dumps(VALUES, indent=indent, ensure_ascii=False), encoding="utf-8")
    assert texts(path) == ['a, "b" é\\n\u2028', "plain", "c", None, None, None, None]
    assert [fault.removeprefix(f"{path}, ") for fault in faults(path)] == [
        "record 4: it is a number",
        "record 5: it is a number",
        "record 6: it is a boolean",
        "record 7: it has no 'text'",
    ]


@pytest.mark.parametrize(
    "content", ["[1,]", "[1 2]", "[", "[1", '["a" "b"]', "[1] 2", '["a', "[" * 5000, "[nul]"]
)
def test_broken_arrays(tmp_path, content):
    (tmp_path / "t.json").write_text(content)
    with pytest.raises(NoppaError, match=r"t.json is no JSON array behind record \d: .*; mend it"):
        texts(tmp_path / "t.json")


def test_json_that_is_no_array_is_lines(tmp_path):
    (tmp_path / "t.json").write_text('{"text": "a"}\n"b"\n')
    assert texts(tmp_path / "t.json") == ["a", "b"]


def test_an_array_in_a_cluster_is_one_section(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps([{"text": f"text {at}", "id": at} for at in range(9)]))
    place = Place.of(path)
    fields, [[section]] = FORMATS["json"].divide([place], [place.size()], Selection(), 10)
    assert section.stop == WHOLE
    [batch] = FORMATS["json"].read(place, section.start, section.stop, fields)
    assert batch.texts[8] == "text 8"
    assert batch.columns.column("id").to_pylist() == list(range(9))


def test_tables_from_a_pipe_that_gives_a_byte_at_a_time(monkeypatch):
    class Drop(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, 1) if size else size)

    content = "id;text\n1;a café\n2;b\n".encode("cp1252")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(Drop(content)))
    source = Input(["-"], form="csv", encoding="cp1252", delimiter=";")
    assert [text for batch in read(source) for text in batch.texts] == ["a café", "b"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'[{"text": "a"}]')))
    assert texts(Path("-"), form="json") == ["a"]

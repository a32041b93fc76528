"""Read texts from every format and encoding; write vectors in every format; resume."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as arrow
import pytest
from pyarrow import parquet

from noppa import Encoder, NoPPA, NoppaError, NoppaWarning, WordVectors
from noppa.errors import ParameterError
from noppa.files import Input, Job, read
from noppa.files.write import WRITERS
from tests.conftest import AWKWARD
from tests.runs import wait_until

WORDS = ["the", "girl", "eats", "a", "cake"]
MODEL = Encoder(
    WordVectors(WORDS, np.random.default_rng(1).normal(size=(5, 4)), [0.4, 0.1, 0.1, 0.3, 0.1]),
    NoPPA(k=0),
)
HARD = [*AWKWARD, "\ufeffmark", "日本"]


def texts(paths, **options):
    if not isinstance(paths, (list, tuple)):
        paths = [paths]
    return [
        text
        for batch in read(Input([str(path) for path in paths], **options))
        for text in batch.texts
    ]


def reasons(path, **options):
    return [why for batch in read(Input([str(path)], **options)) for _, why in batch.bad]


# Lines


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("final", [True, False])
def test_lines(tmp_path, end, final):
    path = tmp_path / "t.txt"
    path.write_bytes((end.join(HARD) + end * final).encode())
    assert texts(path) == HARD


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\n", [""]),
        (b"\n\n", ["", ""]),
        (b"a", ["a"]),
        (b"\xef\xbb\xbfa\nb", ["a", "b"]),
        (b"a\rb\n", ["a\rb"]),
        (b"a\x00b\n", ["a\x00b"]),
    ],
)
def test_odd_files(tmp_path, content, expected):
    path = tmp_path / "t"
    path.write_bytes(content)
    assert texts(path) == expected


def test_bad_utf8_is_one_bad_record(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(b"good\nbad \xff\n\xc3\xa9\n")
    assert texts(path) == ["good", None, "é"]
    assert reasons(path) == [
        f"{path}, line 2: it is not UTF-8 (pass encoding='cp1252', or what it is)"
    ]


# Tables


def test_jsonl(tmp_path):
    path = tmp_path / "t.jsonl"
    lines = [json.dumps({"text": text, "id": 1}) for text in HARD]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert texts(path) == HARD
    path.write_text(
        '{"body": "x"}\n"plain"\n\n{"text": 3}\n{"text": null}\n[1]\nnot json\n{"text": "y"}\n'
    )
    assert texts(path) == [None, "plain", None, None, None, None, None, "y"]
    faults = reasons(path)
    assert "line 1: it has no 'text'" in faults[0]
    assert "line 3: it is blank" in faults[1]
    assert "line 4: its 'text' is 3, not a string" in faults[2]
    assert "line 7: it is not JSON" in faults[5]
    assert texts(path, column="body")[0] == "x"


def test_csv_with_embedded_separators(tmp_path):
    path = tmp_path / "t.csv"
    values = [*HARD, 'two\nlines, "quoted"', "a\ttab"]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "text"])
        table.writerows([at, value] for at, value in enumerate(values))
    assert texts(path) == values
    assert texts(path, column="1") == [str(at) for at in range(len(values))]
    assert texts(path, column="2", header=False) == ["text", *values]
    with pytest.raises(NoppaError, match=r"has no column 'body'.*id, text"):
        texts(path, column="body")


def test_csv_with_bad_records(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"id,text\n1,a\n2\n3,\xff\n\n4,d\n")
    assert texts(path) == ["a", None, None, None, "d"]
    faults = reasons(path)
    assert "row 2: it has 1 columns" in faults[0]
    assert "row 3: it is not UTF-8" in faults[1]
    assert "row 4: it is blank" in faults[2]


def test_tsv_takes_quotation_marks_as_they_are(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text('label\ttext\n1\t"open, and never closed\n0\tnext\n')
    assert texts(path) == ['"open, and never closed', "next"]


def test_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(arrow.table({"n": range(9), "text": [*HARD, None]}), path)
    assert texts(path) == [*HARD, None]
    assert "row 9: its 'text' is null" in reasons(path)[0]
    with pytest.raises(NoppaError, match=r"column 'n' .* holds int64, not strings"):
        texts(path, column="n")
    path.write_bytes(b"no parquet")
    with pytest.raises(NoppaError, match="cannot be read as parquet"):
        texts(path)


@pytest.fixture
def bomb(tmp_path):
    """A few hundred bytes that say 20 GB: one long string in a dictionary, for every row."""
    path = tmp_path / "t.parquet"
    column = arrow.DictionaryArray.from_arrays(
        arrow.array([0] * 20_000, arrow.int32()), arrow.array(["x" * 1_000_000])
    )
    parquet.write_table(arrow.table({"text": column}), path, compression="zstd")
    assert path.stat().st_size < 1000
    return path


def test_parquet_batches_are_bounded_by_bytes(bomb):
    for batch, _ in zip(read(Input([str(bomb)])), range(3), strict=False):
        assert 1 <= sum(map(len, batch.texts)) <= 64 << 20
    assert arrow.default_memory_pool().max_memory() < 512 << 20


def test_batches_of_tables_are_bounded_by_characters(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("text\n" + ("y" * 1_000_000 + "\n") * 30)
    sizes = [len(batch.texts) for batch in read(Input([str(path)]))]
    assert sum(sizes) == 30
    assert max(sizes) < 12


def test_parquet_that_is_not_utf8_is_bad_records(tmp_path):
    path = tmp_path / "t.parquet"
    raw = arrow.array([b"good", b"\xff", None, "é".encode()], arrow.binary())
    strings = arrow.Array.from_buffers(arrow.string(), 4, raw.buffers())
    parquet.write_table(arrow.table({"text": strings}), path)
    assert texts(path) == ["good", None, None, "é"]
    assert "row 2: it is not UTF-8" in reasons(path)[0]
    assert "row 3: its 'text' is null" in reasons(path)[1]


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
    with pytest.raises(NoppaError, match=r"t.txt is not cp1252 \(.*\): pass another encoding"):
        texts(tmp_path / "t.txt", encoding="cp1252")
    for name in ("klingon", "rot13", "hex", ""):
        with pytest.raises(ParameterError, match="there is no encoding"):
            Input(["t.txt"], encoding=name)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x7fELF\x02\x01\x01\x00" + bytes(99), "is a binary file, not text"),
        (bytes(range(256)), "is a binary file, not text"),
        ("the girl".encode("utf-16-be"), "if it is UTF-16, pass encoding"),
        (b"%PDF-1.4", "is a PDF document, not text"),
        (b"PAR1", "is a Parquet file, not text"),
    ],
)
def test_what_is_no_text_is_named(tmp_path, content, message):
    for name in ("t.txt", "t.csv", "t.jsonl", "t.json"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(NoppaError, match=message):
            texts(tmp_path / name)


@pytest.mark.parametrize("name", ["t.txt", "t.csv", "t.jsonl", "t.json"])
def test_an_empty_file_is_said(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    with pytest.warns(NoppaWarning, match=f"{name} is empty"):
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


def test_a_delimiter_that_is_given(tmp_path):
    (tmp_path / "t.csv").write_text("id|text\n1|a;b\n")
    assert texts(tmp_path / "t.csv", delimiter="|") == ["a;b"]
    (tmp_path / "t.tsv").write_text('id;text\n1;a "b\n')
    assert texts(tmp_path / "t.tsv", delimiter=";") == ['a "b']
    for given, message in {";;": "one character", "\n": "one character", ";": "has no delimiter"}.items():  # fmt: skip
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


@pytest.mark.parametrize("indent", [None, 3])
def test_arrays(tmp_path, indent):
    path = tmp_path / "t.json"
    path.write_text(json.dumps(VALUES, indent=indent, ensure_ascii=False), encoding="utf-8")
    assert texts(path) == ['a, "b" é\\n\u2028', "plain", "c", None, None, None, None]
    assert [fault.removeprefix(f"{path}, ") for fault in reasons(path)] == [
        "row 4: it is 3.5, not a string",
        "row 5: it is -0.012, not a string",
        "row 6: it is false, not a string",
        "row 7: it has no 'text'",
    ]


@pytest.mark.parametrize(
    "content", ["[1,]", "[1 2]", "[", "[1", '["a" "b"]', "[1] 2", '["a', "[" * 5000, "[nul]"]
)
def test_broken_arrays(tmp_path, content):
    (tmp_path / "t.json").write_text(content)
    with pytest.raises(NoppaError, match=r"t.json is not a JSON array after row \d"):
        texts(tmp_path / "t.json")


def test_json_that_is_no_array_is_lines(tmp_path):
    (tmp_path / "t.json").write_text('{"text": "a"}\n"b"\n')
    assert texts(tmp_path / "t.json") == ["a", "b"]


def test_tables_from_a_pipe_that_gives_a_byte_at_a_time(monkeypatch):
    class Drop(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, 1) if size else size)

    content = "id;text\n1;a café\n2;b\n".encode("cp1252")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(Drop(content)))
    source = Input(["-"], format="csv", encoding="cp1252", delimiter=";")
    assert [text for batch in read(source) for text in batch.texts] == ["a café", "b"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'[{"text": "a"}]')))
    assert texts(Path("-"), format="json") == ["a"]


# Vectors out


def load(path, form):
    if form == "npy":
        return np.load(path)
    if form == "jsonl":
        return np.array(
            [json.loads(line)["vector"] for line in path.read_text().splitlines()], np.float32
        )
    if form == "csv":
        rows = list(csv.reader(io.StringIO(path.read_text())))
        assert rows[0][:2] == ["record", "v0"]
        return np.array([row[1:] for row in rows[1:]], np.float32)
    return np.array(parquet.read_table(path)["vector"].to_pylist(), np.float32)


@pytest.mark.parametrize("form", WRITERS)
def test_every_output_has_the_rows_of_encode(tmp_path, form):
    source, target = tmp_path / "t.txt", tmp_path / f"v.{form}"
    source.write_text("\n".join(HARD), encoding="utf-8")
    outcome = Job(MODEL, Input([str(source)]), str(target)).run()
    with pytest.warns(Warning, match="no known word"):
        expected = MODEL.encode(HARD)
    np.testing.assert_array_equal(load(target, form), expected)
    assert (outcome.records, outcome.rows, outcome.bad) == (8, 8, 0)
    assert outcome.zero == int((~expected.any(axis=1)).sum())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.txt", f"v.{form}"]


def test_policies_for_bad_records(tmp_path):
    source, target = tmp_path / "t", tmp_path / "v.jsonl"
    source.write_bytes(b"cake\n\xff\na girl\n")
    with pytest.raises(
        NoppaError, match=r"line 2: it is not UTF-8 \(.*\): fix it, or pass on_error="
    ):
        Job(MODEL, Input([str(source)]), str(target)).run()
    assert not target.exists()
    outcome = Job(MODEL, Input([str(source)]), str(target), on_error="skip").run()
    assert (outcome.records, outcome.rows, outcome.bad) == (3, 2, 1)
    assert [json.loads(line)["record"] for line in target.read_text().splitlines()] == [1, 3]
    outcome = Job(MODEL, Input([str(source)]), str(target), on_error="empty", overwrite=True).run()
    assert (outcome.rows, outcome.bad, outcome.zero) == (3, 1, 1)
    assert not load(target, "jsonl")[1].any()


class Stopped(Exception):
    pass


@pytest.mark.parametrize("form", [form for form, kind in WRITERS.items() if kind.resumable])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, Stopped])
def test_resumed_is_byte_identical(tmp_path, form, stop, monkeypatch):
    monkeypatch.setattr("noppa.files.job.SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    source, whole, target = tmp_path / "t.txt", tmp_path / f"whole.{form}", tmp_path / f"v.{form}"
    monkeypatch.setattr("noppa.files.inputs.PIECE", 1 << 12)
    source.write_bytes(b"".join(b"the girl eats %d cake\n\n\xff\n" % at for at in range(2000)))
    Job(MODEL, Input([str(source)]), str(whole), on_error="skip").run()

    monkeypatch.setattr("os.fsync", lambda file: None)  # a busy disk takes its time
    checkpoint = tmp_path / f".v.{form}.checkpoint"

    def interrupt(records, position):
        if records > 3000:
            wait_until(checkpoint.exists)  # it is written beside
            raise stop

    with pytest.raises(stop):
        Job(
            MODEL,
            Input([str(source)]),
            str(target),
            on_error="skip",
            resume=True,
            progress=interrupt,
        ).run()
    assert not target.exists()
    assert (tmp_path / f".v.{form}.partial").exists()
    before = json.loads(checkpoint.read_text())["outcome"]["records"]
    seen = []
    outcome = Job(
        MODEL, Input([str(source)]), str(target), on_error="skip", resume=True,
        progress=lambda records, position: seen.append(records),
    ).run()  # fmt: skip
    assert seen[0] > before > 0, "it went on, and did not start again"
    assert (outcome.records, outcome.rows, outcome.bad) == (6000, 4000, 2000)
    assert target.read_bytes() == whole.read_bytes()
    left = [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
    assert left == [checkpoint.name], "by which a third run knows that nothing is left to do"


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("-", {"format": "npy"}, "cannot be written to standard output"),
        ("v.parquet", {"resume": True}, "can be resumed"),
        ("v.xyz", {}, "must end in .npy"),
        ("none/v.npy", {}, "does not exist"),
        ("v.npy", {"on_error": "ignore"}, "on_error must be one of"),
    ],
)
def test_wrong_jobs(tmp_path, monkeypatch, target, options, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoppaError, match=message):
        Job(MODEL, Input(["-"]), target, **options)


def test_a_line_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr("noppa.files.inputs.LONGEST_LINE", 1 << 19)
    path = tmp_path / "endless"
    path.write_bytes(b"fine\n" + b"x" * (1 << 18))
    assert list(map(len, texts(path))) == [4, 1 << 18]
    path.write_bytes(b"fine\n" + b"x" * (1 << 20))
    with pytest.raises(NoppaError, match="endless: a line is longer than"):
        texts(path)

"""Bad records and bad requests of noppa.cluster: counted, listed or refused, and named."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import noppa
from tests.clusters import TEXTS, encode, expected, saved_model, table, vectors

BAD = [
    (b'{"text": "the girl"}', ""),
    (b'{"text": null}', "its 'text' is null"),
    (b'{"text": 5}', "its 'text' is a number"),
    (b'{"other": "x"}', "it has no 'text'"),
    (b"[1]", "it is a list"),
    (b"{broken", "it is no JSON"),
    (b"", "it is blank"),
    (b'{"text": "\xff"}', "it is not UTF-8"),
    (b'{"text": "\\ud800"}', "surrogate"),
    (b"[" * 5000, "it is no JSON"),
    (b'"a plain cake"', ""),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return saved_model(tmp_path_factory.mktemp("model"))


@pytest.mark.parametrize("size", [40, 1 << 20])
@pytest.mark.parametrize("on_error", ["empty", "skip"])
def test_bad_records_are_counted_and_listed(tmp_path, model, on_error, size) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\n".join(line for line, _ in BAD) + b"\n")
    report = encode(path, tmp_path / "out", model, on_error=on_error, shard_size=size)
    faults = [(at, fault) for at, (_, fault) in enumerate(BAD, 1) if fault]
    listed = [json.loads(line) for line in Path(report.bad_rows).read_text().splitlines()]
    assert [row["row"] for row in listed] == [at for at, _ in faults]
    assert {row["file"] for row in listed} == {str(path)}
    for row, (_, fault) in zip(listed, faults, strict=True):
        assert fault in row["found"]
    assert report.bad == len(faults)
    assert report.records == len(BAD)
    good = ["the girl", "a plain cake"]
    texts = good if on_error == "skip" else ["the girl", *[""] * len(faults), "a plain cake"]
    assert report.rows == len(texts)
    assert vectors(table(tmp_path / "out")).tobytes() == expected(model, texts).tobytes()
    again = encode(path, tmp_path / "out", model, on_error=on_error)
    assert (again.bad, again.rows, again.before) == (report.bad, report.rows, report.shards)
    assert again.bad_rows == report.bad_rows


@pytest.mark.parametrize("form", ["txt", "jsonl", "csv", "parquet"])
def test_a_bad_record_stops_the_run_and_is_named_by_its_row(tmp_path, model, form) -> None:
    path = tmp_path / f"t.{form}"
    if form == "txt":
        lines = [text.encode() for text in TEXTS]
        lines[207] = b"\xff\xfe"
        path.write_bytes(b"\n".join(lines))
    elif form == "jsonl":
        rows = [json.dumps({"text": text}) for text in TEXTS]
        rows[207] = '{"text": 3}'
        path.write_text("\n".join(rows))
    elif form == "csv":
        rows = [f'{at},"{text}\n"' for at, text in enumerate(TEXTS)]
        rows[207] = "just one"
        path.write_text("\n".join(["id,text", *rows]))
    else:
        pq.write_table(pa.table({"text": [*TEXTS[:207], None, *TEXTS[208:]]}), path)
    with pytest.raises(noppa.NoppaError, match=r"record 208: .*; mend it, or pass --on-error skip"):
        encode(path, tmp_path / "out", model)
    report = encode(path, tmp_path / "other", model, on_error="empty")
    assert json.loads(Path(report.bad_rows).read_text())["row"] == 208


@pytest.mark.parametrize(
    ("name", "content", "options", "match"),
    [
        ("t.csv", b"a,b\n1,2\n", {}, "has no column 'text': choose one with --column, from a, b"),
        ("t.csv", b"text,text\n1,2\n", {}, "has two columns 'text'"),
        ("t.csv", b"", {}, "is empty"),
        ("t.csv", b"text,\xff\na,b\n", {}, "its first row is not UTF-8"),
        ("t.csv", b"text,embedding\na,b\n", {}, "has a column 'embedding' already"),
        ("t.csv", b"id,text\n1,a\n1,2,3\n", {}, "record 2: it has 3 columns and the table has 2"),
        ("t.parquet", b"PAR1 not really", {}, "cannot be read as Parquet"),
        ("t.txt.gz", b"\x1f\x8b broken", {}, "damaged or cut short"),
        ("t.txt", b"a\n", {"dtype": "int4"}, "dtype must be one of"),
        ("t.txt", b"a\n", {"engine": "cray"}, "engine must be one of dask, spark"),
        ("t.txt", b"a\n", {"on_error": "ignore"}, "on_error must be one of raise, skip, empty"),
        ("t.txt", b"a\n", {"dim": 2}, "dim=2 would keep an arbitrary part"),
        ("t.txt", b"a\n", {"shard_size": 0}, "shard_size must be"),
        ("t.txt", b"a\n", {"keep": ["id"]}, "no column 'id' to keep"),
        ("t.txt", b"a\n", {"form": "xml"}, "the input format must be one of"),
        ("t.txt", b"a\n", {"workers": 3}, "has no scheduler and one worker"),
    ],
)
def test_refusals(tmp_path, model, name, content, options, match) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(noppa.NoppaError, match=match):
        encode(tmp_path / name, tmp_path / "out", model, **options)


def test_refusals_of_places(tmp_path, model) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("precious")
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "b.csv").write_text("text\na\n")
    (tmp_path / "c.csv").write_text("text,id\na,1\n")
    pq.write_table(pa.table({"text": [1, 2]}), tmp_path / "n.parquet")
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "s.parquet")
    for match, inputs, output in [
        ("does not exist", tmp_path / "none.txt", "out"),
        ("holds no files", tmp_path / "empty", "out"),
        ("holds no files", str(tmp_path / "*.xyz"), "out"),
        ("there is no input", [], "out"),
        ("lies in the input", tmp_path / "full", "full/out"),
        ("holds something else already", tmp_path / "a.txt", "full"),
        ("holds something else already", tmp_path / "a.txt", "b.csv"),
        ("give files of one format", [tmp_path / "a.txt", tmp_path / "b.csv"], "out"),
        ("has other columns than", [tmp_path / "b.csv", tmp_path / "c.csv"], "out"),
        ("holds int64, not strings", tmp_path / "n.parquet", "out"),
        ("has other columns than", [tmp_path / "s.parquet", tmp_path / "n.parquet"], "out"),
        ("cannot be opened: Protocol not known", "nowhere://a/b", "out"),
    ]:
        with pytest.raises(noppa.NoppaError, match=match):
            encode(inputs, tmp_path / output, model)
    assert (tmp_path / "full" / "mine.txt").read_text() == "precious"


def test_an_empty_file_gives_an_empty_output(tmp_path, model) -> None:
    (tmp_path / "t.txt").touch()
    report = encode(tmp_path / "t.txt", tmp_path / "out", model)
    assert (report.shards, report.rows) == (0, 0)
    assert encode(tmp_path / "t.txt", tmp_path / "out", model).rows == 0

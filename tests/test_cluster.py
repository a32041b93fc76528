"""Shards and parts of noppa.cluster in one process: every input, in order, byte for byte.

What the engines add to that is in test_cluster_engines.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noppa
from noppa.cluster.plan import Inputs
from noppa.files import FORMATS
from noppa.files.columns import Selection
from noppa.files.places import Place
from tests.clusters import TEXTS, encode, expected, saved_model, table, vectors, written
from tests.conftest import AWKWARD

HARD = [*AWKWARD, "日本 café", "tab\tand\u00a0nbsp", *TEXTS]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return saved_model(tmp_path_factory.mktemp("model"))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("form", ["txt", "jsonl", "csv", "tsv", "parquet"])
def test_every_format_keeps_order_and_other_columns(tmp_path, model, form, dtype) -> None:
    texts = [text for text in HARD if form != "tsv" or "\t" not in text]
    if form == "tsv":
        texts = [text.replace("\u000b", "") for text in texts]
    path = written(tmp_path / "in", form, texts)
    report = encode(path, tmp_path / "out", model, dtype=dtype)
    output = table(tmp_path / "out")
    assert report.shards > 3
    assert report.rows == report.records == len(texts) == len(output)
    assert output["text"].to_pylist() == texts
    kind = output.schema.field("embedding").type
    assert pa.types.is_fixed_size_list(kind)
    assert (kind.list_size, kind.value_type) == (12, pa.type_for_alias(dtype))
    assert vectors(output).tobytes() == expected(model, texts).astype(dtype).tobytes()
    if form in ("jsonl", "parquet"):
        assert output["id"].to_pylist() == list(range(len(texts)))
    if form == "jsonl":
        assert [json.loads(tags) for tags in output["tags"].to_pylist()][5] == ["x", 5]
        assert output["other_fields"].null_count == len(texts)
    if form == "parquet":
        assert output["tags"].to_pylist()[7] == [7]
    if form == "csv":
        assert output["note"].to_pylist()[3] == 'a "note",\nin two lines 3'


@pytest.mark.parametrize("form", ["txt", "jsonl", "csv"])
def test_compressed_files_are_read_whole(tmp_path, model, form) -> None:
    path = written(tmp_path / "in", form, TEXTS)
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    report = encode(packed, tmp_path / "out", model)
    assert report.shards == 1
    assert vectors(table(tmp_path / "out")).tobytes() == expected(model, TEXTS).tobytes()


def test_many_files_a_folder_a_pattern_and_an_address(tmp_path, model) -> None:
    folder = tmp_path / "in"
    for at in range(7):
        written(folder, "txt", TEXTS[at * 40 : at * 40 + 40]).rename(folder / f"{at}.txt")
    (folder / "_SUCCESS").touch()
    (folder / ".hidden").write_text("no\n")
    (folder / "empty.txt").touch()
    expected_bytes = expected(model, TEXTS[:280]).tobytes()
    for name, inputs in {
        "folder": folder,
        "pattern": str(folder / "*.txt"),
        "address": f"file://{folder}",
        "list": [folder / f"{at}.txt" for at in range(7)],
    }.items():
        encode(inputs, tmp_path / name, model)
        assert vectors(table(tmp_path / name)).tobytes() == expected_bytes


def test_other_file_systems(model) -> None:
    """Input and output in memory: nothing here knows that it is no disk."""
    source, target = Place.of("memory://noppa/in.jsonl"), Place.of("memory://noppa/out")
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS)
    source.files.pipe_file(source.path, lines.encode())
    assert encode(source.address, target.address, model).shards > 3
    assert encode(source.address, target.address, model).before > 3
    parts = sorted(name for name in target.sizes() if name.startswith("part-"))
    tables = [pq.read_table(io.BytesIO((target / name).content())) for name in parts]
    assert vectors(pa.concat_tables(tables)).tobytes() == expected(model, TEXTS).tobytes()
    source.files.pipe_file(source.path, lines.encode() + b'{"text": "more"}\n')
    with pytest.raises(noppa.NoppaError, match="has changed since"):
        encode(source.address, target.address, model)
    target.files.rm("/noppa", recursive=True)


@given(
    st.lists(st.text(alphabet='ab",\n\r é', max_size=12), min_size=1, max_size=30),
    st.integers(1, 60),
    st.sampled_from(["txt", "csv", "jsonl"]),
)
def test_any_division_gives_every_record_once(lines, size, form) -> None:
    """Wherever a file is cut, its records are those of the file as a whole, in order."""
    if form == "txt":
        lines = [line.replace("\n", " ").replace("\r", " ") for line in lines]
        content = "\n".join(lines) + "\n"
    elif form == "jsonl":
        content = "".join(json.dumps({"text": line}, ensure_ascii=False) + "\n" for line in lines)
    else:
        stream = io.StringIO()
        rows = csv.writer(stream)
        rows.writerow(["n", "text"])
        rows.writerows([str(at), line] for at, line in enumerate(lines))
        content = stream.getvalue()
    place = Place.of(f"memory://any/t.{form}")
    place.files.pipe_file(place.path, content.encode())
    plan = Inputs.of(place.address).plan(size)
    texts = []
    for shard in plan.shards:
        if shard.before is not None:
            assert shard.before == len(texts)
        for batch in shard.batches(plan.fields):
            texts += batch.texts
    assert texts == lines


def test_a_large_row_group_is_divided(tmp_path, model) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"text": pa.array(TEXTS).dictionary_encode()}), path)
    assert encode(path, tmp_path / "dictionary", model, shard_size=500).shards > 3
    pq.write_table(pa.table({"text": pa.array(TEXTS, pa.large_string())}), path)
    assert encode(path, tmp_path / "large", model).shards > 3
    for name in ("dictionary", "large"):
        output = table(tmp_path / name)
        assert output["text"].to_pylist() == TEXTS
        assert vectors(output).tobytes() == expected(model, TEXTS).tobytes()


def test_what_is_kept_and_how_it_is_called(tmp_path, model) -> None:
    path = written(tmp_path / "in", "parquet", TEXTS)
    encode(path, tmp_path / "some", model, keep=["id"], into="vector", normalize=True)
    output = table(tmp_path / "some")
    assert output.column_names == ["id", "vector"]
    unit = noppa.load(model).encode(TEXTS, normalize=True)
    assert vectors(output, "vector").tobytes() == unit.tobytes()
    encode(path, tmp_path / "none", model, keep=[])
    assert table(tmp_path / "none").column_names == ["embedding"]


def test_json_fields_that_come_late_or_change_their_type_are_kept(tmp_path, model) -> None:
    rows = [{"text": "the girl", "n": 1, "x": 1.5, "b": True, "s": "y", "mixed": 1}] * 2000
    rows += [{"text": "a", "n": 2.5, "x": 2, "b": 1, "s": None, "new": {"deep": [1]}, "mixed": "m"}]
    rows += [{"text": "a", "n": 1 << 80, "s": "\ud800"}]
    rows[0] = {**rows[0], "\ud800": 1}
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    encode(path, tmp_path / "out", model, shard_size=1 << 16)
    rows_out = table(tmp_path / "out").to_pylist()
    assert json.loads(rows_out[0]["other_fields"]) == {"\ud800": 1}
    assert [rows_out[0][name] for name in ("n", "x", "b", "s", "mixed")] == [1, 1.5, True, "y", 1]
    assert (rows_out[2000]["x"], rows_out[2000]["n"]) == (2.0, None)
    late = json.loads(rows_out[2000]["other_fields"])
    assert late == {"n": 2.5, "b": 1, "new": {"deep": [1]}, "mixed": "m"}
    assert json.loads(rows_out[2001]["other_fields"]) == {"n": 1 << 80, "s": "\ud800"}


def test_records_are_looked_at_once(tmp_path) -> None:
    """Columns come from the first lines, not from whole files."""
    place = Place.of(tmp_path / "t.jsonl")
    Path(place.path).write_text('{"text": "a", "n": 1}\n' * 5000 + "{broken")
    fields = FORMATS["jsonl"].fields([place], Selection())
    assert fields.schema.names == ["text", "n", "other_fields"]

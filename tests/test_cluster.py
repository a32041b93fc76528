"""Shards, parts and books of noppa.cluster in one process: every input, every policy, every refusal.

What the engines add to that is in test_cluster_engines.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import warnings
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noppa
from noppa import cluster
from noppa.cluster.fields import table_of
from noppa.cluster.models import Model
from noppa.cluster.places import UNFINISHED, Place
from noppa.cluster.plan import found_files, planned
from noppa.cluster.rows import rows_of_shard
from noppa.cluster.tasks import attempt
from noppa.records import Input
from tests.conftest import made_texts, made_words

WORDS = made_words(dim=6)
TEXTS = made_texts(300, WORDS)
HARD = [
    "the girl",
    "",
    "a\u2028cake\u0085 \u000b\u000c\u001c",
    'quotes " and, commas',
    "  spaces  ",
    "cake " * 1000,
    "日本 café",
    "tab\tand\u00a0nbsp",
    *TEXTS,
]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "encoder"
    noppa.Encoder(WORDS, noppa.NoPPA(k=0)).save(path)
    return path


def encode(inputs, output, model, **options):
    return cluster.encode(
        inputs, output, model, **{"engine": "single", "shard_size": 1000, **options}
    )


def table(folder) -> pa.Table:
    """All parts, as any reader of a folder of Parquet sees them."""
    return pa.dataset.dataset(str(folder), format="parquet").to_table()


def vectors(found: pa.Table, name: str = "embedding") -> np.ndarray:
    column = found[name].combine_chunks()
    return np.asarray(column.flatten()).reshape(len(column), -1)


def expected(model, texts) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return noppa.load(model).encode(texts)


def written(folder: Path, form: str, texts: list[str]) -> Path:
    """Records of every format, with a number and an awkward column beside the text."""
    folder.mkdir(exist_ok=True)
    path = folder / f"t.{form}"
    if form == "txt":
        path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8", newline="")
    elif form == "jsonl":
        rows = [{"id": at, "text": text, "tags": ["x", at]} for at, text in enumerate(texts)]
        path.write_text(
            "".join(json.dumps(row, ensure_ascii=at % 2 == 0) + "\n" for at, row in enumerate(rows)),
            encoding="utf-8", newline="",
        )  # fmt: skip
    elif form in ("csv", "tsv"):
        with path.open("w", encoding="utf-8", newline="") as file:
            if form == "csv":
                rows = csv.writer(file)
                rows.writerow(["id", "text", "note"])
                for at, text in enumerate(texts):
                    rows.writerow([at, text, f'a "note",\nin two lines {at}'])
            else:
                file.write("id\ttext\tnote\n")
                file.writelines(f'{at}\t{text}\t"{at}\n' for at, text in enumerate(texts))
    else:
        rows = {"id": range(len(texts)), "text": texts, "tags": [[at] for at in range(len(texts))]}
        pq.write_table(pa.table(rows), path, row_group_size=37)
    return path


# Every format, in order, byte for byte


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("form", ["txt", "jsonl", "csv", "tsv", "parquet"])
def test_every_format_keeps_order_and_other_columns(tmp_path, model, form, dtype) -> None:
    texts = [text for text in HARD if form != "tsv" or "\t" not in text]
    if form == "tsv":
        texts = [text.replace("\u000b", "") for text in texts]
    path = written(tmp_path / "in", form, texts)
    report = encode(path, tmp_path / "out", model, dtype=dtype)
    found = table(tmp_path / "out")
    assert report.shards > 3
    assert report.rows == report.records == len(texts) == len(found)
    assert found["text"].to_pylist() == texts
    kind = found.schema.field("embedding").type
    assert pa.types.is_fixed_size_list(kind)
    assert (kind.list_size, kind.value_type) == (12, pa.type_for_alias(dtype))
    assert vectors(found).tobytes() == expected(model, texts).astype(dtype).tobytes()
    if form in ("jsonl", "parquet"):
        assert found["id"].to_pylist() == list(range(len(texts)))
    if form == "jsonl":
        assert [json.loads(tags) for tags in found["tags"].to_pylist()][5] == ["x", 5]
        assert found["other_fields"].null_count == len(texts)
    if form == "parquet":
        assert found["tags"].to_pylist()[7] == [7]
    if form == "csv":
        assert found["note"].to_pylist()[3] == 'a "note",\nin two lines 3'


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
    wanted = expected(model, TEXTS[:280]).tobytes()
    for name, inputs in {
        "folder": folder,
        "pattern": str(folder / "*.txt"),
        "address": f"file://{folder}",
        "list": [folder / f"{at}.txt" for at in range(7)],
    }.items():
        encode(inputs, tmp_path / name, model)
        assert vectors(table(tmp_path / name)).tobytes() == wanted


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


@settings(deadline=None)
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
    wanted = Input([place.address])
    plan = planned(found_files(wanted), wanted, size)
    texts = [text for shard in plan.shards for rows in rows_of_shard(shard, plan.fields) for text in rows.texts]  # fmt: skip
    assert texts == lines
    counted = 0
    for shard in plan.shards:
        if shard.before is not None:
            assert shard.before == counted
        counted += sum(len(rows.texts) for rows in rows_of_shard(shard, plan.fields))


def test_a_large_row_group_is_divided(tmp_path, model) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"text": pa.array(TEXTS).dictionary_encode()}), path)
    assert encode(path, tmp_path / "dictionary", model, shard_size=500).shards > 3
    pq.write_table(pa.table({"text": pa.array(TEXTS, pa.large_string())}), path)
    assert encode(path, tmp_path / "large", model).shards > 3
    for name in ("dictionary", "large"):
        found = table(tmp_path / name)
        assert found["text"].to_pylist() == TEXTS
        assert vectors(found).tobytes() == expected(model, TEXTS).tobytes()


def test_what_is_kept_and_how_it_is_called(tmp_path, model) -> None:
    path = written(tmp_path / "in", "parquet", TEXTS)
    encode(path, tmp_path / "some", model, keep=["id"], into="vector", normalize=True)
    found = table(tmp_path / "some")
    assert found.column_names == ["id", "vector"]
    unit = noppa.load(model).encode(TEXTS, normalize=True)
    assert vectors(found, "vector").tobytes() == unit.tobytes()
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
    found = table(tmp_path / "out").to_pylist()
    assert json.loads(found[0]["other_fields"]) == {"\ud800": 1}
    assert [found[0][name] for name in ("n", "x", "b", "s", "mixed")] == [1, 1.5, True, "y", 1]
    assert (found[2000]["x"], found[2000]["n"]) == (2.0, None)
    late = json.loads(found[2000]["other_fields"])
    assert late == {"n": 2.5, "b": 1, "new": {"deep": [1]}, "mixed": "m"}
    assert json.loads(found[2001]["other_fields"]) == {"n": 1 << 80, "s": "\ud800"}


# Bad records

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


@pytest.mark.parametrize("size", [40, 1 << 20])
@pytest.mark.parametrize("on_bad", ["empty", "drop"])
def test_bad_records_are_counted_and_listed(tmp_path, model, on_bad, size) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\n".join(line for line, _ in BAD) + b"\n")
    report = encode(path, tmp_path / "out", model, on_bad=on_bad, shard_size=size)
    faults = [(at, fault) for at, (_, fault) in enumerate(BAD, 1) if fault]
    listed = [json.loads(line) for line in Path(report.bad_rows).read_text().splitlines()]
    assert [row["row"] for row in listed] == [at for at, _ in faults]
    assert {row["file"] for row in listed} == {str(path)}
    for row, (_, fault) in zip(listed, faults, strict=True):
        assert fault in row["found"]
    assert report.bad == len(faults)
    assert report.records == len(BAD)
    good = ["the girl", "a plain cake"]
    texts = good if on_bad == "drop" else ["the girl", *[""] * len(faults), "a plain cake"]
    assert report.rows == len(texts)
    assert vectors(table(tmp_path / "out")).tobytes() == expected(model, texts).tobytes()
    again = encode(path, tmp_path / "out", model, on_bad=on_bad)
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
    with pytest.raises(noppa.NoppaError, match=r"record 208: .*; mend it, or pass --on-bad empty"):
        encode(path, tmp_path / "out", model)
    report = encode(path, tmp_path / "other", model, on_bad="empty")
    assert json.loads(Path(report.bad_rows).read_text())["row"] == 208


# Books: resume, rest, refuse


def files_in(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in folder.rglob("*")
    }


def test_a_second_run_does_nothing(tmp_path, model) -> None:
    path = written(tmp_path / "in", "txt", TEXTS)
    first = encode(path, tmp_path / "out", model)
    before = files_in(tmp_path / "out")
    second = encode(path, tmp_path / "out", model, shard_size=77)
    assert files_in(tmp_path / "out") == before
    assert second.before == second.shards == first.shards
    assert (second.rows, second.bytes) == (first.rows, first.bytes)


def test_a_part_that_was_lost_or_cut_is_made_again(tmp_path, model) -> None:
    path = written(tmp_path / "in", "txt", TEXTS)
    encode(path, tmp_path / "out", model)
    whole = {part.name: part.read_bytes() for part in (tmp_path / "out").glob("*.parquet")}
    (tmp_path / "out" / "part-000001.parquet").unlink()
    (tmp_path / "out" / "part-000002.parquet").write_bytes(b"cut")
    (tmp_path / "out" / f"{UNFINISHED}left").write_bytes(b"of a killed worker")
    report = encode(path, tmp_path / "out", model)
    assert report.before == report.shards - 2
    assert {part.name: part.read_bytes() for part in (tmp_path / "out").glob("*.parquet")} == whole
    assert not list((tmp_path / "out").glob(f"{UNFINISHED}*"))


def test_a_lost_part_beside_bad_records_is_made_again(tmp_path, model) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"text": "the girl"}\n{"text": null}\n' * 50)
    report = encode(path, tmp_path / "out", model, on_bad="drop", shard_size=500)
    listed = Path(report.bad_rows).read_text()
    (tmp_path / "out" / "part-000001.parquet").unlink()
    again = encode(path, tmp_path / "out", model, on_bad="drop")
    assert (again.before, again.bad) == (report.shards - 1, report.bad)
    assert Path(again.bad_rows).read_text() == listed
    assert [json.loads(line)["row"] for line in listed.splitlines()] == list(range(2, 101, 2))


def test_a_failed_run_goes_on_where_it_was(tmp_path, model, monkeypatch) -> None:
    """Every write may fail once: whatever was done before is kept, and the end is the same."""
    path = written(tmp_path / "in", "txt", TEXTS)
    done, limit = 0, 0
    real = os.replace

    def failing(old, new):
        nonlocal done
        done += 1
        if done > limit:
            raise OSError(28, "No space left on device")
        real(old, new)

    monkeypatch.setattr(os, "replace", failing)
    for allowed in (0, 1, 4, 6):
        done, limit = 0, allowed
        with pytest.raises(noppa.NoppaError, match="No space left on device"):
            encode(path, tmp_path / "out", model)
        assert not list((tmp_path / "out").rglob(f"{UNFINISHED}*"))
    limit = 1 << 30
    report = encode(path, tmp_path / "out", model)
    assert 0 < report.before < report.shards
    found = table(tmp_path / "out")
    assert found["text"].to_pylist() == TEXTS
    assert vectors(found).tobytes() == expected(model, TEXTS).tobytes()


def test_changes_are_noticed_and_refused(tmp_path, model) -> None:
    path = written(tmp_path / "in", "txt", TEXTS)
    out = tmp_path / "out"
    encode(path, out, model)
    other = tmp_path / "other"
    noppa.Encoder(made_words(dim=6, seed=1), noppa.NoPPA(k=0)).save(other)
    for match, call in {
        "another model": lambda: encode(path, out, other),
        "another set of options": lambda: encode(path, out, model, dtype="float16"),
        "another column": lambda: encode(path, out, model, column="body"),
        "another input": lambda: encode([path, path], out, model),
    }.items():
        with pytest.raises(noppa.NoppaError, match=f"was begun with {match}: give the same again"):
            call()
    path.write_text(path.read_text() + "one more\n")
    with pytest.raises(noppa.NoppaError, match=r"t\.txt has changed since .*out was begun"):
        encode(path, out, model)


def test_an_input_that_changes_while_it_is_read_is_noticed(tmp_path, model) -> None:
    path = written(tmp_path / "in", "txt", TEXTS)
    with pytest.raises(noppa.NoppaError, match="was changed while it was read"):
        encode(path, tmp_path / "out", model, progress=lambda *_: os.utime(path, (1, 1)))


# What a user can do wrong


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
        ("t.txt", b"a\n", {"on_bad": "skip"}, "on_bad must be one of error, empty, drop"),
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


# The model


def test_the_model_is_found_by_its_checksum(tmp_path, model) -> None:
    """At its path; in the package, wherever that is; else where it was sent; and never another one in its place."""
    embedded = Model.of(noppa.load("similarity"))
    moved = Model(embedded.checksum, "/nowhere")
    assert moved.open().path == noppa.load("similarity").path
    found = Model.of(noppa.load(model))
    lost = Model(found.checksum, str(tmp_path / "gone"))
    with pytest.raises(noppa.NoppaError, match="no encoder with the checksum"):
        lost.open()
    for target in (Place.of(tmp_path / "books"), Place.of("memory://books")):
        sent = Model(found.checksum, found.path).send(target)
        again = Model(sent.checksum, "/nowhere", sent.sent).open()
        assert again.encode(["the girl"]).tobytes() == expected(model, ["the girl"]).tobytes()
    preset = embedded.send(Place.of(tmp_path / "books"))
    assert Path(preset.sent, "noppa.json").is_file()
    assert noppa.load(preset.sent).encode("a cake").tobytes() == (
        noppa.load("similarity").encode("a cake").tobytes()
    )


def test_workers_take_the_instruction_set_of_the_driver(model) -> None:
    kernels = noppa.backend.kernels
    before = kernels.instruction_set()
    try:
        for name in kernels.instruction_sets():
            found = replace(Model.of(noppa.load(model)), instructions=name)
            found.open()
            assert kernels.instruction_set() == name
        with pytest.raises(
            noppa.NoppaError, match=r"lacks the instruction set v9, .* set NOPPA_ISA="
        ):
            replace(found, instructions="v9").open()
    finally:
        kernels.use_instruction_set(before)


def test_workers_without_the_model_are_sent_it(tmp_path, model, monkeypatch) -> None:
    """An engine whose workers see the output, but not the folder that the model came from."""
    seen = []

    @contextmanager
    def elsewhere(scheduler, workers):
        def run(job, shards, tick):
            for shard in shards:
                there = replace(job, model=replace(job.model, path="/nowhere"))
                outcome = attempt(there, shard)
                seen.append("missing" in outcome)
                yield outcome

        yield run

    monkeypatch.setitem(cluster.ENGINES, "elsewhere", elsewhere)
    path = written(tmp_path / "in", "txt", TEXTS)
    report = encode(path, tmp_path / "out", model, engine="elsewhere")
    assert seen == [True] * report.shards + [False] * report.shards
    assert vectors(table(tmp_path / "out")).tobytes() == expected(model, TEXTS).tobytes()
    assert not list((tmp_path / "out" / "_noppa").glob("model-*"))


def test_workers_that_write_elsewhere_are_noticed(tmp_path, model, monkeypatch) -> None:
    """A folder of the same name on another machine."""

    @contextmanager
    def elsewhere(scheduler, workers):
        def run(job, shards, tick):
            for shard in shards:
                yield attempt(replace(job, output=str(tmp_path / "there")), shard)

        yield run

    monkeypatch.setitem(cluster.ENGINES, "elsewhere", elsewhere)
    path = written(tmp_path / "in", "txt", TEXTS)
    (tmp_path / "there" / "_noppa" / "done").mkdir(parents=True)
    with pytest.raises(noppa.NoppaError, match="choose a folder that all machines see"):
        encode(path, tmp_path / "out", model, engine="elsewhere")


def test_an_encoder_in_memory_must_be_saved_first(tmp_path) -> None:
    (tmp_path / "t.txt").write_text("a\n")
    with pytest.raises(noppa.NoppaError, match="save it first"):
        encode(tmp_path / "t.txt", tmp_path / "out", noppa.Encoder(WORDS, noppa.NoPPA(k=0)))


def test_records_are_looked_at_once(tmp_path) -> None:
    """`table_of` reads heads, not files."""
    place = Place.of(tmp_path / "t.jsonl")
    Path(place.path).write_text('{"text": "a", "n": 1}\n' * 5000 + "{broken")
    fields, _ = table_of([place], "jsonl", Input([place.address]), None, None)
    assert fields.schema.names == ["text", "n", "other_fields"]

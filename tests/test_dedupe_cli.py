"""`noppa dedupe`: records with all their columns, in every format, and what a user can get wrong."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from typer.testing import CliRunner, Result

from noppa.cli import program

ROWS = [
    {"id": "1", "body": "a red car on the road", "note": 'said "x", y'},
    {"id": "2", "body": "the sea is calm today", "note": "two\nlines"},
    {"id": "3", "body": "A red car on the road!", "note": ""},
    {"id": "4", "body": "the sea is calm today", "note": "z"},
    {"id": "5", "body": "two dogs play in the snow", "note": "é"},
]
KEPT = ["1", "2", "5"]


def run(*arguments: object, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(program("dedupe"), ["dedupe", *map(str, arguments)], input=stdin)


def write_rows(path: Path) -> Path:
    """Write the rows in the format of the name."""
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), path, row_group_size=2)
        return path
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".jsonl":
            file.writelines(json.dumps(row) + "\n" for row in ROWS)
        elif path.suffix == ".tsv":
            file.writelines(["id\tbody\n", *(f"{row['id']}\t{row['body']}\n" for row in ROWS)])
        else:
            csv.writer(file).writerows([ROWS[0], *(row.values() for row in ROWS)])
    return path


def read_rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        rows: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
        return rows
    with path.open(encoding="utf-8", newline="") as file:
        if path.suffix == ".jsonl":
            return [json.loads(line) for line in file]
        return list(csv.DictReader(file, delimiter="," if path.suffix == ".csv" else "\t"))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_records_stay_as_they_are(tmp_path: Path, suffix: str) -> None:
    given = write_rows(tmp_path / f"in.{suffix}")
    output = tmp_path / f"out.{suffix}"
    result = run(given, "--column", "body", "-o", output)
    assert result.exit_code == 0, result.output
    before = {row["id"]: row for row in read_rows(given)}
    assert read_rows(output) == [before[number] for number in KEPT]
    assert "3 of 5 records kept, 2 duplicates (1 exact)" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [given.name, output.name]


def test_the_removed_say_why(tmp_path: Path) -> None:
    given = write_rows(tmp_path / "in.csv")
    arguments = (given, "-c", "body", "-o", tmp_path / "out.csv")
    assert run(*arguments, "--removed", tmp_path / "removed.csv").exit_code == 0
    rows = read_rows(tmp_path / "removed.csv")
    assert [(row["row"], row["repeats"], row["in_reference"]) for row in rows] == [
        ("3", "1", "False"),
        ("4", "2", "False"),
    ]
    assert rows[0]["words"] == "a red car on the road"
    assert rows[1]["repeated_text"] == "the sea is calm today"


def test_a_reference(tmp_path: Path) -> None:
    given = write_rows(tmp_path / "in.csv")
    known = tmp_path / "known.csv"
    known.write_text("body\nzzz\nthe sea is calm today\n", encoding="utf-8")
    arguments = (given, "-c", "body", "-o", tmp_path / "out.csv", "--reference", known)
    assert run(*arguments, "--removed", tmp_path / "removed.jsonl").exit_code == 0
    assert [row["id"] for row in read_rows(tmp_path / "out.csv")] == ["1", "5"]
    first = read_rows(tmp_path / "removed.jsonl")[0]
    assert (first["row"], first["repeats"], first["in_reference"]) == (2, 2, True)


def test_down_to_a_number(tmp_path: Path) -> None:
    given = write_rows(tmp_path / "in.csv")
    result = run(given, "-c", "body", "-o", tmp_path / "out.csv", "--keep", 4)
    assert result.exit_code == 0
    assert [row["id"] for row in read_rows(tmp_path / "out.csv")] == ["1", "2", "3", "5"]


def test_a_pipe() -> None:
    texts = "a red car\nthe sea\n\na red car\n"
    result = run(stdin=texts.encode())
    assert result.exit_code == 0
    assert result.stdout == "a red car\nthe sea\n\n"


def test_bad_records(tmp_path: Path) -> None:
    given = tmp_path / "in.csv"
    given.write_bytes(b"id,body\n1,the sea\n2\n3,\xff\xfe\n4,the sea\n5,\xe9t\xe9\n")
    output = tmp_path / "out.csv"
    result = run(given, "-c", "body", "-o", output)
    assert "row 2: it has 1 columns" in str(result.exception)
    assert not output.exists()
    result = run(
        given, "-c", "body", "-o", output, "--on-error", "skip", "--removed", tmp_path / "r.csv"
    )
    assert output.read_bytes() == b"id,body\n1,the sea\n"
    assert "3 of 5 records were bad and skipped" in result.stderr
    assert [row["row"] for row in read_rows(tmp_path / "r.csv")] == ["4"]
    # As empty texts, of which the first is kept.
    assert run(given, "-c", "body", "-o", output, "--on-error", "empty").exit_code == 0
    assert output.read_bytes() == b"id,body\n1,the sea\n2\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in.csv", "-c", "body", "-o", "in.csv"], "in.csv is an input"),
        (["in.csv", "-c", "body", "-o", "out.csv", "--removed", "in.csv"], "in.csv is an input"),
        (["in.csv", "-c", "body", "-o", "out.csv", "--removed", "out.csv"], "--output and --removed are both"),
        (["in.csv", "-c", "body", "-o", "out.csv", "--removed", "r.txt"], "end the name in .csv"),
        (["in.csv", "-c", "body", "-o", "out.jsonl"], "use the same format"),
        (["in.csv", "-c", "body", "-o", "out.csv.gz"], "the output is not compressed"),
        (["in.csv", "-c", "nobody", "-o", "out.csv"], "has no column 'nobody'"),
        (["in.csv", "-c", "body", "--reference", "gone.csv"], "gone.csv does not exist"),
        (["in.csv", "-c", "body", "-o", "out.csv", "--threshold", "0.1"], "from 0.5 to 1, not 0.1"),
        (["in.csv", "--threshold", "0.8", "--keep", "3"], "--threshold or --keep, not both"),
        (["in.csv", "-c", "body", "-o", "out.csv", "--keep", "1"], "rows differ even at a threshold"),
        (["in.csv", "lines.txt", "-c", "body", "-o", "out.csv"], "lines.txt is read as plain lines"),
        (["in.csv", "lines.txt", "-o", "out.csv"], "the inputs are csv and lines"),
        (["in.parquet", "-c", "body"], "parquet cannot be written to standard output"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence_and_write_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(Path("in.csv"))
    write_rows(Path("in.parquet"))
    Path("lines.txt").write_text("a\n", encoding="utf-8")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    result = run(*arguments)
    assert result.exit_code != 0
    told = " ".join((result.stderr + str(result.exception)).replace("│", " ").split())
    assert message in told
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_input_that_changes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = write_rows(tmp_path / "in.csv")
    import noppa.cli.dedupe as command

    def change(*arguments: Any) -> Any:
        os.truncate(given, 20)
        return compare(*arguments)

    compare = command.compare
    monkeypatch.setattr(command, "compare", change)
    result = run(given, "-c", "body", "-o", tmp_path / "out.csv")
    assert "changed while it was read" in str(result.exception)
    assert not (tmp_path / "out.csv").exists()

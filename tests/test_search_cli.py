"""`noppa index` and `noppa search`: files of all kinds with their other fields, changes, filters, and what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import noppa
from noppa.cli import program
from noppa.errors import NoppaError
from noppa.search import storage
from tests.conftest import made_texts, made_words
from tests.serving import made_encoder

ROWS: list[dict[str, Any]] = [
    {"key": "a1", "body": "the girl eats a cake", "year": 2021, "lang": "en", "price": 2.5},
    {"key": "b2", "body": "a boy eats", "year": 2019, "lang": "en", "price": None},
    {"key": "c3", "body": "café and cake", "year": 2022, "lang": "fr", "price": 7.0},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    made_encoder(tmp_path / "model")
    return tmp_path


def written(form: str) -> str:
    """The rows in a file of that format."""
    path = Path(f"rows.{form}")
    if form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    elif form == "parquet":
        import pyarrow
        import pyarrow.parquet as parquet

        parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
    else:
        mark = "," if form == "csv" else "\t"
        lines = [mark.join(ROWS[0])]
        lines += [mark.join("" if v is None else str(v) for v in row.values()) for row in ROWS]
        path.write_text("\n".join(lines) + "\n")
    return str(path)


def run(line: str, code: int = 0, stdin: str | None = None) -> str:
    """The output of a command; the message of the error that it ends with."""
    result = CliRunner().invoke(program(), line.split("|"), input=stdin)
    assert result.exit_code == code, (result.output, result.exception)
    if code and isinstance(result.exception, NoppaError):
        return str(result.exception)
    return result.output


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "parquet"])
def test_other_fields_are_kept(folder: Path, form: str) -> None:
    made = run(f"index|{written(form)}|--column|body|--id|key|-o|idx|-m|model")
    assert made == "idx: 3 texts of 12 dimensions\n"
    index = noppa.Index.open("idx")
    for row in ROWS:
        kept = {n: v for n, v in row.items() if n not in ("key", "body") and v is not None}
        assert index.get(row["key"]) == (row["key"], row["body"], kept)
    found = run("search|idx|cake|--where|year > 2020 and lang = en|--json")
    (hit,) = map(json.loads, found.splitlines())
    assert (hit["id"], hit["metadata"]["year"]) == ("a1", 2021)
    assert run("search|idx|cake|--where|year > 2020|--where|price missing", 1).startswith(
        "noppa: nothing was found: no text satisfies where"
    )


def test_numbers_in_tables_are_numbers_where_they_are_written_so(folder: Path) -> None:
    Path("t.csv").write_text("text,a,b,c,d\ncake,007,-5,1.50,1e5\n")
    run("index|t.csv|-o|idx|-m|model")
    assert noppa.Index.open("idx").get("1").metadata == {"a": "007", "b": -5, "c": 1.5, "d": "1e5"}
    Path("t.csv").write_text("cake,5\n")
    run("index|t.csv|-c|1|--from|csv:header=no|-o|idx|-m|model")
    assert noppa.Index.open("idx").get("1").metadata == {"2": 5}


def test_an_index_grows_and_shrinks(folder: Path) -> None:
    run(f"index|{written('csv')}|--column|body|-o|idx|-m|model")
    assert run("index|add|idx", stdin="more cake\n") == "idx: 1 text added, 4 in all\n"
    assert run("index|delete|idx|1|2") == "idx: 2 texts left\n"
    assert "no text with the id '9'" in run("index|delete|idx|4|9", 1)
    assert "an id must consist of printable characters, not ''" in run("index|delete|idx|", 1)
    assert run("index|delete|idx|-", stdin="4\n") == "idx: 1 text left\n"
    facts = json.loads(run("index|info|idx|--json"))
    assert (facts["texts"], facts["deleted"], facts["dtype"]) == (1, 2, "float16")
    assert "encoder" in run("index|info|idx")
    assert run("index|compact|idx").startswith("idx: 1 text, ")
    assert json.loads(run("index|info|idx|--json"))["deleted"] == 0
    assert run("search|idx|cake|-n|1").split("\t")[1] == "3"
    # made anew in place of the old one
    run(f"index|{written('jsonl')}|--column|body|-o|idx|-m|model")
    assert len(noppa.Index.open("idx")) == 3
    assert sorted(path.name for path in folder.iterdir()) == ["idx", "model", "rows.csv", "rows.jsonl"]  # fmt: skip


def test_a_file_and_an_index_of_it_find_the_same(folder: Path) -> None:
    texts = [*made_texts(300, made_words(dim=8, extra=40)), "the girl eats a delicious cake"]
    Path("corpus.txt").write_text("\n".join(texts) + "\n")
    query = "a girl eats cake"
    found = run(f"search|corpus.txt|{query}|-m|model|-n|3").splitlines()
    cosines = noppa.load("model").similarity([query], texts)[0]
    for line, row in zip(found, np.argsort(-cosines, kind="stable")[:3], strict=True):
        cosine, number, text = line.split("\t")
        assert float(cosine) == pytest.approx(cosines[row], abs=1e-4)
        assert texts[int(number) - 1] == text
    run("index|corpus.txt|-o|idx|-m|model")  # float16, so scores differ in the last digits

    def without_scores(output: str) -> list[str]:
        return [line.partition("\t")[2] for line in output.splitlines()]

    meaning = run(f"search|idx|{query}|-n|3|--mode|meaning")
    assert without_scores(meaning) == without_scores("\n".join(found))
    hybrid = run(f"search|corpus.txt|{query}|-m|model|--mode|hybrid")
    assert without_scores(run(f"search|idx|{query}")) == without_scores(hybrid)


def test_why(folder: Path) -> None:
    run(f"index|{written('csv')}|--column|body|-o|idx|-m|model")
    shown = run("search|idx|a cake|-n|1|--explain")
    assert "words, BM25" in shown
    assert "cake~cake" in shown
    (hit,) = map(json.loads, run("search|idx|a cake|-n|1|--explain|--json").splitlines())
    why = hit["why"]
    assert sum(why["terms"].values()) == pytest.approx(hit["bm25"], abs=1e-5)
    assert sum(share for _, _, share in why["nearest"]) == pytest.approx(hit["overlap"], abs=1e-5)
    parts = why["word weight"] * hit["bm25"] + why["overlap weight"] * hit["overlap"]
    assert hit["score"] == pytest.approx(hit["cosine"] + parts, abs=1e-3)  # vectors of float16


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("search|idx||-n|3", "nothing was found: the query is empty"),
        ("search|idx|unheard", "nothing was found: no word of 'unheard' is known"),
        ("search|rows.csv|unheard|-c|body|-m|model", "nothing was found: no word of 'unheard'"),
        ("search|idx|cake|--where|year >", "cannot parse the filter"),
        ("search|idx|cake|-m|similarity", "made with another encoder than similarity"),
        ("search|model|cake", "holds a saved encoder, not a saved text index"),
        ("search|none|cake", "none does not exist"),
        ("index|add|none|rows.csv", "none does not exist"),
        ("index|add|idx|rows.csv|--column|body|--id|key", "the id 'a1' is already in the index"),
        ("index|add|idx|rows.csv|--column|body|--id|price", "has no 'price' for its id"),
        ("index|rows.csv|--column|body|-o|rows.csv", "choose another output"),
        ("index|rows.csv|--column|body|-o|other", "other exists and is not an index"),
    ],
)
def test_bad_input_is_one_sentence(folder: Path, line: str, message: str) -> None:
    (folder / "other").mkdir()
    run(f"index|{written('csv')}|--column|body|--id|key|-o|idx|-m|model")
    found = run(line, 1)
    assert message in found
    assert "\n" not in found.strip()
    assert len(noppa.Index.open("idx")) == 3


def test_an_index_that_is_being_written_is_not_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "PATIENCE", 0.05)
    line = f"index|{written('csv')}|--column|body|-o|idx|-m|model"
    run(line)
    with storage.IndexStorage(folder / "idx").lock():
        assert "another process is writing" in run(line, 1)
        assert len(run("search|idx|cake").splitlines()) == 3

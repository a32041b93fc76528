"""Run `noppa paper` and `noppa compare`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noppa
from noppa.paper import TASKS, read, records, report, study
from noppa.paper.study import Search, Study, Words
from tests.conftest import made_words
from tests.made_senteval import BAD, GOOD, write_folder

NOPPA = [sys.executable, "-c", "import noppa.cli; noppa.cli.main()"]


def run(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*NOPPA, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_words(folder: Path, **options: int) -> Path:
    """Write word vectors and their counts; return the file of vectors."""
    words = made_words(**options)
    np.save(folder / "words.npy", words.matrix)
    (folder / "words.vocab.txt").write_text("\n".join(words.words) + "\n", "utf-8")
    counts = "".join(f"{word} {10**6 // (at + 1)}\n" for at, word in enumerate(words.words))
    (folder / "counts.txt").write_text(counts, "utf-8")
    return folder / "words.npy"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with small tasks, word vectors with counts, and a saved model."""
    folder = write_folder(tmp_path_factory.mktemp("place"))
    write_words(folder, dim=8)
    noppa.Encoder(made_words(dim=8), noppa.SIF(components=0)).save(folder / "model")
    return folder


def score(place: Path, out: Path, *more: object, code: int = 0) -> str:
    command = ["paper", "score", "--data", place, "--unchecked", "--jobs", 2, "-o", out]
    command += ["--vectors", place / "words.npy", "--counts", place / "counts.txt"]
    done = run(*command, *more, code=code)
    return done.stdout if code == 0 else done.stderr.replace("\n", " ")


def test_records_hold_everything_to_reproduce_them(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    table = score(place, out, "-p", "a=0.1", "-p", "k=2", "--tasks", "CR,STS-B")
    rows = rows_of(out)
    assert [row["task"] for row in rows] == ["CR", "STS-B"]
    for row in rows:
        assert row["encoder"] == "NoPPA(a=0.1, k=2)"
        assert (row["protocol"], row["seed"], row["checked"]) == ("fast", 1111, False)
        assert row["metric"] in ("accuracy", "spearman")
        assert row["fitted_on"] == "train text"
        assert row["vectors"]["file"] == "words.npy"
        assert len(row["vectors"]["sha256"]) == 64
        assert {"noppa", "numpy", "python"} <= set(row["versions"])
        assert {"commit", "machine", "seconds", "cpu_seconds", "parameters"} <= set(row)
        assert all(len(digest) == 64 for digest in row["data"].values())
        assert f"| {row['score']:.2f} |" in table


def test_jobs_change_no_bit(place: Path, tmp_path: Path) -> None:
    results = []
    for jobs in (1, 2):
        out = tmp_path / f"{jobs}.jsonl"
        tasks = ["--tasks", "CR,SICK-E", "--protocol", "senteval"]
        score(place, out, "-p", "k=2", *tasks, "--jobs", jobs)
        times = ("seconds", "cpu_seconds")
        results.append([{k: v for k, v in row.items() if k not in times} for row in rows_of(out)])
    assert results[0] == results[1]


def test_the_experiments_run_and_resume(place: Path, tmp_path: Path) -> None:
    """Every part runs in its quick form; a second run repeats only what is missing."""
    write_words(tmp_path, dim=16, extra=200)
    (tmp_path / "corpus.txt").write_text("the girl eats a cake\na boy is eating\n" * 9, "utf-8")
    out = tmp_path / "out"
    command = ["paper", "run", "--data", place, "--vectors", tmp_path / "words.npy", "--counts"]
    command += [tmp_path / "counts.txt", "--corpus", tmp_path / "corpus.txt", "--quick"]
    command += ["--tasks", "TREC,SICK-R", "--unchecked", "--jobs", 1, "-o", out]
    command += ["--encoded", lengths_of_texts(place, tmp_path / "lengths.npy")]
    first = run(*command).stdout
    files = sorted(out.iterdir())
    assert [file.stem for file in files] == sorted(f"paper_{name}" for name in study.PARTS)
    assert re.search(r"replay +6 rows left", first)
    before = {file: file.read_bytes() for file in files}
    *kept, lost = before[out / "paper_fast.jsonl"].splitlines(keepends=True)
    (out / "paper_fast.jsonl").write_bytes(b"".join(kept))
    assert re.search(r"fast +1 rows left", run(*command).stdout)
    assert rows_of(out / "paper_fast.jsonl")[-1]["score"] == json.loads(lost)["score"]
    for file in (file for file in files if file.stem != "paper_fast"):
        assert file.read_bytes() == before[file]
    replay = out / "paper_replay.jsonl"
    authors = [row for row in rows_of(replay) if row["selected_on"] == "test"]
    assert all(row["transductive"] and row["protocol"] == "senteval" for row in authors)
    assert authors[0]["parameters"]["noise"] == authors[0]["parameters"]["position"] == "reference"
    (external,) = (row for row in rows_of(out / "paper_senteval.jsonl") if row["vectors"] is None)
    assert (external["encoder"], external["fitted_on"]) == ("lengths", "nothing")
    selections = [row for row in rows_of(replay) if "search" in row]
    changed = json.loads(json.dumps(selections[0]))
    changed["parameters"]["kernel"] = "abs"
    for rows, left in ((selections, 0), (selections[:1], 3), ([changed, selections[1]], 3)):
        replay.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        assert re.search(rf"replay +{left} rows left", run(*command, "--part", "replay").stdout)
    run(*command, "--part", "nothing", code=2)
    uncounted = run(*command[:6], "-o", out, code=2).stderr.replace("\n", " ")
    assert "words.npy has no word probabilities" in uncounted
    (tmp_path / "lengths.txt").write_text("one\ntwo\none\n", "utf-8")
    again = [*command, "--part", "fast", "-o", tmp_path / "again"]
    message = run(*again, code=1).stderr.replace("\n", " ")
    assert "lengths.npy has the shape" in message
    assert "2 distinct texts: give one row per text" in message


def lengths_of_texts(data: Path, file: Path) -> Path:
    """Write vectors of the texts of two tasks, as another program would."""
    tasks = (TASKS["TREC"], TASKS["SICK-R"])
    parts = [part for task in tasks for part in read(data, task).values()]
    texts = sorted({text for part in parts for row in part for text in row.texts})
    np.save(file, np.array([[len(text), text.count(" "), 1] for text in texts], np.float32))
    file.with_suffix(".txt").write_text("\n".join(texts) + "\n", "utf-8")
    return file


def test_every_point_of_every_grid_is_a_method() -> None:
    words = made_words(dim=300)
    for item in study.tuned(Study("nowhere", [Words(words, words, {})], [TASKS["TREC"]])):
        assert isinstance(item, Search)
        ((name, choices),) = item.ranges.items()
        for choice in choices:
            candidate = item.make({name: choice})
            assert candidate.to_dict()[name] == pytest.approx(float(choice))


def test_a_saved_model_is_scored_as_it_is(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    command = ["paper", "score", "--data", place, "-m", place / "model", "--unchecked", "-o", out]
    run(*command, "--tasks", "SICK-R,STS-B")
    assert [row["fitted_on"] for row in rows_of(out)] == ["nothing", "nothing"]


def test_breaches_of_the_honest_protocol_are_labelled() -> None:
    row = {"task": "TREC", "score": 80.0, "encoder": "A", "protocol": "fast", "checked": False}
    rows = [
        row | {"transductive": True},
        row | {"selected_on": "test", "checked": True},
    ]
    for text in (report.markdown(rows), report.page(rows)):
        assert "A [transductive, unchecked data]" in text
        assert "A [selected on test]" in text


def test_reports(tmp_path: Path) -> None:
    """Reports are made from the rows alone; the last row of a run counts, and seeds give a deviation."""
    out = tmp_path / "results.jsonl"
    for number, task in enumerate(["MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC", "SICK-E"]):
        row = {"task": task, "encoder": "A & B_<x>", "protocol": "fast"}
        records.append(out, row | {"score": 50.0})
        records.append(out, row | {"score": 80 + number})
    for seed in (1, 2):
        row = {"task": "MR", "score": 50.0 + seed, "encoder": "C", "protocol": "fast"}
        records.append(out, row | {"search": {"seed": seed}})
    text = run("paper", "report", out).stdout
    assert "| A & B_<x> | 80.00 | 81.00 |" in text
    assert text.splitlines()[-2].endswith("| 83.50 |")
    assert text.splitlines()[-1].startswith("| C | 51.50 ± 0.71 |  |")
    run("paper", "report", out, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.count("<svg") == 9
    assert "A &amp; B_&lt;x&gt;" in page
    assert not re.search(r"(src|href)=|@import|url\(", page)


def test_prepare_checks_and_converts(
    place: Path, shared: Callable[..., Path], tmp_path: Path
) -> None:
    raw = run("paper", "prepare", shared("senteval"), "--tasks", "TREC,CR").stdout
    assert "TREC     good: 5452 + 500 rows, as published" in raw
    run("paper", "prepare", shared("senteval"), "--tasks", "CR", "-o", tmp_path)
    prepared = run("paper", "prepare", tmp_path).stdout
    assert "CR       good: 2407 + 1368 rows, as SentEval writes them" in prepared
    assert "not found: MR, SUBJ" in prepared
    wrong = run("paper", "prepare", place, "--tasks", "CR", code=1)
    assert "custrev.pos is not the file that CR is scored on" in wrong.stdout


# Compare


def write_labelled(path: Path, rows: int = 60) -> Path:
    random = np.random.default_rng(0)
    lines = ["id,review,stars"]
    for at in range(rows):
        text = " ".join(random.choice(GOOD if at % 2 else BAD, 6))
        lines.append(f'{at},"{text}, the ""cake""",{"good" if at % 2 else "bad"}')
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_compare_names_every_method_and_recommends_one(tmp_path: Path) -> None:
    data = write_labelled(tmp_path / "data.csv")
    vectors = write_words(tmp_path, dim=30, extra=200)
    done = run("compare", data, "--text", "review", "--label", "stars", "--vectors", vectors)
    for name in ("NoPPA", "Average", "USIF", "VLAWE", "TF-IDF of words", "Classifier", "weighted"):
        assert name in done.stdout
    assert re.search(r"Take [^:]+: the smallest vectors \(\d+\)", done.stdout)
    assert "estimated from their order" in done.stderr

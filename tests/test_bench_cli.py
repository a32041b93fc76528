"""The commands that score, as a user runs them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noppa
from noppa.cli import scoring
from noppa.paper import TASKS, experiments, read, report
from noppa.paper import results as records
from noppa.paper.study import Search, Study, Words
from tests.conftest import made_words
from tests.made_senteval import BAD, GOOD, write_folder
from tests.runs import PATIENCE, wait_until

NOPPA = [sys.executable, "-c", "import noppa.cli; noppa.cli.main()"]


def run(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*NOPPA, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made data, made vectors with their counts, and a saved model."""
    folder = write_folder(tmp_path_factory.mktemp("place"))
    words = made_words(dim=8)
    np.save(folder / "made.npy", words.matrix)
    (folder / "made.vocab.txt").write_text("\n".join(words.words) + "\n", "utf-8")
    counts = "".join(f"{word} {number}\n" for number, word in enumerate(words.words, 5))
    (folder / "counts.txt").write_text(counts, "utf-8")
    noppa.Encoder(words, noppa.SIF(components=0)).save(folder / "model")
    return folder


def options(place: Path) -> list[object]:
    return [
        "--data",
        place,
        "--vectors",
        place / "made.npy",
        "--counts",
        place / "counts.txt",
        "--unchecked",
        "--jobs",
        2,
    ]


def test_bench_writes_rows_that_say_how_they_came_about(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    run("bench", *options(place), "-p", "a=0.1", "-p", "k=2", "--tasks", "CR,STS-B", "-o", out)
    rows = rows_of(out)
    assert [row["task"] for row in rows] == ["CR", "STS-B"]
    for row in rows:
        assert row["encoder"] == "NoPPA(a=0.1, k=2)"
        assert row["protocol"] == "fast"
        assert row["metric"] in ("accuracy", "spearman")
        assert -100 <= row["score"] <= 100
        assert row["fitted_on"] == "train text"
        assert row["checked"] is False
        assert row["seed"] == 1111
        assert row["vectors"]["file"] == "made.npy"
        assert len(row["vectors"]["sha256"]) == 64
        assert {"noppa", "numpy", "python"} <= set(row["versions"])
        assert {"commit", "machine", "seconds", "cpu_seconds", "parameters"} <= set(row)
        assert all(len(found) == 64 for found in row["data"].values())


def test_jobs_change_no_bit(place: Path, tmp_path: Path) -> None:
    found = []
    for jobs in (1, 2):
        out = tmp_path / f"{jobs}.jsonl"
        run(
            "bench",
            *options(place)[:-1],
            jobs,
            "--tasks",
            "CR,SICK-E",
            "-p",
            "k=2",
            "--protocol",
            "senteval",
            "-o",
            out,
        )
        rows = rows_of(out)
        for row in rows:
            row.pop("seconds")
            row.pop("cpu_seconds")
        found.append(rows)
    assert found[0] == found[1]


def test_the_papers_experiments_run_and_resume(place: Path, tmp_path: Path) -> None:
    """Every part in its quick form; what is done is not done again, also when a line was lost."""
    words = made_words(dim=16, extra=200)
    np.save(tmp_path / "wide.npy", words.matrix)
    (tmp_path / "wide.vocab.txt").write_text("\n".join(words.words) + "\n", "utf-8")
    counts = "".join(f"{word} {10**6 // (at + 1)}\n" for at, word in enumerate(words.words))
    (tmp_path / "counts.txt").write_text(counts, "utf-8")
    (tmp_path / "corpus.txt").write_text("the girl eats a cake\na boy is eating\n" * 9, "utf-8")
    out = tmp_path / "out"
    command = ["bench", "paper", "--data", place, "--vectors", tmp_path / "wide.npy", "--counts"]
    command += [tmp_path / "counts.txt", "--corpus", tmp_path / "corpus.txt", "--quick"]
    command += ["--tasks", "TREC,SICK-R", "--unchecked", "--jobs", 1, "-o", out]
    command += ["--encoded", lengths_of_texts(place, tmp_path / "lengths.npy")]
    first = run(*command).stdout
    files = sorted(out.iterdir())
    assert [file.stem for file in files] == sorted(f"paper_{name}" for name in experiments.PARTS)
    assert re.search(r"replay +6 rows left, about \d+ seconds of CPU time", first)
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
    (elsewhere,) = (row for row in rows_of(out / "paper_senteval.jsonl") if row["vectors"] is None)
    assert (elsewhere["encoder"], elsewhere["fitted_on"]) == ("lengths", "nothing")
    selections = [line for line in replay.read_text("utf-8").splitlines() if '"search"' in line]
    replay.write_text("\n".join(selections) + "\n", "utf-8")
    assert re.search(r"replay +0 rows left", run(*command, "--part", "replay").stdout)
    replay.write_text(selections[0] + "\n", "utf-8")
    assert re.search(r"replay +3 rows left", run(*command, "--part", "replay").stdout)
    other = json.loads(selections[0])
    other["parameters"]["kernel"] = "abs"
    replay.write_text(json.dumps(other) + "\n" + selections[1] + "\n", "utf-8")
    assert re.search(r"replay +3 rows left", run(*command, "--part", "replay").stdout)
    run(*command, "--part", "nothing", code=2)
    uncounted = run(*command[:6], "-o", out, code=2).stderr.replace("\n", " ")
    assert "wide.npy has no word probabilities" in uncounted
    (tmp_path / "lengths.txt").write_text("one\ntwo\none\n", "utf-8")
    told = run(*command, code=1).stderr.replace("\n", " ")
    assert "lengths.npy has the shape" in told
    assert "2 distinct texts: give one row a text" in told


def lengths_of_texts(data: Path, file: Path) -> Path:
    """Vectors of the texts of two tasks, as another program would make them."""
    tasks = (TASKS["TREC"], TASKS["SICK-R"])
    parts = [part for task in tasks for part in read(data, task).values()]
    texts = sorted({text for part in parts for row in part for text in row.texts})
    np.save(file, np.array([[len(text), text.count(" "), 1] for text in texts], np.float32))
    file.with_suffix(".txt").write_text("\n".join(texts) + "\n", "utf-8")
    return file


def test_every_point_of_every_grid_is_a_method() -> None:
    words = made_words(dim=300)
    study = Study("nowhere", [Words(words, words, {})], [TASKS["TREC"]])
    for item in experiments.tuned(study):
        assert isinstance(item, Search)
        (part,) = item.plan.space
        for choice in part.choices:
            made = item.plan.make({part.name: choice})
            assert made.to_dict()[part.name] == pytest.approx(float(choice))


def test_the_table_is_printed_and_a_warning_said_once(place: Path, tmp_path: Path) -> None:
    out, pdf = tmp_path / "results.jsonl", tmp_path / "means.pdf"
    (tmp_path / "counts.txt").write_text("the 9\nboy 1\n", "utf-8")
    command = [
        "bench",
        "--data",
        place,
        "--vectors",
        place / "made.npy",
        "--unchecked",
        "-p",
        "k=0",
    ]
    done = run(
        *command,
        "--counts",
        tmp_path / "counts.txt",
        "--tasks",
        "CR,SICK-E",
        "--jobs",
        1,
        "-o",
        out,
    )
    title, head, line = done.stdout.splitlines()
    assert title == "protocol fast, made.npy"
    assert head.split() == ["encoder", "CR", "SICK-E"]
    scores = [f"{row['score']:.2f}" for row in rows_of(out)]
    assert line.split()[-2:] == scores
    again = [
        *command,
        "--counts",
        tmp_path / "counts.txt",
        "--tasks",
        "SICK-R",
        "--jobs",
        1,
        "-o",
        out,
    ]
    run(*again)
    run(*again, "--missing", "0")
    last, other = rows_of(out)[-2:]
    assert (last.get("missing"), other["missing"]) == (None, "0")
    assert other["score"] != last["score"]
    assert (
        "missing must be 'smallest' or a probability"
        in run(*again, "--missing", "none", code=2).stderr
    )
    lines = run("bench", "report", out, "--format", "csv").stdout.splitlines()
    assert lines[1].startswith('"protocol fast, made.npy",NoPPA(k=0)')
    run("bench", "report", out, "--format", "pdf", "-o", pdf)
    assert pdf.read_bytes().startswith(b"%PDF")
    assert "give -o NAME.pdf" in run("bench", "report", out, "--format", "pdf", code=2).stderr


def test_warnings_that_differ_in_numbers_are_one(recwarn: pytest.WarningsRecorder) -> None:
    with warnings.catch_warnings(record=True) as caught, scoring.warnings_once():
        for message in ("3 of 10 words are odd: a, b", "1 of 12 words are odd: c", "another"):
            warnings.warn(message, noppa.NoppaWarning, stacklevel=1)
    assert [str(one.message) for one in caught] == ["3 of 10 words are odd: a, b", "another"]


def test_a_saved_model_is_scored_as_it_is(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    run(
        "bench",
        "--data",
        place,
        "-m",
        place / "model",
        "--unchecked",
        "--tasks",
        "SICK-R,STS14",
        "-o",
        out,
    )
    assert [row["fitted_on"] for row in rows_of(out)] == ["nothing", "nothing"]


def test_what_is_not_honest_is_labelled_in_every_table(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    run("bench", *options(place), "-p", "k=2", "--tasks", "TREC", "--transductive", "-o", out)
    run("bench", *options(place), "-p", "k=2", "--tasks", "TREC", "--shuffle-labels", "-o", out)
    space = ["--space", "k=0:3", "--trials", 2, "--tasks", "SICK-R"]
    run("bench", "search", *options(place), *space, "--select-on", "test", "-o", out)
    rows = rows_of(out)
    assert rows[0]["fitted_on"] == "train, dev and test text"
    for kind in report.FORMATS:
        text = run("bench", "report", out, "--format", kind).stdout
        assert "[transductive, unchecked data]" in text
        assert "[unchecked data, shuffled labels]" in text
        assert "NoPPA, searched [selected on test, unchecked data]" in text


def test_search_goes_on_where_it_stopped(place: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "search.jsonl", tmp_path / "other.jsonl"
    search = [
        "bench",
        "search",
        *options(place),
        "--space",
        "a=0.01:0.15",
        "--space",
        "k=0:3",
        "--tasks",
        "SICK-R",
    ]
    run(*search, "--trials", 4, "-o", out)
    full = rows_of(out)
    assert [("trial" in row) for row in full] == [True] * 4 + [False]
    assert full[-1]["search"] == {"trials": 4, "seed": 0, "space": ["a=0.01:0.15", "k=0:3"]}
    other.write_text("".join(json.dumps(row) + "\n" for row in full[:2]), "utf-8")
    run(*search, "--trials", 4, "-o", other)
    again = rows_of(other)
    assert [row.get("trial") for row in again] == [row.get("trial") for row in full]
    assert [row["score"] for row in again] == [row["score"] for row in full]


def test_two_search_seeds_give_a_deviation(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "search.jsonl"
    run(
        "bench",
        "search",
        *options(place),
        "--tasks",
        "STS-B",
        "--space",
        "a=0.01:9.5",
        "-p",
        "k=0",
        "--trials",
        2,
        "--search-seed",
        1,
        "--search-seed",
        2,
        "-o",
        out,
    )
    assert re.search(
        r"NoPPA, searched \[unchecked data\] \| -?\d+\.\d\d ± \d",
        run("bench", "report", out).stdout,
    )


def test_ablations(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "ablations.jsonl"
    run("bench", "ablations", *options(place), "-o", out, "--k", 2, "--tasks", "SICK-R")
    assert [row["encoder"] for row in rows_of(out)][:5] == [
        "Average",
        "CE-avg",
        "CE-avg+NR",
        "CE+SFW",
        "NoPPA",
    ]


def test_report_is_made_of_the_rows_alone(tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    tasks = ["MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC", "SICK-E"]
    for at, task in enumerate(tasks):
        records.append(
            out, {"task": task, "score": 80 + at, "encoder": "A & B_<x>", "protocol": "fast"}
        )
    records.append(out, {"task": "MR", "score": 50.0, "encoder": "C", "protocol": "fast"})
    text = run("bench", "report", out).stdout
    assert "| A & B_<x> | 80.00 | 81.00 |" in text
    assert text.splitlines()[-2].endswith("| 83.50 |")
    assert text.splitlines()[-1].startswith("| C | 50.00 |  |")
    assert r"A \& B\_<x> & 80.00" in run("bench", "report", out, "--format", "latex").stdout
    run("bench", "report", out, "--format", "html", "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.count("<svg") == 9
    assert "A &amp; B_&lt;x&gt;" in page
    assert not re.search(r"(src|href)=|@import|url\(", page)


def test_a_run_again_replaces_its_row(tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    for value in (1.0, 2.0):
        records.append(out, {"task": "MR", "score": value, "encoder": "A", "protocol": "fast"})
    assert [row["score"] for row in records.read([out])] == [2.0]


#: The command gets no further than its second row, however late it is interrupted.
HELD = """
import time

import noppa.cli
from noppa.paper import results

append, rows = results.append, []


def held_append(output, row):
    append(output, row)
    rows.append(row)
    while len(rows) > 1:
        time.sleep(0.1)


results.append = held_append
noppa.cli.main()
"""


def test_an_interruption_keeps_finished_rows(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    more = ["--k", "2", "--tasks", "SICK-E,CR", "-o", str(out)]
    command = [sys.executable, "-c", HELD, "bench", "ablations", *map(str, options(place)), *more]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    wait_until(
        lambda: (
            process.poll() is not None or (out.exists() and len(out.read_bytes().splitlines()) == 2)
        )
    )
    os.killpg(process.pid, signal.SIGINT)
    message = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 130, message
    assert len(rows_of(out)) == 2
    assert "2 rows that were ready" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tasks", "IMDB"], "there is no task 'IMDB'"),
        (["-p", "b=1"], "-p b=1: give name=value with a name from a, k, position"),
        (["-p", "a"], "-p a: give name=value"),
        (["--method", "bert"], "there is no method 'bert'"),
        (["--protocol", "slow"], "protocol must be one of fast, senteval"),
        (["--tasks", "CR,STS12", "-p", "k=2"], "STS12 has no training rows"),
        (
            ["--tasks", "SICK-R", "-p", "k=0", "-o", "no/folder/out"],
            "no/folder/out cannot be written",
        ),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, place: Path, tmp_path: Path
) -> None:
    code = 1 if "no/folder/out" in arguments else 2  # a mistake in the command
    done = run("bench", *options(place), "-o", tmp_path / "out.jsonl", *arguments, code=code)
    assert message in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr


def test_data_prepare_makes_what_data_check_calls_sentevals(
    shared: Callable[..., Path], tmp_path: Path
) -> None:
    run("data", "prepare", shared("senteval"), "--tasks", "CR", "-o", tmp_path)
    told = run("data", "check", tmp_path).stdout
    assert "CR       good: 2407 + 1368 rows, as SentEval writes them" in told
    assert "not there: MR, SUBJ" in told


def test_data_check(place: Path, shared: Callable[..., Path]) -> None:
    assert (
        "TREC     good: 5452 + 500 rows"
        in run("data", "check", shared("senteval"), "--tasks", "TREC,CR").stdout
    )
    wrong = run("data", "check", place, "--tasks", "CR", code=1)
    assert "custrev.pos is not the file that CR is scored on" in wrong.stdout
    both = json.loads(run("data", "check", place, "--json", code=1).stdout)
    assert "custrev.pos" in both["tasks"]["CR"]["fault"]
    assert both["absent"] == [name for name in TASKS if name not in both["tasks"]]


def test_without_optuna_the_install_line_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from noppa.paper import tuning as search

    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(noppa.NoppaError, match=r"pip install 'noppa\[eval\]'"):
        search._optuna()


# Compare


def labelled(path: Path, rows: int = 60) -> Path:
    random = np.random.default_rng(0)
    lines = ["id,review,stars"]
    for at in range(rows):
        text = " ".join(random.choice(GOOD if at % 2 else BAD, 6))
        lines.append(f'{at},"{text}, the ""cake""",{"good" if at % 2 else "bad"}')
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_compare_names_every_method_and_recommends_one(place: Path, tmp_path: Path) -> None:
    data = labelled(tmp_path / "data.csv")
    words = made_words(dim=30, extra=200)
    np.save(tmp_path / "wide.npy", words.matrix)
    (tmp_path / "wide.vocab.txt").write_text("\n".join(words.words) + "\n", "utf-8")
    done = run(
        "compare", data, "--text", "review", "--label", "stars", "--vectors", tmp_path / "wide.npy"
    )
    for name in ("NoPPA", "Average", "USIF", "VLAWE", "TF-IDF of words", "Classifier", "weighted"):
        assert name in done.stdout
    assert re.search(r"Take [^:]+: the smallest vectors \(\d+\)", done.stdout)
    assert "estimated from the order of words" in done.stderr


def test_compare_names_what_is_wrong_with_the_file(place: Path, tmp_path: Path) -> None:
    data = labelled(tmp_path / "data.csv")
    base = ["compare", data, "--vectors", place / "made.npy"]
    wrong = run(*base, "--text", "body", "--label", "stars", code=2)
    assert "has no column 'body': choose one with --column, from id, review, stars" in wrong.stderr
    wrong = run(*base, "--text", "review", "--label", "id", code=2)
    assert "'0' on only 1 rows" in wrong.stderr

"""`noppa train` and `noppa predict`, as a user runs them."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import noppa
from noppa.cli import program
from noppa.errors import NoppaError
from noppa.files import Input, PredictJob
from noppa.files.checkpoint import read_checkpoint
from tests.test_classifier import LABELS, TEXTS


def run(line: str, stdin: str | None = None) -> Result:
    """Run a command that is written as in a shell."""
    arguments = shlex.split(line)
    result = CliRunner().invoke(program(arguments[0]), arguments, input=stdin)
    if isinstance(result.exception, NoppaError):
        raise result.exception
    return result


def table(path: Path, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with labelled rows, new rows, and a trained model."""
    folder = tmp_path_factory.mktemp("classify")
    rows = [(at, text, label) for at, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True))]
    table(folder / "rows.csv", ("id", "body", "topic"), rows)
    table(folder / "new.csv", ("id", "body"), [row[:2] for row in rows])
    done = run(f"train {folder}/rows.csv --text body --label topic -o {folder}/model")
    assert done.exit_code == 0, done.output
    assert "60 rows, 2 classes" in done.stdout
    assert "accuracy" in done.stdout
    return folder


def test_reports_in_three_forms(place: Path, tmp_path: Path) -> None:
    html, plain, text = (tmp_path / name for name in ("r.html", "r.json", "r.txt"))
    done = run(
        f"train {place}/rows.csv --text body --label topic -o {tmp_path}/model --audit --folds 3 "
        f"--report {html} --report {plain} --report {text}"
    )
    assert done.exit_code == 0, done.output
    report = json.loads(plain.read_text(encoding="utf-8"))
    assert report["rows"] == 60
    assert set(report["ngrams"]) == {"good", "bad"}
    assert isinstance(report["conflicts"], list)
    assert text.read_text(encoding="utf-8").strip() == done.stdout.strip()
    assert "Calibration" in html.read_text(encoding="utf-8")


def test_predictions_keep_the_other_columns(place: Path, tmp_path: Path) -> None:
    out, lines = tmp_path / "out.csv", tmp_path / "out.jsonl"
    assert run(f"predict {place}/model {place}/new.csv --text body -o {out}").exit_code == 0
    with out.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    model = noppa.load_classifier(place / "model")
    assert [row["predicted"] for row in rows] == model.predict(TEXTS).tolist()
    assert [row["id"] for row in rows] == [str(number) for number in range(60)]
    assert all(0.5 <= float(row["probability"]) <= 1 for row in rows)
    run(f"predict {place}/model {place}/new.csv -o {lines} --every")  # the model knows its column
    first = json.loads(lines.read_text(encoding="utf-8").splitlines()[0])
    assert set(first) == {"id", "body", "predicted", "bad", "good"}
    assert abs(first["bad"] + first["good"] - 1) < 1e-5


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_predictions_resume(place: Path, tmp_path: Path, form: str, monkeypatch: Any) -> None:
    """A run that is cut after its first batch goes on, and gives the same bytes as one that was not."""
    rows = [(at, TEXTS[at % 60]) for at in range(9000)]
    source = table(tmp_path / "long.csv", ("id", "body"), rows)
    model = noppa.load_classifier(place / "model")

    def job(target: Path, **more: Any) -> PredictJob:
        return PredictJob(
            model=model, source=Input([str(source)], column="body", records=True), target=str(target),
            folder=place / "model", columns=("body",), **more,
        )  # fmt: skip

    whole, cut = tmp_path / f"whole.{form}", tmp_path / f"cut.{form}"
    job(whole).run()

    def stop(records: int, position: int) -> None:
        if records > 4096:
            raise KeyboardInterrupt

    monkeypatch.setattr("noppa.files.job.SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    with pytest.raises(KeyboardInterrupt):
        job(cut, resume=True, progress=stop).run()
    checkpoint = read_checkpoint(job(cut).checkpoint)
    assert checkpoint is not None
    assert 0 < checkpoint.outcome.rows < 9000
    with pytest.raises(NoppaError, match="different set of output columns"):
        job(cut, resume=True, into="other").run()
    assert job(cut, resume=True).run().rows == 9000
    assert cut.read_bytes() == whole.read_bytes()


def test_texts_from_anywhere(place: Path, tmp_path: Path) -> None:
    done = run(f"predict {place}/model", "a lovely film\n")
    assert json.loads(done.stdout)["predicted"] == "good"
    (tmp_path / "new.jsonl").write_text('{"text": "a dull play", "n": 3}\n', encoding="utf-8")
    done = run(f"predict {place}/model {tmp_path}/new.jsonl --text text --into topic")
    predicted = json.loads(done.stdout)
    assert predicted.pop("probability") > 0.5
    assert predicted == {"text": "a dull play", "n": 3, "topic": "bad"}


def test_labels_of_any_kind_from_json_and_pairs(place: Path, tmp_path: Path) -> None:
    lines = [
        {"a": text, "b": TEXTS[at - at % 2], "same": at % 2 == 0, "tags": ["x", "y"][: 1 + at % 2]}
        for at, text in enumerate(TEXTS)
    ]
    path, new = tmp_path / "rows.jsonl", tmp_path / "new"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    run(f"train {path} --text a --text b --label same -o {new} --folds 2")
    assert noppa.load_classifier(new).classes_.tolist() == [False, True]
    done = run(f"predict {new} {path} --text a --text b -o {tmp_path}/o.jsonl")
    assert done.exit_code == 0, done.output
    run(f"train {path} --text a --label tags -o {new} --folds 2")
    assert noppa.load_classifier(new).contents.labels.kind == "sets"
    rows = [(line["a"], ";".join(line["tags"])) for line in lines]
    joined = table(tmp_path / "t.csv", ("a", "tags"), rows)
    run(
        f"train {joined} --text a --label tags --separator ; -o {new} --folds 2".replace(";", "';'")
    )
    assert noppa.load_classifier(new).classes_.tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("rows", "options", "says"),
    [
        ([("a", "x"), ("b", "")], [], "row 2 has an empty 'topic'"),
        ([("a", "x"), ("b", "y")], [], "has 1 row"),
        ([("a", "x"), ("b", "x")], ["--label", "what"], "no column 'what'"),
        ([("a", "x"), ("b", "x")], ["--text", "what"], "no column 'what'"),
        ([], [], "no labelled row"),
    ],
)
@pytest.mark.filterwarnings("ignore:.* is empty")
def test_what_cannot_be_trained_on_is_one_sentence(
    tmp_path: Path, rows: list[Any], options: list[str], says: str
) -> None:
    path = table(tmp_path / "rows.csv", ("body", "topic"), rows)
    columns = {"--text": "body", "--label": "topic"} | dict([options] if options else [])
    given = " ".join(f"{name} {value}" for name, value in columns.items())
    with pytest.raises(NoppaError, match=says):
        run(f"train {path} {given} -o {tmp_path}/model")
    assert not (tmp_path / "model").exists()


def test_rows_without_labels_can_be_left_out(tmp_path: Path) -> None:
    rows = [*zip(TEXTS, LABELS, strict=True), ("a row", "")]
    path = table(tmp_path / "rows.csv", ("body", "topic"), rows)
    options = "--on-error skip --folds 2 -m none --ngrams 1-1"
    done = run(f"train {path} --text body --label topic -o {tmp_path}/model {options}")
    assert "60 rows" in done.stdout
    assert noppa.load_classifier(tmp_path / "model").encoder_ is None


def test_an_output_is_never_an_input(place: Path) -> None:
    with pytest.raises(NoppaError, match="is an input"):
        run(f"train {place}/rows.csv --label topic -o {place}/rows.csv")
    with pytest.raises(NoppaError, match="is inside the input"):
        run(f"predict {place}/model {place}/new.csv --text body -o {place}/model/o.csv")
    with pytest.raises(NoppaError, match="already"):
        run(f"predict {place}/model {place}/rows.csv --text body --into topic")


def test_a_text_is_explained(place: Path, tmp_path: Path) -> None:
    line = f"predict {place}/model --explain 'a lovely film'"
    assert run(line).stdout.startswith("good\t")
    run(f"{line} -o {tmp_path}/why.json")
    assert json.loads((tmp_path / "why.json").read_text(encoding="utf-8"))["label"] == "good"
    run(f"{line} -o {tmp_path}/why.html")
    assert "lovely" in (tmp_path / "why.html").read_text(encoding="utf-8")


def test_the_cluster_gives_the_same_labels(place: Path, tmp_path: Path, monkeypatch) -> None:
    from pyarrow import parquet

    source = table(tmp_path / "new.csv", ("id", "body"), enumerate(TEXTS))
    monkeypatch.setattr(
        "noppa.integrations.dask.run_tasks", lambda task, items, _: [task(item) for item in items]
    )
    run(f"predict {place}/model {source} -o {tmp_path}/parts --text body --engine dask")
    rows = parquet.read_table(tmp_path / "parts" / "part-00000.parquet").to_pylist()
    model = noppa.load_classifier(place / "model")
    assert [row["body"] for row in rows] == TEXTS
    assert [row["predicted"] for row in rows] == model.predict(TEXTS).tolist()

"""Jobs on Dask and Spark: the same bytes as one process, also after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

import noppa
from noppa.files import Input, Job
from noppa.integrations import cluster
from noppa.refine import Normalize, Whitening
from tests.conftest import made_texts, made_words
from tests.runs import wait_until

WORDS = made_words(dim=6)
TEXTS = made_texts(1200, WORDS)
MAIN = [sys.executable, "-c", "from noppa.cli import main; main()"]
ENGINES = ["dask", pytest.param("spark", marks=pytest.mark.system)]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "encoder"
    noppa.Encoder(WORDS, noppa.NoPPA(k=0)).save(path)
    return path


@pytest.fixture
def inputs(tmp_path) -> list[str]:
    """Four files, two of lines and two of JSON lines."""
    (tmp_path / "in").mkdir()
    paths = []
    for number in range(4):
        texts = TEXTS[number * 300 : number * 300 + 300]
        path = tmp_path / "in" / f"{number}.{'txt' if number < 2 else 'jsonl'}"
        rows = texts if number < 2 else [json.dumps({"text": text, "id": 3}) for text in texts]
        path.write_text("\n".join(rows))
        paths.append(str(path))
    return paths


@pytest.fixture
def serial(monkeypatch) -> list[str]:
    """Run tasks in this process; return the names of the parts that ran."""
    ran = []

    def run_tasks(task, items, scheduler) -> None:
        for item in items:
            task(item)
            ran.append(item[1])

    monkeypatch.setattr("noppa.integrations.dask.run_tasks", run_tasks)
    return ran


def parts_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("part-*"))}


def one_process(tmp_path: Path, model: Path, inputs: list[str]) -> dict[str, bytes]:
    """Return the parts that plain jobs write."""
    (tmp_path / "one").mkdir(exist_ok=True)
    for number, path in enumerate(inputs):
        target = tmp_path / "one" / f"part-{number:05d}.parquet"
        Job(noppa.load(model), Input([path]), str(target), overwrite=True).run()
    return parts_of(tmp_path / "one")


# The engines


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_have_the_bytes_of_one_process(tmp_path, model, inputs, engine) -> None:
    job = partial(Job, noppa.load(model))
    outcome = cluster.run_parts(job, Input([str(tmp_path / "in")]), tmp_path / "out", engine=engine)
    assert (outcome.rows, outcome.records, outcome.bad) == (1200, 1200, 0)
    assert parts_of(tmp_path / "out") == one_process(tmp_path, model, inputs)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_bad_row_ends_the_job_and_is_named(tmp_path, model, inputs, engine) -> None:
    Path(inputs[3]).write_text('{"text": "a"}\n{"text": null}\n')
    job = partial(Job, noppa.load(model))
    with pytest.raises(noppa.NoppaError, match=r"3\.jsonl, line 2: its 'text' is null"):
        cluster.run_parts(job, Input(inputs), tmp_path / "out", engine=engine)


HOLD_LATER_PARTS = """
import time
from noppa.integrations import cluster

run_part = cluster._run_part

def held(*arguments):
    while arguments[-1][1] >= "part-00002":
        time.sleep(0.1)
    run_part(*arguments)

held.__module__, held.__qualname__ = run_part.__module__, run_part.__qualname__
cluster._run_part = held
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_killed_job_resumes_by_part_with_the_same_bytes(tmp_path, model, inputs, engine) -> None:
    out = tmp_path / "out"
    command = [*MAIN, "encode", *inputs, "-o", str(out), "-m", str(model), "--engine", engine]
    # Python imports a module of this name at every start, in workers too.
    (tmp_path / "sitecustomize.py").write_text(HOLD_LATER_PARTS)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": path},
    ) as driver:
        records = [out / "_noppa" / f"part-0000{number}.parquet.json" for number in range(2)]
        written = lambda: all(path.exists() and path.stat().st_size for path in records)  # noqa: E731
        wait_until(lambda: written() or driver.poll() is not None)
        assert driver.poll() is None, driver.stderr.read()
        os.killpg(driver.pid, signal.SIGKILL)
    kept = {name: (out / name).stat().st_mtime_ns for name in parts_of(out)}
    assert len(kept) == 2
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "1,200 rows" in run.stderr
    assert parts_of(out) == one_process(tmp_path, model, inputs)
    assert {name: (out / name).stat().st_mtime_ns for name in kept} == kept


@pytest.mark.parametrize("engine", ENGINES)
def test_a_fit_on_an_engine(tmp_path, inputs, engine) -> None:
    encoder = noppa.Encoder(WORDS, noppa.USIF(m=2, a=0.01))
    fitted = cluster.fit(encoder, Input(inputs), tmp_path / "work", engine)
    one = noppa.Encoder(WORDS, noppa.USIF(m=2, a=0.01)).fit(TEXTS)
    assert np.allclose(fitted.encode(TEXTS[:50]), one.encode(TEXTS[:50]), rtol=1e-6, atol=1e-5)


def test_vectors_of_a_dask_frame(model) -> None:
    import dask.dataframe
    import pandas

    from noppa.integrations.dask import encode

    frame = dask.dataframe.from_pandas(pandas.DataFrame({"text": TEXTS[:20]}), npartitions=3)
    table = encode(frame, model=noppa.load(model), normalize=True).compute(scheduler="threads")
    expected = noppa.load(model).encode(TEXTS[:20], normalize=True)
    assert np.stack(table["embedding"]).tobytes() == expected.tobytes()


@pytest.mark.system
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_vectors_of_a_spark_frame(model) -> None:
    from pyspark.sql import SparkSession

    from noppa.integrations.spark import _start, encode

    session = _start(SparkSession.builder, None)
    try:
        frame = session.createDataFrame([(text,) for text in TEXTS[:20]], "text string")
        rows = encode(frame, model=noppa.load(model)).collect()
    finally:
        session.stop()
    vectors = np.array([row["embedding"] for row in rows], np.float32)
    assert vectors.tobytes() == noppa.load(model).encode(TEXTS[:20]).tobytes()


# Parts, in one process


def test_only_missing_parts_are_done_again(tmp_path, model, inputs, serial) -> None:
    def run():
        return cluster.run_parts(partial(Job, noppa.load(model)), Input(inputs), out)

    out = tmp_path / "out"
    first = run()
    assert len(serial) == 4
    assert run() == first
    assert len(serial) == 4, "nothing was left to do"
    (out / "part-00001.parquet").unlink()
    (out / "part-00002.parquet").write_bytes(b"cut")
    (out / "_noppa" / "part-00003.parquet.json").write_text('{"rows"')
    assert run() == first
    assert serial[4:] == ["part-00001.parquet", "part-00002.parquet", "part-00003.parquet"]
    assert parts_of(out) == one_process(tmp_path, model, inputs)


def test_remote_files(model, serial) -> None:
    import fsspec

    files = fsspec.filesystem("memory")
    files.pipe_file("/bucket/in/a.csv", "id,text\n1,a girl\n2,the cake\n".encode("utf-16"))
    files.pipe_file("/bucket/in/b.txt", b"a cake\n")
    job = partial(Job, noppa.load(model))
    outcome = cluster.run_parts(job, Input(["memory://bucket/in/*"]), "memory://bucket/out", "npy")
    assert outcome.rows == 3
    with files.open("/bucket/out/part-00000.npy") as file:
        vectors = np.frombuffer(file.read()[128:], np.float32).reshape(2, -1)
    assert vectors.tobytes() == noppa.load(model).encode(["a girl", "the cake"]).tobytes()


def test_columns_and_policies_are_those_of_one_machine(tmp_path, model, inputs, serial) -> None:
    Path(inputs[2]).write_text('{"text": "a girl", "id": 7}\nnonsense\n{"text": "cake"}\n')
    job = partial(Job, noppa.load(model), keep=["id"], on_error="skip")
    outcome = cluster.run_parts(job, Input(inputs[2:3]), tmp_path / "out")
    assert (outcome.rows, outcome.bad) == (2, 1)
    assert outcome.listed == [
        f"{inputs[2]}, line 2: it is not JSON (Expecting value: line 1 column 1 (char 0))"
    ]
    table = parquet.read_table(tmp_path / "out" / "part-00000.parquet")
    assert table["id"].to_pylist() == [7, None]
    assert table["record"].to_pylist() == [1, 3]


def test_refusals(tmp_path, model, inputs, serial) -> None:
    def refused(match, job, paths, out, **options) -> None:
        with pytest.raises(noppa.NoppaError, match=match):
            cluster.run_parts(job, Input(paths), out, **options)

    job, out, full = partial(Job, noppa.load(model)), tmp_path / "out", tmp_path / "full"
    full.mkdir()
    (full / "mine.txt").write_text("precious")
    cluster.run_parts(job, Input(inputs), out)
    refused("different options", partial(job, on_error="skip"), inputs, out)
    refused("different input", job, inputs[:2], out)
    refused("does not exist", job, [str(tmp_path / "none*")], out)
    refused("contains other files", job, inputs[:1], full)
    refused("is an input|lies in|contains the input", job, inputs, tmp_path / "in")
    in_memory = partial(Job, noppa.Encoder(WORDS, noppa.Average()))
    refused("open an encoder by its path", in_memory, inputs, tmp_path / "other")
    refused("engine must be one of", job, inputs, out, engine="cray")
    with open(inputs[0], "a") as file:
        file.write("\nmore")
    refused("different input", job, inputs, out)
    (out / "_noppa" / "job.json").write_text("[]")
    refused("is damaged", job, inputs, out)


def test_an_input_that_changes_meanwhile_is_noticed(tmp_path, model, inputs, monkeypatch) -> None:
    def run_tasks(task, items, scheduler) -> None:
        for item in items:
            task(item)
        Path(inputs[0]).write_text("something else")

    monkeypatch.setattr("noppa.integrations.dask.run_tasks", run_tasks)
    with pytest.raises(noppa.NoppaError, match=r"0\.txt changed while it was read"):
        cluster.run_parts(partial(Job, noppa.load(model)), Input(inputs), tmp_path / "out")


# Fitting, in one process


@pytest.mark.parametrize(
    ("method", "refine"),
    [
        (noppa.NoPPA(k=2), (Whitening(dim=4), Normalize())),
        (noppa.Average(), (Whitening(),)),
        (noppa.TfIdf(), ()),
        (noppa.SIF(), ()),
        (noppa.DCT(), (Whitening(),)),
        (noppa.VLAWE(k=3, pca=4), ()),
        (noppa.S3E(k=3), ()),
        (noppa.GEM(k=4, h=2), ()),
    ],
)
def test_sums_of_parts_give_what_one_machine_learns(
    tmp_path, inputs, serial, method, refine
) -> None:
    fitted = cluster.fit(noppa.Encoder(WORDS, method, refine), Input(inputs), tmp_path / "work")
    one = noppa.Encoder(WORDS, method, refine).fit(TEXTS)
    assert fitted.fitted_on == one.fitted_on == len(TEXTS)
    assert np.allclose(fitted.encode(TEXTS[:99]), one.encode(TEXTS[:99]), rtol=1e-6, atol=1e-5)


def test_a_fit_that_stopped_resumes_by_part(tmp_path, inputs, serial, monkeypatch) -> None:
    encoder = noppa.Encoder(WORDS, noppa.USIF(m=2, a=0.01))
    expected = cluster.fit(encoder, Input(inputs), tmp_path / "whole").encode(TEXTS[:20])
    run_part, ran = cluster._run_part, serial.copy()
    monkeypatch.setattr(
        cluster, "_run_part", lambda *arguments: run_part(*arguments) if len(serial) < 13 else 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        cluster.fit(encoder, Input(inputs), tmp_path / "work")
    monkeypatch.setattr(cluster, "_run_part", run_part)
    fitted = cluster.fit(encoder, Input(inputs), tmp_path / "work")
    assert len(serial) == 2 * len(ran), "each part of each pass ran once"
    assert fitted.encode(TEXTS[:20]).tobytes() == expected.tobytes()


def test_methods_that_cannot_be_fitted_in_parts(tmp_path, inputs) -> None:
    for method in (noppa.FastSent(), noppa.Sent2Vec(), noppa.NoPPA(k=0)):
        with pytest.raises(noppa.NoppaError, match=r"cannot be fitted in parts|nothing to learn"):
            cluster.fit(noppa.Encoder(WORDS, method), Input(inputs), tmp_path / "work")

"""Dask and Spark on 127.0.0.1: the same bytes as one process, whatever is killed, and nothing left running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

import noppa
from noppa import cluster
from noppa.cluster import dask_engine
from noppa.cluster.spark_engine import _session
from tests.clusters import (
    WORDS,
    encode,
    expected,
    files_in,
    saved_model,
    table,
    vectors,
    written,
)
from tests.conftest import made_texts, made_words
from tests.runs import PATIENCE, wait_until

TEXTS = made_texts(8000, WORDS)
MAIN = [sys.executable, "-c", "from noppa.cli import main; main()"]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return saved_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def dask() -> Iterator[str]:
    """The address of a scheduler with two workers."""
    import distributed

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as running:
        yield running.scheduler_address


@pytest.fixture(scope="module")
def spark() -> Iterator[None]:
    """A session with two workers that the engine finds active."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        from pyspark.sql import SparkSession

        with _session(SparkSession.builder, None, 2):
            yield None


@pytest.fixture(params=["dask", "spark"])
def engine(request) -> dict[str, str | None]:
    """The arguments for each engine; a fixture is started when it is first needed."""
    return {"engine": request.param, "scheduler": request.getfixturevalue(request.param)}


#: What stands in the command of a process that runs shards.
WORKER = {"dask": "spawn_main", "spark": "pyspark.daemon"}


def python_workers(engine: str) -> list[psutil.Process]:
    """The processes under this one that run shards of an engine: the leaves that are Python."""
    workers = []
    for child in psutil.Process().children(recursive=True):
        try:
            if WORKER[engine] in " ".join(child.cmdline()) and not child.children():
                workers.append(child)
        except psutil.NoSuchProcess:  # it has just ended
            continue
    return workers


# The same bytes


@pytest.mark.parametrize("form", ["txt", "parquet"])
def test_the_same_bytes_as_one_process(tmp_path, model, engine, form) -> None:
    path = written(tmp_path / "in", form, TEXTS[:2000])
    one = encode(path, tmp_path / "one", model, shard_size=10_000)
    two = encode(path, tmp_path / "two", model, shard_size=10_000, **engine)
    assert two.shards > 5
    assert (two.rows, two.bytes, two.before) == (one.rows, one.bytes, 0)
    for part in (tmp_path / "one").glob("*.parquet"):
        assert part.read_bytes() == (tmp_path / "two" / part.name).read_bytes()
    output = table(tmp_path / "two")
    assert output["text"].to_pylist() == TEXTS[:2000]
    assert vectors(output).tobytes() == expected(model, TEXTS[:2000]).tobytes()
    before = files_in(tmp_path / "two")
    assert encode(path, tmp_path / "two", model, **engine).before == two.shards
    assert files_in(tmp_path / "two") == before


def test_a_fit_gives_what_one_machine_gives(tmp_path, engine) -> None:
    texts = TEXTS[:3000]
    path = written(tmp_path / "in", "txt", texts)
    words = made_words(dim=6)
    for name, method in {
        "noppa": noppa.NoPPA(k=2),
        "tfidf": noppa.TfIdf(),
        "usif": noppa.USIF(m=2, a=1e-3),
    }.items():
        report = cluster.fit(
            path, tmp_path / name, noppa.Encoder(words, method), shard_size=5000, **engine
        )
        assert report.shards > 16  # so that the tree has a level
        weighs = name != "tfidf"
        one = noppa.Encoder(words.with_corpus(texts) if weighs else words, method).fit(texts)
        two = noppa.load(tmp_path / name)
        assert two.fitted_on == one.fitted_on == report.sentences == len(texts)
        if weighs:
            assert np.array_equal(two.words.probabilities, one.words.probabilities)
            ours, theirs = one.fitted.steps[0], two.fitted.steps[0]
            assert np.allclose(
                ours.left.T @ ours.right, theirs.left.T @ theirs.right, rtol=0, atol=1e-6
            )
        else:
            assert np.array_equal(one.fitted.learnt["idf"], two.fitted.learnt["idf"])
        assert np.allclose(one.encode(TEXTS[:50]), two.encode(TEXTS[:50]), rtol=0, atol=1e-6)


def test_a_bad_record_stops_either_engine(tmp_path, model, engine) -> None:
    path = tmp_path / "t.jsonl"
    rows = [json.dumps({"text": text}) for text in TEXTS[:1000]]
    rows[777] = '{"text": null}'
    path.write_text("\n".join(rows))
    with pytest.raises(noppa.NoppaError, match=r"t\.jsonl, record 778: its 'text' is null; mend"):
        encode(path, tmp_path / "out", model, **engine, shard_size=5000)


# A worker is killed


def test_a_killed_worker_costs_nothing_but_time(tmp_path, model, engine) -> None:
    path = written(tmp_path / "in", "txt", TEXTS)
    killed = []

    def kill(records: int, done: int) -> None:
        if len(killed) < 2 and done < path.stat().st_size * 0.8:
            for worker in python_workers(engine["engine"])[:1]:
                worker.kill()
                killed.append(worker.pid)

    report = encode(path, tmp_path / "out", model, shard_size=3000, progress=kill, **engine)
    assert killed
    assert report.rows == len(TEXTS)
    output = table(tmp_path / "out")
    assert output["text"].to_pylist() == TEXTS
    assert vectors(output).tobytes() == expected(model, TEXTS).tobytes()
    assert len(list((tmp_path / "out").glob("part-*"))) == report.shards
    assert not list((tmp_path / "out").rglob(".*"))


# The driver is killed


def members(session: int) -> list[psutil.Process]:
    """The living processes of a session."""
    living = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                living.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return living


def listening(session: int) -> set[str]:
    """The addresses that the processes of a session listen at."""
    addresses = set()
    for process in members(session):
        try:
            connections = process.net_connections("inet")
        except psutil.Error:
            continue
        addresses |= {each.laddr.ip for each in connections if each.status == psutil.CONN_LISTEN}
    return {address.removeprefix("::ffff:") for address in addresses}


#: Python imports a module of this name at every start: no worker gets beyond the first shards, however late the driver is
#: killed.
HELD_WORKERS = """
import time

from noppa.cluster.encode_job import EncodeShard

run = EncodeShard.run


def held_run(job, shard):
    while shard.number >= 20:
        time.sleep(0.1)
    return run(job, shard)


EncodeShard.run = held_run
"""


@pytest.mark.parametrize("name", ["dask", "spark"])
def test_a_killed_driver_is_followed_by_another(tmp_path, model, name) -> None:
    """It leaves no process and no half of a part, and the next run, on any engine, does only what is left."""
    path = written(tmp_path / "in", "txt", TEXTS)
    out = tmp_path / "out"
    command = ["cluster", "encode", str(path), "-o", str(out), "-m", str(model)]
    command += ["--engine", name, "--workers", "2", "--shard-size", "0.001"]
    (tmp_path / "sitecustomize.py").write_text(HELD_WORKERS)
    python_path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = out / "_noppa" / "done"

    def finished() -> int:
        return len([*done.glob("[0-9]*.json")])  # what is being written has another name

    with subprocess.Popen(
        [*MAIN, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": python_path},
    ) as driver:
        wait_until(lambda: finished() >= 5 or driver.poll() is not None)
        assert driver.poll() is None, driver.stderr.read()
        assert listening(driver.pid) == {"127.0.0.1"}
        os.kill(driver.pid, signal.SIGKILL)
    wait_until(lambda: not members(driver.pid))
    kept = finished()
    report = encode(path, out, model, shard_size=1 << 10)
    assert 5 <= kept <= report.before <= 20 < report.shards
    output = table(out)
    assert output["text"].to_pylist() == TEXTS
    assert vectors(output).tobytes() == expected(model, TEXTS).tobytes()
    assert not list(out.rglob(".*"))


# The disk is full


def test_a_full_disk_is_told_and_the_run_goes_on_when_there_is_room(tmp_path, model) -> None:
    """A limit on the size of files, which the workers inherit, in place of a small disk."""
    folder = tmp_path / "in"
    for name, count in {"a": 500, "b": 6000, "c": 500}.items():
        written(folder, "txt", TEXTS[:count]).rename(folder / f"{name}.txt")
    out = tmp_path / "out"
    command = ["cluster", "encode", str(folder), "-o", str(out), "-m", str(model), "--workers", "2"]
    limited = f"ulimit -f 160; exec {' '.join(repr(part) for part in [*MAIN, *command])}"
    run = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1
    assert "part-000001.parquet: " in run.stderr
    assert "File too large; make room and run the same again, what is done is kept" in run.stderr
    assert not list(out.glob("part-000001*"))
    run = subprocess.run([*MAIN, *command], capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
    texts = TEXTS[:500] + TEXTS[:6000] + TEXTS[:500]
    assert table(out)["text"].to_pylist() == texts
    assert vectors(table(out)).tobytes() == expected(model, texts).tobytes()


# The command line, and what is not there


def test_the_command_line_needs_no_settings(tmp_path) -> None:
    """The embedded model and a cluster of this machine, which ends with the command."""
    (tmp_path / "t.txt").write_text("the girl eats a cake\na boy\n")
    command = [*MAIN, "cluster", "encode", "t.txt", "-o", "out"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as run:
        printed, errors = run.communicate(timeout=PATIENCE)
    assert (run.returncode, errors) == (0, b"")
    assert printed.decode() == "out: 2 rows in 1 part\n"
    wait_until(lambda: not members(run.pid))
    alone = noppa.load().encode(["the girl eats a cake", "a boy"])
    assert vectors(table(tmp_path / "out")).tobytes() == alone.tobytes()


def output_of(script: Path) -> tuple[str, str]:
    """What a program prints in its folder, and its errors."""
    command = [sys.executable, str(script)]
    run = subprocess.run(
        command, cwd=script.parent, capture_output=True, text=True, timeout=PATIENCE
    )
    return run.stdout, run.stderr


def test_a_script_needs_no_guard(tmp_path, model) -> None:
    """New processes do not run the program that started them once more."""
    (tmp_path / "t.txt").write_text("the girl\n" * 30)
    script = tmp_path / "script.py"
    script.write_text(
        "from noppa import cluster\n"
        f"print(cluster.encode('t.txt', 'out', {str(model)!r}, workers=2, shard_size=100).rows, __file__)\n"
    )
    assert output_of(script) == (f"30 {script}\n", "")


def test_a_method_of_a_script_works_on_workers(tmp_path) -> None:
    """A class that only the script knows is sent along, and the manifest recognizes it in the next run."""
    (tmp_path / "t.txt").write_text("the girl\na girl eats\n" * 30)
    made_words(dim=6).save(tmp_path / "words")
    script = tmp_path / "script.py"
    script.write_text(
        "import noppa\n"
        "from noppa import cluster\n"
        "class Largest(noppa.Method):\n"
        "    def pool(self, vectors, weights):\n"
        "        return vectors.max(axis=0)\n"
        "noppa.register('largest', Largest)\n"
        "model = noppa.Encoder(noppa.WordVectors.load('words'), Largest(), noppa.Whitening())\n"
        "options = {'workers': 2, 'shard_size': 100}\n"
        "first = cluster.fit('t.txt', 'fitted', model, **options)\n"
        "assert cluster.fit('t.txt', 'fitted', model, **options) == first\n"
        "print(first.shards, cluster.encode('t.txt', 'out', 'fitted', **options).rows)\n"
    )
    assert output_of(script) == ("7 60\n", "")


def test_what_a_user_may_lack(tmp_path, model, monkeypatch) -> None:
    (tmp_path / "t.txt").write_text("a\n")
    call = lambda **options: encode(tmp_path / "t.txt", tmp_path / "out", model, **options)  # noqa: E731
    monkeypatch.setattr(dask_engine, "SECONDS_TO_CONNECT", 0.3)
    with pytest.raises(noppa.NoppaError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9"):
        call(engine="dask", scheduler="tcp://127.0.0.1:9")
    with pytest.raises(noppa.NoppaError, match="has workers of its own: leave out --workers"):
        call(engine="dask", scheduler="tcp://127.0.0.1:9", workers=2)
    with pytest.raises(noppa.NoppaError, match=r"no Spark answers at spark://127.0.0.1:9"):
        call(engine="spark", scheduler="spark://127.0.0.1:9")
    with pytest.raises(noppa.NoppaError, match="workers must be"):
        call(engine="dask", workers=0)
    for module, name in {"distributed": "dask", "pyspark.sql": "spark"}.items():
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            with pytest.raises(noppa.NoppaError, match=rf"pip install 'noppa\[{name}\]'"):
                call(engine=name)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "fsspec", None)
        with pytest.raises(noppa.NoppaError, match=r"pip install 'noppa\[dask\]'"):
            call()
    assert cluster.ENGINES.keys() == {"dask", "spark", "single"}

"""What happens to an index on disk when its writers are killed, starved, or meet each other, while readers look on."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import noppa
from noppa import Encoder, Index, NoppaError, WordVectors
from noppa.search import storage as index_storage

ROOT = Path(__file__).resolve().parent.parent.parent
WORDS = [f"w{number}" for number in range(500)]
#: Texts of one change, and how many are in the index before the first.
CHANGE, AT_FIRST = 40, 200
#: Limits of a file's size that a change runs into early, late, or not at all.
SIZES = (0, 2000, 20_000)
PATIENCE = 300


def model(folder: Path) -> Encoder:
    """A small saved encoder."""
    if not (folder / "model").exists():
        matrix = np.random.default_rng(5).normal(size=(len(WORDS), 16))
        Encoder(WordVectors(WORDS, matrix), noppa.Average()).save(folder / "model")
    return noppa.load(folder / "model")


def texts_of(numbers: range) -> list[str]:
    """The texts of some ids: whoever knows the id knows the text."""
    return [f"{WORDS[n % 500]} {WORDS[n * 7 % 500]} number {n}" for n in numbers]


def begin(folder: Path) -> Index:
    index = Index.open(folder / "index", model(folder))
    first = range(AT_FIRST)
    index.add(texts_of(first), [*first], [{"number": n} for n in first])
    return index


def change(path: str, start: int, changes: int) -> None:
    """In a process of its own: add, delete, compact, and note each change before it begins and after it is done.

    Change c adds the ids from AT_FIRST + c * CHANGE on and then deletes the first half of them.
    """
    index = Index.open(Path(path) / "index", model(Path(path)))
    log = os.open(Path(path) / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in range(start, start + changes):
        ids = range(AT_FIRST + number * CHANGE, AT_FIRST + (number + 1) * CHANGE)
        os.write(log, f"adding {number}\n".encode())
        patiently(lambda ids=ids: index.add(texts_of(ids), [*ids], [{"number": n} for n in ids]))
        os.write(log, f"added {number}\n".encode())
        os.write(log, f"deleting {number}\n".encode())
        patiently(lambda ids=ids: index.delete([*ids][: CHANGE // 2]))
        os.write(log, f"deleted {number}\n".encode())
        if number % 5 == 4:
            patiently(index.compact)


def patiently(run: Callable[[], object]) -> None:
    """Run again where another writer was in the way for too long, as it says one should."""
    for _ in range(20):
        try:
            run()
            return
        except NoppaError as error:
            if "another process is writing" not in str(error):
                raise
    sys.exit("another process is writing, again and again")


def add_once(path: str) -> None:
    """In a process of its own: add a text, and say in one line what was wrong."""
    try:
        Index.open(Path(path) / "index", model(Path(path))).add("a text")
    except NoppaError as error:
        sys.exit(str(error))


def read(path: str) -> None:
    """In a process of its own: read until the file `stop` is there; each view must be of whole changes."""
    folder, views = Path(path), 0
    index = Index.open(folder / "index", model(folder))
    while not (folder / "stop").exists():
        looked = index if views % 2 else Index.open(folder / "index", model(folder), create=False)
        check_whole(looked.search("number", 10**6, mode="words").ids)
        views += 1
    print(views)


def check_whole(found: list[str]) -> None:
    """No id twice, and of each change nothing, all, or the second half."""
    ids = sorted(map(int, found))
    assert len(set(ids)) == len(ids), "an id is there twice"
    assert ids[:AT_FIRST] == [*range(AT_FIRST)], "texts of the beginning are gone"
    for number, own in Counter((n - AT_FIRST) // CHANGE for n in ids[AT_FIRST:]).items():
        assert own in (CHANGE, CHANGE // 2), f"{own} texts of change {number}"


def expected(before: set[int], log: str) -> tuple[set[int], set[int]]:
    """Ids that must be there after the changes of a log, and those that may be."""
    sure, maybe = set(before), set[int]()
    for line in log.splitlines():
        action, number = line.split()
        start = AT_FIRST + int(number) * CHANGE
        every, half = set(range(start, start + CHANGE)), set(range(start, start + CHANGE // 2))
        if action == "adding":
            maybe |= every
        elif action == "added":
            sure, maybe = sure | every, maybe - every
        elif action == "deleting":
            sure, maybe = sure - half, maybe | half
        else:
            maybe -= half
    return sure, maybe


def check_committed(folder: Path, before: set[int]) -> tuple[set[int], str]:
    """What was committed is there, with its own text and number, each once; what was not, is there whole or not at all.

    Gives the ids that are there, and how the last change ended.
    """
    index = Index.open(folder / "index", model(folder), create=False)
    found = index.search("number", 10**6, mode="words")
    check_whole(found.ids)
    there = set(map(int, found.ids))
    sure, maybe = expected(before, (folder / "log").read_text())
    assert sure <= there, f"lost: {sorted(sure - there)[:5]}"
    assert there <= sure | maybe, f"back again: {sorted(there - sure - maybe)[:5]}"
    assert len(index) == len(there)
    for hit in found:
        assert hit.metadata == {"number": int(hit.id)}
        assert hit.text == texts_of(range(int(hit.id), int(hit.id) + 1))[0]
    if not maybe:
        return there, "killed between two changes"
    return there, "killed in a change"


def process(call: str) -> subprocess.Popen[str]:
    program = f"from reliability.chaos import index; index.{call}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    return subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**environment, "OPENBLAS_NUM_THREADS": "1", "NOPPA_THREADS": "1"},
    )


def ended(child: subprocess.Popen[str]) -> tuple[int, str, str]:
    output, errors = child.communicate(timeout=PATIENCE)
    return child.returncode, output.strip(), errors.strip()


def wait_for(log: Path, child: subprocess.Popen[str]) -> None:
    """Wait until a process has noted that it begins."""
    deadline = time.monotonic() + PATIENCE
    while not log.stat().st_size and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)


def scenario_killed_while_changing(folder: Path, rounds: int) -> dict[str, int]:
    """kill -9 at random moments, with a reader at work all the time."""
    begin(folder)
    log, there, next_change = folder / "log", set(range(AT_FIRST)), 0
    reader, outcomes = process(f"read({str(folder)!r})"), Counter[str]()
    for number in range(rounds):
        log.write_text("")
        child = process(f"change({str(folder)!r}, {next_change}, 10**6)")
        wait_for(log, child)
        time.sleep(random.Random(number).uniform(0, 0.8))
        child.kill()
        code, _, errors = ended(child)
        assert code == -signal.SIGKILL, errors
        there, outcome = check_committed(folder, there)
        outcomes[outcome] += 1
        next_change = 1 + max(int(line.split()[1]) for line in log.read_text().splitlines())
    (folder / "stop").touch()
    code, views, errors = ended(reader)
    assert code == 0, errors
    index = Index.open(folder / "index", model(folder))
    index.add("the end")
    index.compact()
    names = {path.name for path in (folder / "index").iterdir()}
    assert len(names) == 3, f"left behind: {names}"
    return {**outcomes, "changes": next_change, "views of a reader": int(views)}


def scenario_two_writers(folder: Path, rounds: int) -> dict[str, int]:
    """Two processes that change one index in turn: each waits for the other, and nothing is lost."""
    begin(folder)
    (folder / "log").write_text("")
    there = set(range(AT_FIRST))
    for number in range(rounds):
        first = number * 8
        both = [process(f"change({str(folder)!r}, {first + at}, 4)") for at in (0, 4)]
        for child in both:
            code, _, errors = ended(child)
            assert code == 0, errors
        assert check_committed(folder, there)[1] == "killed between two changes"
    return {"both done": rounds}


def scenario_refused_writer(folder: Path, rounds: int) -> dict[str, int]:
    """While one process holds the lock, another is told so in one sentence, and readers read."""
    index = begin(folder)
    for _ in range(rounds):
        with index_storage.SegmentLog(folder / "index").writing():
            child = process(f"add_once({str(folder)!r})")
            code, _, errors = ended(child)
            assert code == 1
            assert "another process is writing" in errors, errors
            assert "\n" not in errors, errors
            assert len(index.search("number", 10**6, mode="words")) == AT_FIRST
    return {"refused": rounds}


def scenario_full_disk(folder: Path, rounds: int) -> dict[str, int]:
    """A limit on the size of a file, which every system has, stands for the full disk."""
    index, outcomes = begin(folder), Counter[str]()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for number in range(rounds):
        before, message = len(index), ""
        limit = SIZES[number % len(SIZES)]
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            index.add(texts_of(range(5000, 5000 + 20 * CHANGE)))
        except NoppaError as error:
            message = str(error)
        finally:
            unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        assert "\n" not in message, message
        assert len(index) == before or not message
        outcomes["refused" if message else "written"] += 1
    return dict(outcomes)

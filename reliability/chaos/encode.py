"""`noppa encode` under kills, second writers, full and read-only disks, changed inputs, jumping clocks, few descriptors.

Whatever happens, the output is absent, or whole and equal to the byte, and `--resume` gets from one to the other.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from reliability.chaos._commands import (
    MAIN,
    ended,
    file_size_limit,
    model_and_texts,
    none_writes_but_one,
    wait_for,
)

#: `noppa` with a wall clock that jumps by a day at every call.
JUMPING = """
import itertools, time
wall, jumps = time.time, itertools.cycle((0.0, -86400.0, 86400.0))
time.time = lambda: wall() + next(jumps)
from noppa.cli import main
main()
"""


def prepared(folder: Path) -> tuple[Path, Path]:
    """A model, and texts that take a second or two; gives the texts and the output of an undisturbed run."""
    texts = model_and_texts(folder, words=200, dim=32, records=60_000, length=24)
    whole = folder / "whole.npy"
    assert ended(start(folder, whole)) == 0
    return texts, whole


def start(
    folder: Path, target: Path, *more: str, program: list[str] = MAIN, **options: Any
) -> subprocess.Popen[bytes]:
    source, model = str(folder / "texts.txt"), str(folder / "model")
    command = [*program, "encode", source, "-m", model, "-o", str(target), "--threads", "1", *more]
    return subprocess.Popen(command, stderr=subprocess.PIPE, **options)


def resumed(folder: Path, target: Path, whole: Path) -> None:
    assert ended(start(folder, target, "--resume")) == 0
    assert target.read_bytes() == whole.read_bytes(), f"{target} has other bytes than a whole run"


def cleared(target: Path) -> None:
    for path in target.parent.glob(f"*{target.name}*"):
        path.unlink()


def scenario_killed_and_resumed(folder: Path, rounds: int) -> dict[str, int]:
    """kill -9 at random moments, several times over; at last --resume gives the same bytes."""
    texts, whole = prepared(folder)
    random_, outcomes = random.Random(1), Counter[str]()
    for number in range(rounds):
        target = folder / ("v.npy" if number % 2 else "v.jsonl")
        expected = whole if target.suffix == ".npy" else folder / "whole.jsonl"
        if not expected.exists():
            assert ended(start(folder, expected)) == 0
        for _ in range(random_.randint(1, 3)):
            process = start(folder, target, "--resume")
            time.sleep(random_.uniform(0.3, 3.0))
            process.kill()
            outcomes["killed" if ended(process) == -signal.SIGKILL else "was done before"] += 1
            assert not target.exists() or target.read_bytes() == expected.read_bytes()
        resumed(folder, target, expected)
        outcomes["resumed to equal bytes"] += 1
        cleared(target)
    assert texts.exists()
    return dict(outcomes)


def scenario_signals(folder: Path, rounds: int) -> dict[str, int]:
    """SIGTERM and Ctrl-C at random moments: nothing is left, or with --resume a way on."""
    _, whole = prepared(folder)
    random_, outcomes = random.Random(2), Counter[str]()
    target = folder / "v.npy"
    for number in range(rounds):
        more = ["--resume"] if number % 2 else []
        process = start(folder, target, *more)
        wait_for(process, (folder / ".v.npy.partial").exists)
        time.sleep(random_.uniform(0, 1.5))
        process.send_signal(random_.choice((signal.SIGTERM, signal.SIGINT)))
        code = ended(process)
        left = sorted(path.name for path in folder.glob(".v.npy*"))
        if code == 0:
            outcomes["was done before"] += 1
        elif more:
            outcomes["kept for --resume" if left else "nothing to keep yet"] += 1
        else:
            assert left == [], left
            outcomes["nothing left"] += 1
        if more:
            resumed(folder, target, whole)
        cleared(target)
    return dict(outcomes)


def scenario_two_writers(folder: Path, rounds: int) -> dict[str, int]:
    """Several runs to one output at once: one writes it, the others are refused."""
    _, whole = prepared(folder)
    outcomes = Counter[str]()
    target = folder / "v.npy"
    for _ in range(rounds):
        runs = [start(folder, target, "--resume") for _ in range(3)]
        outcomes.update(none_writes_but_one(runs))
        assert target.read_bytes() == whole.read_bytes()
        cleared(target)
    return dict(outcomes)


def scenario_full_disk(folder: Path, rounds: int) -> dict[str, int]:
    """The disk is full after some bytes: nothing appears, and with room the same command goes on."""
    _, whole = prepared(folder)
    random_, outcomes = random.Random(3), Counter[str]()
    target = folder / "v.npy"
    for _ in range(rounds):
        size = random_.randrange(100, whole.stat().st_size)
        assert ended(start(folder, target, "--resume", preexec_fn=file_size_limit(size))) == 1
        assert not target.exists()
        outcomes["refused"] += 1
        resumed(folder, target, whole)
        cleared(target)
    return dict(outcomes)


def scenario_read_only_folder(folder: Path, rounds: int) -> dict[str, int]:
    """A folder that nothing may be written to. Root may write everywhere: there the folder is /proc."""
    prepared(folder)
    closed = folder / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    target = Path("/proc/v.npy") if os.access(closed, os.W_OK) else closed / "v.npy"
    for _ in range(rounds):
        assert ended(start(folder, target)) == 1
        assert not target.exists()
    closed.chmod(0o755)
    return {"refused": rounds}


def scenario_deleted_output(folder: Path, rounds: int) -> dict[str, int]:
    """Somebody removes the partial file, or its whole folder, during the run."""
    _, whole = prepared(folder)
    random_, outcomes = random.Random(4), Counter[str]()
    for number in range(rounds):
        place = folder / f"place{number}"
        place.mkdir()
        target = place / "v.npy"
        process = start(folder, target, "--resume")
        wait_for(process, lambda place=place: any(place.iterdir()))
        time.sleep(random_.uniform(0, 1))
        for path in place.iterdir():
            path.unlink(missing_ok=True)
        if number % 2:
            place.rmdir()
        code = ended(process)
        assert code in (0, 1)
        outcomes["refused" if code else "was done before"] += 1
        place.mkdir(exist_ok=True)
        resumed(folder, target, whole)
    return dict(outcomes)


def scenario_changed_input(folder: Path, rounds: int) -> dict[str, int]:
    """The input is cut, appended to or overwritten during the run: it fails, and leaves no output."""
    texts, _ = prepared(folder)
    content = texts.read_bytes()
    random_, outcomes = random.Random(5), Counter[str]()
    target = folder / "v.npy"
    for number in range(rounds):
        process = start(folder, target)
        wait_for(process, (folder / ".v.npy.partial").exists)
        time.sleep(random_.uniform(0, 0.4))
        if number % 3 == 0:
            os.truncate(texts, len(content) // 2)
        elif number % 3 == 1:
            with texts.open("ab") as file:
                file.write(b"\nword1 word2")
        else:
            texts.write_bytes(content[::-1])
        code = ended(process)
        assert target.exists() == (code == 0)
        outcomes["refused" if code else "was done before"] += 1
        texts.write_bytes(content)
        cleared(target)
    return dict(outcomes)


def scenario_another_input_of_the_same_size(folder: Path, rounds: int) -> dict[str, int]:
    """Killed, then resumed with other texts of the same size under the same name: refused."""
    texts, whole = prepared(folder)
    content = texts.read_bytes()
    outcomes = Counter[str]()
    target = folder / "v.npy"
    for _ in range(rounds):
        process = start(folder, target)
        wait_for(process, (folder / ".v.npy.checkpoint").exists)
        process.kill()
        if ended(process) == 0:
            outcomes["was done before"] += 1
            cleared(target)
            continue
        lines = content.split(b"\n")
        texts.write_bytes(b"\n".join(lines[::-1]))
        assert ended(start(folder, target, "--resume")) == 1
        outcomes["refused"] += 1
        texts.write_bytes(content)
        resumed(folder, target, whole)
        cleared(target)
    return dict(outcomes)


def scenario_clock_jumps(folder: Path, rounds: int) -> dict[str, int]:
    """A wall clock that jumps by days changes nothing."""
    _, whole = prepared(folder)
    target = folder / "v.npy"
    for _ in range(rounds):
        jumping = [sys.executable, "-c", JUMPING]
        assert ended(start(folder, target, "--resume", program=jumping)) == 0
        assert target.read_bytes() == whole.read_bytes()
        cleared(target)
    return {"equal bytes": rounds}


def scenario_few_descriptors(folder: Path, rounds: int) -> dict[str, int]:
    """With few file descriptors a run succeeds, or fails in one sentence and leaves a way on."""
    _, whole = prepared(folder)
    outcomes = Counter[str]()
    target = folder / "v.npy"
    for number in range(rounds):
        few = 6 + number % 12

        def limit(few: int = few) -> None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (few, few))

        process = start(folder, target, "--resume", preexec_fn=limit)
        _, message = process.communicate(timeout=300)
        assert process.returncode in (0, 1), message.decode()
        outcomes["failed" if process.returncode else "equal bytes"] += 1
        resumed(folder, target, whole)
        cleared(target)
    return dict(outcomes)

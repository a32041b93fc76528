"""`noppa cluster` on one process under kills, second drivers, full disks, changed inputs and damaged manifests.

Whatever happens, the same command ends with the parts of a whole run, or is refused in one sentence.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
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


def prepared(folder: Path) -> dict[str, bytes]:
    """A model and texts; gives the parts of an undisturbed run."""
    model_and_texts(folder, words=100, dim=16, records=20_000, length=12)
    assert ended(start(folder, "whole")) == 0
    return parts(folder, "whole")


def start(folder: Path, output: str, **options: Any) -> subprocess.Popen[bytes]:
    arguments = ["cluster", "encode", "texts.txt", "-o", output, "-m", "model"]
    command = [*MAIN, *arguments, "--engine", "single", "--shard-size", "0.05"]
    return subprocess.Popen(
        command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, **options
    )


def parts(folder: Path, output: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / output).glob("part-*.parquet")}


def begun(folder: Path, output: str) -> subprocess.Popen[bytes]:
    """A run whose first part is there."""
    process = start(folder, output)
    wait_for(process, lambda: any((folder / output).glob("part-*")))
    return process


def scenario_killed_and_started_again(folder: Path, rounds: int) -> dict[str, int]:
    """kill -9 and SIGTERM at random moments; the same command ends with the same bytes."""
    whole = prepared(folder)
    random_, outcomes = random.Random(1), Counter[str]()
    for number in range(rounds):
        output = f"out{number}"
        process = begun(folder, output)
        time.sleep(random_.uniform(0, 0.5))
        chosen_signal = random_.choice((signal.SIGKILL, signal.SIGTERM))
        process.send_signal(chosen_signal)
        code = ended(process)
        assert code in (0, -signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM), code
        # Python removes our handler as it exits, so that this code means a run that had finished.
        if code == -signal.SIGTERM:
            assert parts(folder, output) == whole
        outcomes["was done before" if code == 0 else chosen_signal.name] += 1
        assert all(whole[name] == content for name, content in parts(folder, output).items())
        assert ended(start(folder, output)) == 0
        assert parts(folder, output) == whole
        assert not list((folder / output).rglob(".unfinished-*"))
        outcomes["equal bytes in the end"] += 1
    return dict(outcomes)


def scenario_two_drivers(folder: Path, rounds: int) -> dict[str, int]:
    """Several drivers to one output at once: one writes it, the others are refused or find it done."""
    whole = prepared(folder)
    outcomes = Counter[str]()
    for number in range(rounds):
        runs = [start(folder, f"out{number}") for _ in range(3)]
        outcomes.update(none_writes_but_one(runs))
        assert parts(folder, f"out{number}") == whole
    return dict(outcomes)


def scenario_full_disk(folder: Path, rounds: int) -> dict[str, int]:
    """No room for a part: refused, and with room the same command goes on."""
    whole = prepared(folder)
    random_ = random.Random(3)
    for number in range(rounds):
        size = random_.randrange(100, min(map(len, whole.values())))
        output = f"out{number}"
        assert ended(start(folder, output, preexec_fn=file_size_limit(size))) == 1
        assert not parts(folder, output)
        assert ended(start(folder, output)) == 0
        assert parts(folder, output) == whole
    return {"refused, then equal bytes": rounds}


def scenario_changed_input(folder: Path, rounds: int) -> dict[str, int]:
    """The input changes during the run, or between a kill and the next run, in size and time the same: refused."""
    prepared(folder)
    texts = folder / "texts.txt"
    content, status = texts.read_bytes(), texts.stat()
    other = b"\n".join(content.split(b"\n")[::-1])
    outcomes = Counter[str]()
    for number in range(rounds):
        output = f"out{number}"
        process = begun(folder, output)
        if number % 2:
            process.kill()
        texts.write_bytes(other)
        os.utime(texts, ns=(status.st_atime_ns, status.st_mtime_ns))
        code = ended(process)
        if number % 2:
            code = ended(start(folder, output))
        outcomes["refused" if code == 1 else "was done before"] += 1
        texts.write_bytes(content)
        os.utime(texts, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert outcomes["refused"], outcomes
    return dict(outcomes)


def scenario_damaged_manifest(folder: Path, rounds: int) -> dict[str, int]:
    """Bytes of the manifest, of a finished run or of an outcome are damaged: one sentence, or the same bytes."""
    whole = prepared(folder)
    random_, outcomes = random.Random(4), Counter[str]()
    for number in range(rounds):
        output = f"out{number}"
        assert ended(start(folder, output)) == 0
        name = random_.choice(("manifest.json", "finished.json"))
        file = folder / output / "_noppa" / name
        damaged = bytearray(file.read_bytes())
        for _ in range(random_.randint(1, 3)):
            damaged[random_.randrange(len(damaged))] = random_.randrange(256)
        file.write_bytes(bytes(damaged))
        code = ended(start(folder, output))
        assert code in (0, 1), code
        if code == 0:
            assert parts(folder, output) == whole
        outcomes["refused" if code else "equal bytes"] += 1
    return dict(outcomes)

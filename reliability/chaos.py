"""Kill, starve and race noppa's commands; each must end in the old state, the new state, or one to resume from.

python reliability/chaos.py                       # all scenarios, 3 rounds each
python reliability/chaos.py --rounds 50 encode    # the scenarios of one command, for longer

A scenario `COMMAND_NAME` gets an empty folder and a number of rounds, returns how often each outcome occurred, and raises
AssertionError if a promise is broken.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import noppa  # noqa: E402

PATIENCE = 300
NOPPA = [sys.executable, "-c", "from noppa.cli import main; main()"]

Outcomes = Counter[str]
Scenario = Callable[[Path, int], Outcomes]
Process = subprocess.Popen[str]


def start(command: list[str], **options: Any) -> Process:
    paths = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    variables = {
        **os.environ,
        "PYTHONPATH": paths,
        "OPENBLAS_NUM_THREADS": "1",
        "NOPPA_THREADS": "1",
    }
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=variables, **pipes, **options)


def start_call(call: str) -> Process:
    """Call a function of this module in its own process."""
    return start([sys.executable, "-c", f"from reliability import chaos; chaos.{call}"])


def finish(process: Process) -> tuple[int, str]:
    """Return the exit code and the error output, which must not be a traceback."""
    _, errors = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in errors, errors
    return process.returncode, errors.strip()


def wait_for(process: Process, condition: Callable[[], bool]) -> None:
    """Wait until a condition holds or the process has ended."""
    deadline = time.monotonic() + PATIENCE
    while not condition() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)


def limit(name: int, value: int) -> Callable[[], None]:
    """Return a function that limits a resource of a child; a maximum file size stands for a full disk."""

    def apply() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(name, (value, value))

    return apply


# noppa encode: the output is absent, or complete; --resume completes it


def prepare(folder: Path) -> Path:
    """Save a model and texts that take a second to encode; return the output of an undisturbed run."""
    names = [f"word{at}" for at in range(200)]
    matrix = np.random.default_rng(5).normal(size=(200, 32))
    words = noppa.WordVectors(names, matrix, np.full(200, 1 / 200))
    noppa.Encoder(words, noppa.NoPPA(k=0)).save(folder / "model")
    drawn = np.random.default_rng(6).integers(200, size=(200_000, 24))
    lines = [" ".join(names[at] for at in row) for row in drawn]
    (folder / "texts.txt").write_text("\n".join(lines))
    assert finish(encode(folder, "whole.npy"))[0] == 0
    return folder / "whole.npy"


def encode(folder: Path, target: str, *more: str, **options: Any) -> Process:
    arguments = ["encode", "texts.txt", "-m", "model", "-o", target, *more]
    return start([*NOPPA, *arguments], cwd=folder, **options)


def resume(folder: Path, target: str, whole: Path) -> None:
    """Complete an output by --resume, compare it, and delete it."""
    assert finish(encode(folder, target, "--resume"))[0] == 0
    assert (folder / target).read_bytes() == whole.read_bytes(), "other bytes than a whole run"
    clear(folder, target)


def clear(folder: Path, target: str) -> None:
    for path in folder.glob(f"*{target}*"):
        path.unlink()


def encode_killed_and_resumed(folder: Path, rounds: int) -> Outcomes:
    whole, outcomes = prepare(folder), Outcomes()
    for number in range(rounds):
        draw = random.Random(number)
        for _ in range(draw.randint(1, 3)):
            process = encode(folder, "v.npy", "--resume")
            time.sleep(draw.uniform(0.3, 1.0))
            process.send_signal(draw.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT)))
            outcomes["interrupted" if finish(process)[0] else "finished before"] += 1
            target = folder / "v.npy"
            assert not target.exists() or target.read_bytes() == whole.read_bytes()
        resume(folder, "v.npy", whole)
        outcomes["resumed to equal bytes"] += 1
    return outcomes


def encode_interrupted_without_resume(folder: Path, rounds: int) -> Outcomes:
    """SIGTERM and Ctrl-C leave nothing behind."""
    prepare(folder)
    outcomes = Outcomes()
    for number in range(rounds):
        process = encode(folder, "v.npy")
        wait_for(process, (folder / ".v.npy.partial").exists)
        process.send_signal((signal.SIGTERM, signal.SIGINT)[number % 2])
        code = finish(process)[0]
        left = sorted(path.name for path in folder.glob(".v.npy*"))
        assert code == 0 or left == [], left
        outcomes["nothing left" if code else "finished before"] += 1
        clear(folder, "v.npy")
    return outcomes


def encode_two_writers(folder: Path, rounds: int) -> Outcomes:
    whole, outcomes = prepare(folder), Outcomes()
    for _ in range(rounds):
        codes = [finish(p)[0] for p in [encode(folder, "v.npy", "--resume") for _ in range(3)]]
        assert 0 in codes, codes
        outcomes.update({"refused": codes.count(1), "written or found finished": codes.count(0)})
        assert (folder / "v.npy").read_bytes() == whole.read_bytes()
        clear(folder, "v.npy")
    return outcomes


def encode_full_disk(folder: Path, rounds: int) -> Outcomes:
    whole, outcomes = prepare(folder), Outcomes()
    for number in range(rounds):
        size = random.Random(number).randrange(100, whole.stat().st_size)
        small = limit(resource.RLIMIT_FSIZE, size)
        assert finish(encode(folder, "v.npy", "--resume", preexec_fn=small))[0] == 1
        assert not (folder / "v.npy").exists()
        resume(folder, "v.npy", whole)
        outcomes["refused, then resumed"] += 1
    return outcomes


def encode_few_descriptors(folder: Path, rounds: int) -> Outcomes:
    whole, outcomes = prepare(folder), Outcomes()
    for number in range(rounds):
        few = limit(resource.RLIMIT_NOFILE, 6 + number % 12)
        process = encode(folder, "v.npy", "--resume", preexec_fn=few)
        process.communicate(timeout=PATIENCE)  # Python itself may be unable to start
        outcomes["failed" if process.returncode else "equal bytes"] += 1
        resume(folder, "v.npy", whole)
    return outcomes


def encode_changed_input(folder: Path, rounds: int) -> Outcomes:
    """An input that changes during the run, or before it is resumed, is refused."""
    whole, outcomes = prepare(folder), Outcomes()
    texts = folder / "texts.txt"
    content = texts.read_bytes()
    for number in range(rounds):
        process = encode(folder, "v.npy", "--resume")
        wait_for(process, (folder / ".v.npy.checkpoint").exists)
        if number % 2:
            process.kill()
            finish(process)
        if number % 4 < 2:
            texts.write_bytes(content + b"\nword1 word2")
        else:
            texts.write_bytes(b"\n".join(content.split(b"\n")[::-1]))
        code = finish(encode(folder, "v.npy", "--resume") if number % 2 else process)[0]
        assert (folder / "v.npy").exists() == (code == 0)
        outcomes["refused" if code else "finished before"] += 1
        texts.write_bytes(content)
        if not code:
            clear(folder, "v.npy")
        resume(folder, "v.npy", whole)
    return outcomes


# Saving an encoder: the folder is the old one or the new one


def made_encoder(seed: int) -> noppa.Encoder:
    """Return one of two encoders, large enough that a kill often hits the middle of a save."""
    rng = np.random.default_rng(seed)
    words = ["a", "cake", "and", "lake", "the", *(f"w{number}" for number in range(3995))]
    vectors = noppa.WordVectors(words, rng.normal(size=(4000, 64)).astype(np.float32))
    texts = [" ".join(rng.choice(words, 5)) for _ in range(100)]
    return noppa.Encoder(vectors, noppa.Average(), noppa.Whitening()).fit(texts)


def state(folder: Path) -> bytes:
    return noppa.load(folder / "saved").encode(["a cake and a lake", "the lake"]).tobytes()


def states(folder: Path) -> dict[bytes, str]:
    """Return the names of both states, and leave the old one saved."""
    known = {}
    for seed, name in ((1, "new"), (0, "old")):
        made_encoder(seed).save(folder / "saved")
        known[state(folder)] = name
    return known


def save_in_turn(path: str, times: int) -> None:
    both = [made_encoder(0), made_encoder(1)]
    print("begin", flush=True)
    for number in range(times):
        both[number % 2].save(path)


def saver(folder: Path, times: int = 10**6) -> Process:
    """Return a process that has begun to save both states in turn."""
    process = start_call(f"save_in_turn({str(folder / 'saved')!r}, {times})")
    assert process.stdout is not None
    assert process.stdout.readline() == "begin\n"
    return process


def save_killed(folder: Path, rounds: int) -> Outcomes:
    known, outcomes = states(folder), Outcomes()
    for number in range(rounds):
        process = saver(folder)
        time.sleep(random.Random(number).uniform(0, 0.2))
        process.kill()
        finish(process)
        outcomes[known[state(folder)]] += 1
    return outcomes


def save_while_loading(folder: Path, rounds: int) -> Outcomes:
    known, outcomes = states(folder), Outcomes()
    process = saver(folder)
    for _ in range(100 * rounds):
        outcomes[known[state(folder)]] += 1
    assert process.poll() is None, "the saving process ended too early"
    process.kill()
    finish(process)
    return outcomes


def save_two_writers(folder: Path, rounds: int) -> Outcomes:
    known, outcomes = states(folder), Outcomes()
    for _ in range(rounds):
        for process in [saver(folder, 10) for _ in range(2)]:
            _, errors = process.communicate(timeout=PATIENCE)
            # A writer that loses the race to rename fails with one sentence.
            assert process.returncode == 0 or "cannot write" in errors.splitlines()[-1], errors
        outcomes[known[state(folder)]] += 1
    return outcomes


def save_once(path: str, size: int) -> None:
    encoder = made_encoder(1)
    with tempfile.TemporaryDirectory() as elsewhere:  # imports everything a save needs
        encoder.save(Path(elsewhere, "saved"))
    limit(resource.RLIMIT_FSIZE, size)()
    try:
        encoder.save(path)
    except noppa.NoppaError as error:
        sys.exit(str(error))


def save_full_disk(folder: Path, rounds: int) -> Outcomes:
    known, outcomes = states(folder), Outcomes()
    for number in range(rounds):
        size = (0, 1000, 100_000)[number % 3]
        code, errors = finish(start_call(f"save_once({str(folder / 'saved')!r}, {size})"))
        assert code == 1, "the save succeeded"
        assert errors
        assert "\n" not in errors, errors
        assert known[state(folder)] == "old"
        assert [path.name for path in folder.iterdir()] == ["saved"], "leftovers"
        outcomes["refused"] += 1
    return outcomes


# An index on disk: committed changes survive, others are there completely or not at all

FIRST, CHANGE = 200, 40  # texts at the beginning, and texts per change


def index_model(folder: Path) -> noppa.Encoder:
    if not (folder / "model").exists():
        words = [f"w{number}" for number in range(500)]
        matrix = np.random.default_rng(5).normal(size=(500, 16))
        noppa.Encoder(noppa.WordVectors(words, matrix), noppa.Average()).save(folder / "model")
    return noppa.load(folder / "model")


def open_index(folder: Path) -> noppa.Index:
    return noppa.Index.open(folder / "index", index_model(folder))


def add(index: noppa.Index, ids: range) -> None:
    texts = [f"w{n % 500} w{n * 7 % 500} number {n}" for n in ids]
    index.add(texts, [*ids], [{"number": n} for n in ids])


def change_index(path: str, first: int, changes: int) -> None:
    """Add and delete, and log each step before and after; change c adds CHANGE ids and deletes the first half."""
    index = open_index(Path(path))
    log = os.open(Path(path) / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in range(first, first + changes):
        ids = range(FIRST + number * CHANGE, FIRST + (number + 1) * CHANGE)
        os.write(log, f"adding {number}\n".encode())
        add(index, ids)
        os.write(log, f"added {number}\ndeleting {number}\n".encode())
        index.delete([*ids][: CHANGE // 2])
        os.write(log, f"deleted {number}\n".encode())
        if number % 5 == 4:
            index.compact()


def check_index(folder: Path, before: set[int]) -> set[int]:
    """Check the index against the log, and return the ids that it holds."""
    sure, possible = set(before), set[int]()
    for line in (folder / "log").read_text().splitlines():
        step, number = line.split()
        first = FIRST + int(number) * CHANGE
        ids, half = set(range(first, first + CHANGE)), set(range(first, first + CHANGE // 2))
        if step == "adding":
            possible |= ids
        elif step == "added":
            sure, possible = sure | ids, possible - ids
        elif step == "deleting":
            sure, possible = sure - half, possible | half
        else:
            possible -= half
    hits = open_index(folder).search("number", 10**6, mode="words")
    found = {int(hit.id) for hit in hits}
    assert len(found) == len(hits), "an id occurs twice"
    assert sure <= found, f"lost: {sorted(sure - found)[:5]}"
    assert found <= sure | possible, f"reappeared: {sorted(found - sure - possible)[:5]}"
    assert len(found & possible) in (0, CHANGE // 2, CHANGE), "half a change"
    assert all(hit.metadata == {"number": int(hit.id)} for hit in hits)
    return found


def index_killed_while_changing(folder: Path, rounds: int) -> Outcomes:
    add(open_index(folder), range(FIRST))
    found, next_change, outcomes = set(range(FIRST)), 0, Outcomes()
    for number in range(rounds):
        log = folder / "log"
        log.write_text("")
        process = start_call(f"change_index({str(folder)!r}, {next_change}, 10**6)")
        wait_for(process, lambda log=log: log.stat().st_size > 0)  # type: ignore[misc]
        time.sleep(random.Random(number).uniform(0, 0.8))
        process.kill()
        assert finish(process)[0] == -signal.SIGKILL
        found = check_index(folder, found)
        outcomes["killed"] += 1
        next_change = 1 + max(int(line.split()[1]) for line in log.read_text().splitlines())
    outcomes["changes"] = next_change
    return outcomes


def index_two_writers(folder: Path, rounds: int) -> Outcomes:
    add(open_index(folder), range(FIRST))
    (folder / "log").write_text("")
    for number in range(rounds):
        both = [start_call(f"change_index({str(folder)!r}, {8 * number + at}, 4)") for at in (0, 4)]
        for process in both:
            assert finish(process)[0] == 0
        check_index(folder, set(range(FIRST)))
    return Outcomes({"both finished": rounds})


def index_full_disk(folder: Path, rounds: int) -> Outcomes:
    index, outcomes = open_index(folder), Outcomes()
    add(index, range(FIRST))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for number in range(rounds):
        before = len(index)
        size = (0, 2000, 20_000)[number % 3]
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        try:
            add(index, range(5000 * (number + 1), 5000 * (number + 1) + 800))
            outcomes["written"] += 1
        except noppa.NoppaError:
            assert len(index) == before
            outcomes["refused"] += 1
        finally:
            unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    return outcomes


# noppa serve: it answers after each fault, and stops cleanly


@contextmanager
def served(folder: Path, *options: str, **more: Any) -> Iterator[Any]:
    """Serve a small encoder; the server must stop cleanly."""
    from tests.serving import made_encoder as made_model
    from tests.serving import serving

    if not (folder / "small").exists():
        made_model(folder / "small")
    with serving(str(folder / "small"), *options, **more) as server:
        yield server
        assert server.stop() == 0, server.log[-5:]


def ask(server: Any) -> str:
    """Return the outcome of one request: its status, or "refused" or "cut off"."""
    import httpx

    try:
        with server.client() as client:
            return str(client.post("/embed", json={"inputs": ["the girl eats"] * 50}).status_code)
    except httpx.ConnectError:
        return "refused"
    except httpx.TransportError:
        return "cut off"


def serve_killed_workers(folder: Path, rounds: int) -> Outcomes:
    from tests.runs import wait_until
    from tests.serving import children

    outcomes = Outcomes()
    with served(folder, "--workers", "3") as server:
        for number in range(rounds):
            alive = wait_until(
                lambda: pids if len(pids := children(server.process.pid)) >= 3 else []
            )
            os.kill(random.Random(number).choice(alive), signal.SIGKILL)
            outcomes.update(ask(server) for _ in range(20))
            wait_until(lambda: ask(server) == "200")
    assert set(outcomes) <= {"200", "503", "refused", "cut off"}, outcomes
    return outcomes


def serve_few_descriptors(folder: Path, rounds: int) -> Outcomes:
    from tests.runs import wait_until

    for _ in range(rounds):
        with served(folder, limits={resource.RLIMIT_NOFILE: 64}) as server:
            for connection in [server.connect() for _ in range(200)]:
                connection.close()
            wait_until(lambda server=server: ask(server) == "200")  # type: ignore[misc]
    return Outcomes({"answers": rounds})


def serve_unwritable_disk(folder: Path, rounds: int) -> Outcomes:
    for _ in range(rounds):
        with served(folder, limits={resource.RLIMIT_FSIZE: 0}) as server:
            assert ask(server) == "200"
    return Outcomes({"answers": rounds})


# The driver

COMMANDS = ("encode", "save", "index", "serve")
HELPERS = {"save_in_turn", "save_once", "index_model"}


def scenarios(commands: list[str]) -> list[tuple[str, str, Scenario]]:
    """Return command, name and function of the scenarios of some commands, or of all."""
    found = []
    for name, value in globals().items():
        command, _, what = name.partition("_")
        if command in (commands or COMMANDS) and what and name not in HELPERS:
            found.append((command, what, value))
    return found


def play(command: str, name: str, scenario: Scenario, rounds: int) -> dict[str, Any]:
    """Return the record of one scenario: its outcomes, or the error that ended it."""
    record: dict[str, Any] = {"command": command, "scenario": name, "rounds": rounds}
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="noppa-chaos-") as folder:
        try:
            record["outcomes"] = dict(scenario(Path(folder), rounds))
        except Exception as error:
            traceback.print_exc()
            record["error"] = f"{type(error).__name__}: {error}"[:500]
    return {**record, "seconds": round(time.monotonic() - began, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("commands", nargs="*", choices=[*COMMANDS, []], help="default: all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=Path, help="JSON lines to write")
    options = parser.parse_args()
    records = []
    for scenario in scenarios(options.commands):
        records.append(play(*scenario, options.rounds))
        print(json.dumps(records[-1]), flush=True)
    if options.results:
        lines = "".join(json.dumps(record) + "\n" for record in records)
        options.results.write_text(lines, encoding="utf-8")
    sys.exit(any("error" in record for record in records))


if __name__ == "__main__":
    main()

"""What happens to an encoder that is being saved when something goes wrong: two states of one folder, saved in turn."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import noppa
from noppa import Encoder, NoppaError, WordVectors

ROOT = Path(__file__).resolve().parent.parent.parent
NAMES = ("old", "new")
TEXTS = ["a cake and a lake", "the lake"]
NOBODY = 65534
#: Limits that a save runs into at its beginning, in its middle, or not at all.
SIZES, FILES = (0, 1000, 100_000), (4, 5, 6, 7, 64)


def made(name: str) -> Any:
    """One of the two states: large enough that a kill often hits the middle of a save."""
    rng = np.random.default_rng(NAMES.index(name))
    vectors = rng.normal(size=(4000, 64)).astype(np.float32)
    words = ["a", "cake", "and", "lake", "the", *(f"w{number}" for number in range(3995))]
    texts = [" ".join(rng.choice(words, 5)) for _ in range(100)]
    return Encoder(WordVectors(words, vectors), noppa.Average(), noppa.Whitening()).fit(texts)


def state(path: Path) -> bytes:
    """What tells the states apart, of the folder as it is now."""
    return noppa.load(path).encode(TEXTS).tobytes()


def states(folder: Path) -> dict[bytes, str]:
    """The names of the states, by what `state` gives; the old one is left as `saved`."""
    known = {}
    for name in reversed(NAMES):
        made(name).save(folder / "saved")
        known[state(folder / "saved")] = name
    return known


def name_of(folder: Path, known: dict[bytes, str]) -> str:
    """Which state is saved; anything else is a failure."""
    name = known.get(state(folder / "saved"))
    assert name is not None, "the saved folder is neither the old nor the new one"
    return name


def no_leftovers(folder: Path) -> None:
    left = [path.name for path in folder.iterdir() if path.name != "saved"]
    assert not left, f"left behind: {left}"


def save_in_turn(path: str, times: int) -> None:
    """In a process of its own: save the two states again and again, after saying that it begins."""
    both = [made(name) for name in NAMES]
    print("begin", flush=True)
    for number in range(times):
        both[number % 2].save(path)


def save_once(path: str, hindrance: str) -> None:
    """In a process of its own: save the new state after a hindrance, and say in one line what was wrong."""
    item = made("new")
    # Imports what a save needs while files can be opened.
    with tempfile.TemporaryDirectory() as elsewhere:
        item.save(Path(elsewhere, "saved"))
    exec(hindrance, {"os": os, "resource": resource})
    try:
        item.save(path)
    except NoppaError as error:
        sys.exit(str(error))


def process(call: str, **options: Any) -> subprocess.Popen[str]:
    program = f"from reliability.chaos import save; save.{call}"
    return subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}, **options,
    )  # fmt: skip


def begun(folder: Path, times: int = 10**6) -> subprocess.Popen[str]:
    """A process that saves in turn, from the moment when it begins."""
    child = process(f"save_in_turn({str(folder / 'saved')!r}, {times})")
    assert child.stdout is not None
    assert child.stdout.readline() == "begin\n"
    return child


def ended(child: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = child.communicate(timeout=300)
    return child.returncode, errors.strip()


def scenario_killed_while_saving(folder: Path, rounds: int) -> dict[str, int]:
    known, outcomes = states(folder), Counter[str]()
    for number in range(rounds):
        child = begun(folder)
        time.sleep(random.Random(number).uniform(0, 0.2))
        child.kill()
        ended(child)
        outcomes[name_of(folder, known)] += 1
        hidden = len(list(folder.iterdir())) - 1
        outcomes["left unfinished"] += hidden
        made("old").save(folder / "saved")
    return dict(outcomes)


def scenario_loaded_while_saving(folder: Path, rounds: int) -> dict[str, int]:
    known, outcomes = states(folder), Counter[str]()
    child = begun(folder)
    try:
        for _ in range(100 * rounds):
            outcomes[name_of(folder, known)] += 1
        assert child.poll() is None, "nobody was saving"
    finally:
        child.kill()
        ended(child)
    made("old").save(folder / "saved")
    no_leftovers(folder)
    return dict(outcomes)


def scenario_two_writers(folder: Path, rounds: int) -> dict[str, int]:
    known, outcomes = states(folder), Counter[str]()
    for _ in range(rounds):
        both = [begun(folder, 10) for _ in range(2)]
        for child in both:
            code, errors = ended(child)
            # A writer that loses the race to rename fails with one sentence, and the other's folder is complete.
            assert code == 0 or "cannot write" in errors.splitlines()[-1], errors
        outcomes[name_of(folder, known)] += 1
        made("old").save(folder / "saved")
        no_leftovers(folder)
    return dict(outcomes)


def hindered(folder: Path, hindrances: list[str]) -> dict[str, int]:
    """Save under each hindrance: one sentence and the old state, or the new state; nothing is left behind."""
    known, outcomes = states(folder), Counter[str]()
    for hindrance in hindrances:
        child = process(f"save_once({str(folder / 'saved')!r}, {hindrance!r})")
        code, errors = ended(child)
        folder.chmod(0o755)
        assert code == 0 or (errors and "\n" not in errors), errors
        assert name_of(folder, known) == ("new" if code == 0 else "old")
        outcomes["saved" if code == 0 else "refused"] += 1
        made("old").save(folder / "saved")
        no_leftovers(folder)
    return dict(outcomes)


def scenario_full_disk(folder: Path, rounds: int) -> dict[str, int]:
    """A limit on the size of a file, which every system has, stands for the full disk."""
    limits = [f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))" for size in SIZES]
    outcomes = hindered(folder, (limits * rounds)[:rounds])
    assert outcomes == {"refused": rounds}
    return outcomes


def scenario_read_only_folder(folder: Path, rounds: int) -> dict[str, int]:
    """As another user if this one is root, whom no rights stop."""
    inside = folder / "inside"
    inside.mkdir()
    folder.chmod(0o755)
    closed = f"os.setuid({NOBODY})" if os.geteuid() == 0 else f"os.chmod({str(inside)!r}, 0o555)"
    outcomes = Counter[str]()
    for _ in range(rounds):
        outcomes.update(hindered(inside, [closed]))
    assert outcomes == {"refused": rounds}
    return dict(outcomes)


def scenario_few_files(folder: Path, rounds: int) -> dict[str, int]:
    """From too few file descriptors up to enough."""
    limits = [f"resource.setrlimit(resource.RLIMIT_NOFILE, ({count}, {count}))" for count in FILES]
    return hindered(folder, (limits * rounds)[:rounds])

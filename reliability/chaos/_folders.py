"""What the scenarios of `save` and `index` share: two states of one folder, and processes that save them in turn."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import noppa
from noppa import Encoder, NoppaError, WordVectors
from noppa.search.index import Index

ROOT = Path(__file__).resolve().parent.parent.parent
NAMES = ("old", "new")
TEXTS = ["a cake and a lake", "the lake"]
NOBODY = 65534
#: Limits that a save runs into at its beginning, in its middle, or not at all.
SIZES, FILES = (0, 1000, 100_000), (4, 5, 6, 7, 64)


def made(kind: str, name: str) -> Any:
    """One of the two states: large enough that a kill often hits the middle of a save."""
    rng = np.random.default_rng(NAMES.index(name))
    vectors = rng.normal(size=(4000, 64)).astype(np.float32)
    words = ["a", "cake", "and", "lake", "the", *(f"w{number}" for number in range(3995))]
    if kind == "index":
        return Index(words, vectors, header={"model": None, "seal of model": None})
    texts = [" ".join(rng.choice(words, 5)) for _ in range(100)]
    return Encoder(WordVectors(words, vectors), noppa.Average(), noppa.Whitening()).fit(texts)


def state(kind: str, path: Path) -> bytes:
    """What tells the states apart, of the folder as it is now."""
    if kind == "index":
        return Index.load(path).vectors.tobytes()
    return noppa.load(path).encode(TEXTS).tobytes()


def states(kind: str, folder: Path) -> dict[bytes, str]:
    """The names of the states, by what `state` gives; the old one is left as `saved`."""
    known = {}
    for name in reversed(NAMES):
        made(kind, name).save(folder / "saved")
        known[state(kind, folder / "saved")] = name
    return known


def name_of(kind: str, folder: Path, known: dict[bytes, str]) -> str:
    """Which state is saved; anything else is a failure."""
    name = known.get(state(kind, folder / "saved"))
    assert name is not None, "the saved folder is neither the old nor the new one"
    return name


def no_leftovers(folder: Path) -> None:
    left = [path.name for path in folder.iterdir() if path.name != "saved"]
    assert not left, f"left behind: {left}"


def save_in_turn(kind: str, path: str, times: int) -> None:
    """In a process of its own: save the two states again and again, after saying that it begins."""
    both = [made(kind, name) for name in NAMES]
    print("begin", flush=True)
    for number in range(times):
        both[number % 2].save(path)


def save_once(kind: str, path: str, hindrance: str) -> None:
    """In a process of its own: save the new state after a hindrance, and say in one line what was wrong."""
    item = made(kind, "new")
    # Imports what a save needs while files can be opened.
    with tempfile.TemporaryDirectory() as elsewhere:
        item.save(Path(elsewhere, "saved"))
    exec(hindrance, {"os": os, "resource": resource})
    try:
        item.save(path)
    except NoppaError as error:
        sys.exit(str(error))


def process(call: str, **options: Any) -> subprocess.Popen[str]:
    program = f"from reliability.chaos import _folders; _folders.{call}"
    return subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}, **options,
    )  # fmt: skip


def begun(kind: str, folder: Path, times: int = 10**6) -> subprocess.Popen[str]:
    """A process that saves in turn, from the moment when it begins."""
    child = process(f"save_in_turn({kind!r}, {str(folder / 'saved')!r}, {times})")
    assert child.stdout is not None
    assert child.stdout.readline() == "begin\n"
    return child


def ended(child: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = child.communicate(timeout=300)
    return child.returncode, errors.strip()


def killed_while_saving(kind: str, folder: Path, rounds: int) -> dict[str, int]:
    known, outcomes = states(kind, folder), Counter[str]()
    for number in range(rounds):
        child = begun(kind, folder)
        time.sleep(random.Random(number).uniform(0, 0.2))
        child.kill()
        ended(child)
        outcomes[name_of(kind, folder, known)] += 1
        hidden = len(list(folder.iterdir())) - 1
        outcomes["left unfinished"] += hidden
        made(kind, "old").save(folder / "saved")
        no_leftovers(folder)
    return dict(outcomes)


def loaded_while_saving(kind: str, folder: Path, rounds: int) -> dict[str, int]:
    known, outcomes = states(kind, folder), Counter[str]()
    child = begun(kind, folder)
    try:
        for _ in range(100 * rounds):
            outcomes[name_of(kind, folder, known)] += 1
        assert child.poll() is None, "nobody was saving"
    finally:
        child.kill()
        ended(child)
    made(kind, "old").save(folder / "saved")
    no_leftovers(folder)
    return dict(outcomes)


def two_writers(kind: str, folder: Path, rounds: int) -> dict[str, int]:
    known, outcomes = states(kind, folder), Counter[str]()
    for _ in range(rounds):
        both = [begun(kind, folder, 10) for _ in range(2)]
        for child in both:
            code, errors = ended(child)
            assert code == 0, errors
        outcomes[name_of(kind, folder, known)] += 1
        no_leftovers(folder)
    return dict(outcomes)


def hindered(kind: str, folder: Path, hindrances: list[str]) -> dict[str, int]:
    """Save under each hindrance: one sentence and the old state, or the new state; nothing is left behind."""
    known, outcomes = states(kind, folder), Counter[str]()
    for hindrance in hindrances:
        child = process(f"save_once({kind!r}, {str(folder / 'saved')!r}, {hindrance!r})")
        code, errors = ended(child)
        folder.chmod(0o755)
        assert code == 0 or (errors and "\n" not in errors), errors
        assert name_of(kind, folder, known) == ("new" if code == 0 else "old")
        outcomes["saved" if code == 0 else "refused"] += 1
        made(kind, "old").save(folder / "saved")
        no_leftovers(folder)
    return dict(outcomes)


def full_disk(kind: str, folder: Path, rounds: int) -> dict[str, int]:
    """A limit on the size of a file, which every system has, stands for the full disk."""
    limits = [f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))" for size in SIZES]
    outcomes = hindered(kind, folder, (limits * rounds)[:rounds])
    assert outcomes == {"refused": rounds}
    return outcomes


def read_only_folder(kind: str, folder: Path, rounds: int) -> dict[str, int]:
    """As another user if this one is root, whom no rights stop."""
    inside = folder / "inside"
    inside.mkdir()
    folder.chmod(0o755)
    closed = f"os.setuid({NOBODY})" if os.geteuid() == 0 else f"os.chmod({str(inside)!r}, 0o555)"
    outcomes = Counter[str]()
    for _ in range(rounds):
        outcomes.update(hindered(kind, inside, [closed]))
    assert outcomes == {"refused": rounds}
    return dict(outcomes)


def few_files(kind: str, folder: Path, rounds: int) -> dict[str, int]:
    """From too few file descriptors up to enough."""
    limits = [f"resource.setrlimit(resource.RLIMIT_NOFILE, ({count}, {count}))" for count in FILES]
    return hindered(kind, folder, (limits * rounds)[:rounds])


def scenarios(kind: str) -> dict[str, Callable[[Path, int], dict[str, int]]]:
    """Every scenario, for one kind of folder, under the names that the driver looks for."""
    every = (
        killed_while_saving,
        loaded_while_saving,
        two_writers,
        full_disk,
        read_only_folder,
        few_files,
    )
    return {f"scenario_{play.__name__}": partial(play, kind) for play in every}

"""Runs the fuzz targets: the Python files of this folder under atheris, and built libFuzzer programs.

python reliability/fuzz/run.py                          # every Python target, 10 seconds each
python reliability/fuzz/run.py --seconds 300 records    # one of them, for longer
python reliability/fuzz/run.py --native build/fuzz      # the C++ targets as well

A Python target has `SEEDS`, a list of bytes, and `once(data)`, which raises only for a bug. What a fuzzer learns lies in
build/fuzz-corpus between runs; an input that crashes is copied to corpus/NAME, which tests/test_fuzz.py replays.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CORPUS = HERE / "corpus"
LEARNED = ROOT / "build" / "fuzz-corpus"
#: Seconds that one input may take before it counts as a hang, and megabytes before it counts as a leak.
HANG_SECONDS = 60
MEMORY_MB = 2048
LONGEST_INPUT = 4096


@dataclass
class Outcome:
    """What one fuzzer did: the record that goes into the results."""

    target: str
    engine: str
    seconds: float
    executions: int
    corpus: int
    crashes: list[str]
    commit: str


def targets() -> list[str]:
    """The names of the Python targets."""
    names = (path.stem for path in HERE.glob("*.py"))
    return sorted(name for name in names if name != "run" and not name.startswith("_"))


def load(name: str) -> ModuleType:
    """A target's module."""
    # Not this folder, where a script finds its imports first: targets are named after what they feed.
    sys.path[:] = [str(ROOT), *(path for path in sys.path if path not in (str(ROOT), str(HERE)))]
    return importlib.import_module(f"reliability.fuzz.{name}")


def cases(name: str) -> list[Path]:
    """The committed inputs of a target, each of which was once worth keeping."""
    return sorted(path for path in (CORPUS / name).glob("*") if path.is_file())


def has_atheris() -> bool:
    return importlib.util.find_spec("atheris") is not None


# ------------------------------------------------------------------ inside the process of one target


class PlainLoaders(MetaPathFinder):
    """Gives noppa's modules the loader of plain files: atheris cannot instrument those of an editable install."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] != "noppa":
            return None
        others = (
            finder for finder in sys.meta_path if type(finder).__module__ != "atheris.import_hook"
        )
        specs = (finder.find_spec(name, path, target) for finder in others if finder is not self)
        spec = next(filter(None, specs), None)
        if spec and spec.origin and spec.origin.endswith(".py"):
            spec.loader = SourceFileLoader(name, spec.origin)
        return spec


def guided(name: str, arguments: list[str]) -> None:
    """Coverage-guided, by libFuzzer through atheris; ends the process."""
    import atheris

    sys.meta_path.insert(0, PlainLoaders())
    with atheris.instrument_imports(include=["noppa"]):
        target = load(name)
    atheris.Setup([name, *arguments], target.once)
    atheris.Fuzz()


def mutated(data: bytes, pool: list[bytes], random_: random.Random) -> bytes:
    """One input made from another: bytes changed, put in, taken out, or spliced from a second input."""
    made = bytearray(data)
    for _ in range(random_.randint(1, 4)):
        at = random_.randint(0, len(made))
        match random_.randrange(4):
            case 0 if at < len(made):
                made[at] ^= 1 << random_.randrange(8)
            case 1:
                made[at:at] = random_.randbytes(random_.randint(1, 8))
            case 2:
                del made[at : at + random_.randint(1, 8)]
            case _:
                other = random_.choice(pool)
                start = random_.randint(0, len(other))
                made[at:at] = other[start : start + random_.randint(0, 64)]
    return bytes(made[:LONGEST_INPUT])


def unguided(name: str, seconds: float, crashes: Path) -> None:
    """Plain mutations, where atheris is not installed; prints what libFuzzer prints of itself."""
    target = load(name)
    pool = [*target.SEEDS, *(path.read_bytes() for path in cases(name)), b""]
    random_, executions, end = random.Random(0), 0, time.monotonic() + seconds
    while time.monotonic() < end:
        data = mutated(random_.choice(pool), pool, random_)
        executions += 1
        try:
            target.once(data)
        except BaseException:
            traceback.print_exc()
            (crashes / f"crash-{executions}").write_bytes(data)
            break
    print(f"stat::number_of_executed_units: {executions}", file=sys.stderr)


# ------------------------------------------------------------------ the driver


def seeded(name: str, folder: Path) -> list[str]:
    """The folders that a fuzzer starts from, its own writable one first."""
    learned, seeds = LEARNED / name, folder / "seeds"
    for path in (learned, seeds, CORPUS / name):
        path.mkdir(parents=True, exist_ok=True)
    if name in targets():
        for number, seed in enumerate(load(name).SEEDS):
            (seeds / str(number)).write_bytes(seed)
    return [str(learned), str(seeds), str(CORPUS / name)]


def fuzzer_options(seconds: float, crashes: Path) -> list[str]:
    return [
        f"-max_total_time={max(1, round(seconds))}",
        f"-timeout={HANG_SECONDS}",
        f"-rss_limit_mb={MEMORY_MB}",
        f"-max_len={LONGEST_INPUT}",
        f"-artifact_prefix={crashes}/",
        "-print_final_stats=1",
        "-verbosity=1",
        "-detect_leaks=0",
    ]


def command(name: str, seconds: float, native: Path | None, folder: Path) -> tuple[str, list[str]]:
    """The engine and the command line of one fuzzer."""
    crashes = folder / "crashes"
    crashes.mkdir()
    options = [*fuzzer_options(seconds, crashes), *seeded(name, folder)]
    own = [sys.executable, str(HERE / "run.py"), "--inside", name]
    if native is not None:
        return "libFuzzer", [str(native), *options]
    if has_atheris():
        return "atheris", [*own, "--", *options]
    return "mutations", [*own, f"--seconds={seconds}", f"--crashes={crashes}"]


def without_progress(printed: str) -> list[str]:
    """What a fuzzer printed, without libFuzzer's lines of every new input."""
    progress = re.compile(r"#\d+\s+(NEW|REDUCE|RELOAD|pulse|INITED|DONE)|INFO: Instrumenting")
    return [line for line in printed.splitlines() if not progress.match(line)]


def commit() -> str:
    asked = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True).stdout.strip()


def fuzz(name: str, seconds: float, native: Path | None) -> Outcome:
    """Runs one fuzzer in a process of its own, and keeps the inputs that broke it."""
    with tempfile.TemporaryDirectory(prefix="noppa-fuzz-") as temporary:
        folder = Path(temporary)
        engine, line = command(name, seconds, native, folder)
        began = time.monotonic()
        # Temporary files of the target go too when it is killed.
        environment = {**os.environ, "TMPDIR": temporary}
        done = subprocess.run(
            line, capture_output=True, text=True, errors="replace", env=environment
        )
        took = time.monotonic() - began
        crashes = []
        for path in sorted((folder / "crashes").iterdir()):
            crashes.append(path.name)
            shutil.copyfile(path, CORPUS / name / path.name)
    counted = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
    corpus = sum(1 for path in (LEARNED / name).iterdir())
    if not cases(name):
        (CORPUS / name).rmdir()
    if done.returncode or crashes or not counted:
        print(done.stdout[-2000:], *without_progress(done.stderr)[-80:], sep="\n")
        crashes = crashes or [f"exit status {done.returncode}"]
    executions = int(counted[1]) if counted else 0
    return Outcome(name, engine, round(took, 1), executions, corpus, crashes, commit())


def programs(folder: Path | None) -> dict[str, Path]:
    """The built libFuzzer programs of a folder, by the name of their target."""
    names = (path.stem for path in (HERE / "native").glob("*.cpp"))
    built = {f"native_{name}": folder / name for name in names} if folder else {}
    missing = [str(path) for path in built.values() if not path.is_file()]
    if missing:
        sys.exit(f"not built: {', '.join(missing)}; run `make fuzz`")
    return built


def outcomes(
    names: list[str], seconds: float, total: float | None, native: Path | None
) -> Iterator[Outcome]:
    built = programs(native)
    known = [*targets(), *built]
    if unknown := set(names) - set(known):
        sys.exit(f"no target {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    chosen = names or known
    if total is not None:
        seconds = total / len(chosen)
    for name in chosen:
        yield fuzz(name, seconds, built.get(name))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="targets; all if none is named")
    parser.add_argument("--seconds", type=float, default=10, help="for each target")
    parser.add_argument(
        "--total", type=float, help="seconds for all targets together, in place of --seconds"
    )
    parser.add_argument("--native", type=Path, help="folder with built libFuzzer programs")
    parser.add_argument("--results", type=Path, help="JSON lines to append the outcomes to")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("--crashes", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside and given.crashes:
        return unguided(given.inside, given.seconds, given.crashes)
    if given.inside:
        return guided(given.inside, given.names)
    if not has_atheris():
        print("atheris is not installed: plain mutations, which no coverage guides")
    broken = False
    for outcome in outcomes(given.names, given.seconds, given.total, given.native):
        broken |= bool(outcome.crashes)
        print(
            f"{outcome.target}: {outcome.executions:,} executions in {outcome.seconds} s "
            f"({outcome.engine}), {outcome.corpus} inputs in the corpus, {len(outcome.crashes)} crashes",
            flush=True,
        )
        if given.results:
            with given.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(outcome)) + "\n")
    sys.exit(broken)


if __name__ == "__main__":
    main()

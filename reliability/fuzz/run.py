"""Run the fuzz targets: Python functions under atheris, and the built libFuzzer programs.

python reliability/fuzz/run.py                          # every Python target, 10 seconds each
python reliability/fuzz/run.py --seconds 300 records    # one target, for longer
python reliability/fuzz/run.py --native build/fuzz      # the C++ targets as well

A Python target is a function of bytes that raises only for a bug, and a list of seeds, both in a module of this folder. Learned inputs
stay in build/fuzz-corpus; an input that crashes is copied to corpus/TARGET, which tests/test_fuzz.py replays.
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
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CORPUS = HERE / "corpus"
LEARNED = ROOT / "build" / "fuzz-corpus"
LONGEST_INPUT = 4096
#: Limits of one input: seconds before it counts as a hang, megabytes before it counts as a leak.
LIMITS = ["-timeout=60", "-rss_limit_mb=2048", f"-max_len={LONGEST_INPUT}"]
#: Python targets by module. A target NAME has its seeds in NAME_SEEDS.
MODULES = {
    "text": ["scanner", "tokenizers"],
    "vector_files": ["counts", "fasttext_model", "npy_vectors", "safetensors", "vector_binary", "vector_text"],
    "files": ["compressed", "records"],
    "saved_folder": ["saved_classifier", "saved_folder"],
    "pooling": ["pooling"],
    "server": ["server_bodies", "server_heads"],
}  # fmt: skip
TARGETS = {name: module for module, names in MODULES.items() for name in names}


class Target(NamedTuple):
    seeds: list[bytes]
    once: Callable[[bytes], None]


def load(name: str) -> Target:
    # Not this folder, which a script searches first.
    sys.path[:] = [str(ROOT), *(path for path in sys.path if path not in (str(ROOT), str(HERE)))]
    module = importlib.import_module(f"reliability.fuzz.{TARGETS[name]}")
    return Target(getattr(module, f"{name.upper()}_SEEDS"), getattr(module, name))


def cases(name: str) -> list[Path]:
    """Return the committed inputs of a target."""
    return sorted(path for path in (CORPUS / name).glob("*") if path.is_file())


# Inside the process of one target


class PlainLoaders(MetaPathFinder):
    """Load noppa's modules from plain files: atheris cannot instrument the loaders of an editable install."""

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


def run_guided(name: str, arguments: list[str]) -> None:
    """Fuzz with coverage guidance by atheris; ends the process."""
    import atheris

    sys.meta_path.insert(0, PlainLoaders())
    with atheris.instrument_imports(include=["noppa"]):
        target = load(name)
    atheris.Setup([name, *arguments], target.once)
    atheris.Fuzz()


def mutate(data: bytes, pool: list[bytes], random_: random.Random) -> bytes:
    """Return an input with some bytes changed, inserted, deleted or spliced from another input."""
    result = bytearray(data)
    for _ in range(random_.randint(1, 4)):
        at = random_.randint(0, len(result))
        match random_.randrange(4):
            case 0 if at < len(result):
                result[at] ^= 1 << random_.randrange(8)
            case 1:
                result[at:at] = random_.randbytes(random_.randint(1, 8))
            case 2:
                del result[at : at + random_.randint(1, 8)]
            case _:
                other = random_.choice(pool)
                start = random_.randint(0, len(other))
                result[at:at] = other[start : start + random_.randint(0, 64)]
    return bytes(result[:LONGEST_INPUT])


def run_unguided(name: str, seconds: float, crashes: Path) -> None:
    """Fuzz by random mutations where atheris is not available; print libFuzzer's final statistic."""
    target = load(name)
    pool = [*target.seeds, *(path.read_bytes() for path in cases(name)), b""]
    random_, executions, end = random.Random(0), 0, time.monotonic() + seconds
    while time.monotonic() < end:
        data = mutate(random_.choice(pool), pool, random_)
        executions += 1
        try:
            target.once(data)
        except BaseException:
            traceback.print_exc()
            (crashes / f"crash-{executions}").write_bytes(data)
            break
    print(f"stat::number_of_executed_units: {executions}", file=sys.stderr)


# The driver


def fuzz(name: str, seconds: float, program: Path | None) -> dict[str, Any]:
    """Run one fuzzer in its own process, keep the inputs that broke it, and return the record of the run."""
    with tempfile.TemporaryDirectory(prefix="noppa-fuzz-") as temporary:
        crashes, seeds = Path(temporary, "crashes"), Path(temporary, "seeds")
        folders = [LEARNED / name, seeds, CORPUS / name]
        for path in (crashes, *folders):
            path.mkdir(parents=True, exist_ok=True)
        if program is None:
            for number, seed in enumerate(load(name).seeds):
                (seeds / str(number)).write_bytes(seed)
        options = [
            f"-max_total_time={max(1, round(seconds))}",
            f"-artifact_prefix={crashes}/",
            *LIMITS,
        ]
        options += ["-print_final_stats=1", "-detect_leaks=0", *map(str, folders)]
        python = [sys.executable, str(HERE / "run.py"), "--inside", name]
        if program is not None:
            engine, command = "libFuzzer", [str(program), *options]
        elif importlib.util.find_spec("atheris"):
            engine, command = "atheris", [*python, "--", *options]
        else:
            engine = "mutations"
            command = [*python, f"--seconds={seconds}", f"--crashes={crashes}"]
        began = time.monotonic()
        # Temporary files of a killed target disappear with the folder.
        environment = {**os.environ, "TMPDIR": temporary}
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", env=environment
        )
        took = time.monotonic() - began
        found = sorted(path.name for path in crashes.iterdir())
        for crash in found:
            shutil.copyfile(crashes / crash, CORPUS / name / crash)
    if not cases(name):
        (CORPUS / name).rmdir()
    executions = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
    if done.returncode or found or not executions:
        print(done.stdout[-2000:], *without_progress(done.stderr)[-80:], sep="\n")
        found = found or [f"exit status {done.returncode}"]
    count = int(executions[1]) if executions else 0
    record = {"target": name, "engine": engine, "seconds": round(took, 1), "executions": count}
    return {**record, "crashes": found}


def without_progress(printed: str) -> list[str]:
    """Return the lines of a fuzzer without those about every new input."""
    progress = re.compile(r"#\d+\s+(NEW|REDUCE|RELOAD|pulse|INITED|DONE)|INFO: Instrumenting")
    return [line for line in printed.splitlines() if not progress.match(line)]


def native_programs(folder: Path | None) -> dict[str, Path]:
    """Return the built libFuzzer programs by the name of their target."""
    names = (path.stem for path in (HERE / "native").glob("*.cpp"))
    built = {f"native_{name}": folder / name for name in names} if folder else {}
    if missing := [str(path) for path in built.values() if not path.is_file()]:
        sys.exit(f"not built: {', '.join(missing)}; run `make fuzz`")
    return built


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="targets (default: all)")
    parser.add_argument("--seconds", type=float, default=10, help="per target")
    parser.add_argument("--total", type=float, help="seconds for all targets together")
    parser.add_argument("--native", type=Path, help="folder with built libFuzzer programs")
    parser.add_argument("--results", type=Path, help="JSON lines to append to")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("--crashes", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside and options.crashes:
        return run_unguided(options.inside, options.seconds, options.crashes)
    if options.inside:
        return run_guided(options.inside, options.names)
    programs = native_programs(options.native)
    known = [*TARGETS, *programs]
    if unknown := set(options.names) - set(known):
        sys.exit(f"unknown target {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    names = options.names or known
    seconds = options.total / len(names) if options.total else options.seconds
    broken = False
    for name in names:
        record = fuzz(name, seconds, programs.get(name))
        broken |= bool(record["crashes"])
        print(json.dumps(record), flush=True)
        if options.results:
            with options.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
    sys.exit(broken)


if __name__ == "__main__":
    main()

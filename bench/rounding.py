"""What 4 bits cost: the presets of the embedded model beside the same presets in float32, row by row, as JSON lines.

    python bench/rounding.py --shared DATA --teachers MODELS --kept CACHE --work FOLDER -o bench/results/rounding.jsonl

DATA, MODELS and CACHE as of tools/build_default_model/build.py, whose steps give the float32 presets; SentEval's tasks lie in
DATA/senteval. FOLDER holds those presets and every score that was computed, so that an interrupted run resumes.

A line holds both scores of a task, and how often only one of the two was right, from which the standard error of their
difference follows; for correlations, that error by bootstrap. `--seeds` draws other folds: on TREC and MRPC, which have no
development rows, only those that choose l2.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tools" / "build_default_model"))

import build
import noppa
from noppa.io.atomic import atomic_file
from noppa.paper import TASKS, Fixed, protocols
from noppa.paper import results as records
from noppa.paper.bench import Conditions, load
from noppa.paper.correlation import cosines, spearman
from noppa.paper.probes import ProbeData, ProbeResult
from noppa.paper.task_files import Row
from noppa.paper.tasks import Task
from pages.embedded import OWN

DRAWS = 400


def exact_presets(options: argparse.Namespace) -> dict[str, noppa.Encoder]:
    """The presets before rounding, saved for the next run."""
    saved = options.work / "default", options.work / "similarity"
    if not all(folder.exists() for folder in saved):
        distilled = build.distilled_from(options)
        words = build.joined(distilled, options.shared)
        noppa.Encoder(words, build.METHOD).save(saved[0])
        noppa.Encoder(distilled[0].word_vectors(), noppa.Average()).save(saved[1])
    default, similarity = map(noppa.load, saved)
    start, stop = (column - build.FITTED[0] for column in build.SMALL)
    small = noppa.Encoder(similarity.words.columns(start, stop), noppa.Average())
    return {"default": default, "similarity": similarity, "small": small}


@dataclass
class Recorded:
    """A `map` for probes that records which test rows each got right."""

    right: list[Any] = field(default_factory=list)

    def __call__(
        self, probe: Callable[[ProbeData], ProbeResult], items: Iterable[ProbeData]
    ) -> Iterator[ProbeResult]:
        for data in items:
            result = probe(data)
            self.right.append(result.predicted == data.test[1])
            yield result


@dataclass(frozen=True)
class Scores:
    """An encoder on a task: what its line says, and the test rows that it got right, or the cosines of their pairs, (rows,)."""

    line: dict[str, Any]
    rows: Any


def scores_of(
    file: Path, task: Task, parts: dict[str, list[Row]], encoder: noppa.Encoder, seed: int
) -> Scores:
    """The scores of an encoder, from the file or into it."""
    if not file.exists():
        recorded = Recorded()
        outcome = protocols.score(task, parts, Fixed(encoder, file.stem), seed=seed, run=recorded)
        line = {"score": round(outcome.score, 4), "dev": round(outcome.dev or 0, 4)}
        line |= {"cpu_seconds": round(outcome.cpu_seconds, 2)} | {"l2": outcome.more.get("l2")}
        rows = np.concatenate(recorded.right) if recorded.right else pair_cosines(encoder, parts)
        with atomic_file(file) as new, new.open("wb") as opened:
            np.savez(opened, rows=rows, line=json.dumps(line))
    stored = np.load(file)
    return Scores(json.loads(str(stored["line"])), stored["rows"])


def pair_cosines(encoder: noppa.Encoder, parts: dict[str, list[Row]]) -> Any:
    sides = [[row.texts[at] for row in parts["test"]] for at in (0, 1)]
    return cosines(*(encoder.encode(side) for side in sides))


def compared(exact: Scores, coarse: Scores, parts: dict[str, list[Row]]) -> dict[str, Any]:
    """Both scores of a task, and what tells how exact their difference is."""
    line: dict[str, Any] = {"exact": exact.line, "coarse": coarse.line}
    if exact.rows.dtype != bool:
        return line | {"error": round(bootstrap(exact.rows, coarse.rows, parts["test"]), 4)}
    counts = {"only_exact": exact.rows & ~coarse.rows, "only_coarse": coarse.rows & ~exact.rows}
    return line | {"rows": len(exact.rows)} | {name: int(at.sum()) for name, at in counts.items()}


def bootstrap(exact: Any, coarse: Any, rows: list[Row]) -> float:
    """The standard error of the difference between two correlations with the same human scores, in points."""
    human = np.array([float(row.label) for row in rows])
    draws = np.random.default_rng(protocols.SEED).integers(len(rows), size=(DRAWS, len(rows)))
    differences = [
        spearman(exact[draw], human[draw]) - spearman(coarse[draw], human[draw]) for draw in draws
    ]
    return 100 * float(np.std(differences))


def read(file: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    """The lines of a file by preset, task and seed; none where there is no file."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    lines = map(json.loads, text.splitlines())
    return {(line["preset"], line["task"], line["seed"]): line for line in lines}


def write(file: Path, lines: dict[tuple[str, str, int], dict[str, Any]]) -> None:
    with atomic_file(file) as new:
        new.write_text(
            "".join(json.dumps(line) + "\n" for line in lines.values()), encoding="utf-8"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--teachers", type=Path, required=True)
    parser.add_argument("--kept", type=Path, required=True)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--tasks", nargs="+", help="all of a preset's own where not given")
    parser.add_argument("--seeds", nargs="+", type=int, default=[protocols.SEED])
    parser.add_argument("--coarse", action="store_true", help="score the 4 bits alone, for later")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    about = records.surroundings()
    lines = read(options.output)
    presets = {} if options.coarse else exact_presets(options)
    for preset, own in OWN.items():
        coarse = noppa.load(preset)
        key = {"preset": preset, "model": coarse.identity.checksum}
        for name, seed in product(options.tasks or own, options.seeds):
            if name not in own:
                continue
            parts, _ = load(TASKS[name], Conditions(options.shared / "senteval"))
            scored = partial(scores_of, task=TASKS[name], parts=parts, seed=seed)
            file = options.work / f"{preset} {name} {seed}"
            of_coarse = scored(Path(f"{file} {key['model'][:12]}.npz"), encoder=coarse)
            if not options.coarse:
                of_exact = scored(Path(f"{file} exact.npz"), encoder=presets[preset])
                line = key | {"task": name, "seed": seed} | compared(of_exact, of_coarse, parts)
                lines[preset, name, seed] = line | about
                write(options.output, lines)
            print(preset, name, seed, of_coarse.line, flush=True)


if __name__ == "__main__":
    main()

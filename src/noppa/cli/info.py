"""`noppa info`."""

from __future__ import annotations

import platform

import numpy as np
import typer

import noppa
from noppa import _native as kernels
from noppa.cli.options import AsJson, Model
from noppa.cli.table_output import print_facts
from noppa.encoder import embedded
from noppa.threads import thread_count


def info(model: Model = None, as_json: AsJson = False) -> None:
    """Instruction set, threads, versions and embedded model; with --model, what that model holds.

    Example: noppa info -m my-encoder
    """
    facts = {
        "noppa": noppa.__version__,
        "instruction set": f"{kernels.instruction_set()} (of {', '.join(kernels.instruction_sets())})",
        "threads": str(thread_count()),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "embedded model": _embedded(),
    }
    if model is not None:
        encoder = noppa.load(model)
        facts |= {
            "model": model,
            "words": repr(encoder.words),
            "method": repr(encoder.method),
            "refine": ", ".join(map(repr, encoder.refine)) or "none",
            "dim": str(encoder.dim),
        }
    print_facts(facts, 17, as_json)


def _embedded() -> str:
    model = embedded.to_dict()
    if model is None:
        return "none"
    return (
        f"{model['words']} words, {model['pieces']} pieces, {model['dim']} dimensions, "
        f"{model['bytes'] / 1e6:.1f} MB; presets: {', '.join(model['presets'])}"
    )


def register(app: typer.Typer) -> None:
    app.command()(info)

"""`noppa info`: versions, instruction set, models and extras, and a check that everything works."""

from __future__ import annotations

import platform
import re
import shutil
import tempfile
from importlib import metadata
from typing import Annotated, Any

import numpy as np
import typer

import noppa
from noppa import _native
from noppa.cli.options import AsJson, Model
from noppa.cli.output import print_facts
from noppa.encoder import embedded
from noppa.errors import NoppaError
from noppa.threads import thread_count

#: Extras for working on noppa itself.
DEVELOPMENT = ("test", "fuzz", "dev")
REINSTALL = "pip install --force-reinstall noppa"


def info(
    model: Model = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Test the models, temporary files and extras; exit code 1 if broken."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show versions, the instruction set and the embedded model; with --model, what that model holds.

    Example: noppa info --check
    """
    facts: dict[str, Any] = {
        "noppa": noppa.__version__,
        "instruction set": f"{_native.instruction_set()} (of {', '.join(_native.instruction_sets())})",
        "threads": str(thread_count()),
        "python": f"{platform.python_version()}, {platform.platform()}",
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
    problems: list[str] = []
    if check:
        facts |= {**_presets(problems), **_temporary_files(problems), **_extras()}
        facts["problems"] = problems or "none"
    print_facts(facts, as_json)
    if problems:
        raise typer.Exit(1)


def _embedded() -> str:
    model = embedded.to_dict()
    if model is None:
        return "none"
    return (
        f"{model['words']} words, {model['pieces']} pieces, {model['dim']} dimensions, "
        f"{model['bytes'] / 1e6:.1f} MB; presets: {', '.join(model['presets'])}"
    )


def _presets(problems: list[str]) -> dict[str, str]:
    """Load each preset with its checksums and encode a text."""
    facts = {}
    for preset in embedded.presets():
        try:
            encoder = noppa.load(preset, verify=True)
            works = bool(encoder.encode("the girl eats a cake").any())
            facts[f"preset {preset}"] = f"{'works' if works else 'broken'}, dim {encoder.dim}"
        except NoppaError as error:
            works, facts[f"preset {preset}"] = False, f"broken: {error}"
        if not works:
            problems.append(f"preset {preset}: {REINSTALL}")
    return facts


def _temporary_files(problems: list[str]) -> dict[str, str]:
    try:
        with tempfile.NamedTemporaryFile(prefix="noppa-") as file:
            file.write(bytes(1 << 16))
            file.flush()
        free = shutil.disk_usage(tempfile.gettempdir()).free
        return {"temporary files": f"{tempfile.gettempdir()}, {free / 1e9:.1f} GB free"}
    except OSError as error:
        problems.append("temporary files: set TMPDIR to a folder that you may write to")
        return {"temporary files": f"cannot be written: {error}"}


def _extras() -> dict[str, str]:
    """Return which extras are installed, and the line that installs the others."""
    requirements = metadata.requires("noppa") or []
    facts = {}
    for extra in sorted(metadata.metadata("noppa").get_all("Provides-Extra") or []):
        if extra in DEVELOPMENT:
            continue
        lines = [line for line in requirements if re.search(rf"extra == ['\"]{extra}['\"]", line)]
        names = [match[0] for line in lines if (match := re.match(r"[\w.-]+", line))]
        missing = [name for name in names if not _is_installed(name)]
        facts[f"extra {extra}"] = f"pip install 'noppa[{extra}]'" if missing else "installed"
    return facts


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def register(app: typer.Typer) -> None:
    app.command()(info)

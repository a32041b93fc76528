"""`noppa doctor`: what is installed, what works, and what to do about what does not."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata

import numpy as np
import typer

import noppa
from noppa import _native as kernels
from noppa.classify.memory import available_memory
from noppa.cli.options import AsJson
from noppa.cli.terminal import printable
from noppa.encoder import embedded
from noppa.errors import NoppaError
from noppa.threads import VARIABLE, available, quota, thread_count

GOOD, NOTE, BROKEN = "good", "note", "broken"
#: Extras for working on noppa itself.
DEVELOPMENT = ("test", "fuzz", "dev")
#: Bytes below which memory and the folder for temporary files are called short.
LITTLE_MEMORY, LITTLE_DISK = 256 << 20, 1 << 30
REINSTALL = "pip install --force-reinstall noppa"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at, what was found, and what to do where it is not good."""

    name: str
    state: str
    found: str
    advice: str = ""


def doctor(as_json: AsJson = False) -> None:
    """What is installed, what works, and what to do about what does not; exit code 1 if something is broken.

    Example: noppa doctor --json
    """
    findings = [finding for check in CHECKS for finding in _checked(check)]
    broken = [finding for finding in findings if finding.state == BROKEN]
    if as_json:
        print(json.dumps({"broken": len(broken), "findings": [asdict(one) for one in findings]}))
    else:
        for one in findings:
            advice = f"\n{'':<26}-> {one.advice}" if one.advice else ""
            print(printable_lines(f"{one.state:<7} {one.name:<18}{one.found}{advice}"))
        print("everything works" if not broken else f"{len(broken)} broken, see above")
    if broken:
        raise typer.Exit(1)


def printable_lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.split("\n"))


def _checked(check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """The findings of a check; one that fails itself has found something broken."""
    try:
        yield from check()
    except (NoppaError, OSError, ImportError) as error:
        yield Finding(check.__name__.strip("_").replace("_", " "), BROKEN, str(error), REINSTALL)


def _versions() -> Iterator[Finding]:
    yield Finding("noppa", GOOD, noppa.__version__)
    yield Finding("python", GOOD, f"{platform.python_version()}, {platform.platform()}")
    for need in needs_of(None):
        yield need.finding()


def _kernels() -> Iterator[Finding]:
    sets = ", ".join(kernels.instruction_sets())
    found = f"native, instruction set {kernels.instruction_set()} (of {sets})"
    yield Finding("kernels", GOOD, found)
    yield Finding("threads", GOOD, f"{thread_count()}, {_why_threads()}")


def _why_threads() -> str:
    if os.environ.get(VARIABLE):
        return f"as {VARIABLE} says"
    limit = " within a quota" if quota() < (os.cpu_count() or 1) else ""
    return f"of {os.cpu_count()} processors{limit}, {available()} available"


def _memory() -> Iterator[Finding]:
    size = available_memory()
    if size is None:
        yield Finding("memory", NOTE, "unknown: this system does not tell")
        return
    state = GOOD if size >= LITTLE_MEMORY else NOTE
    advice = "" if state == GOOD else "free some, or use the preset small: -m small"
    yield Finding("memory", state, f"{size / 1e9:.1f} GB available", advice)


def _embedded_model() -> Iterator[Finding]:
    described = embedded.to_dict()
    if described is None:
        yield Finding("embedded model", BROKEN, "not installed", REINSTALL)
        return
    for preset in described["presets"]:
        try:
            encoder = noppa.load(preset, verify=True)
            rows = encoder.encode(["the girl eats a cake"])
        except NoppaError as error:
            yield Finding(f"preset {preset}", BROKEN, str(error), REINSTALL)
            continue
        works = bool(np.isfinite(rows).all() and rows.any())
        found = f"checksums good, {len(encoder.words)} words and pieces, {encoder.dim} numbers"
        yield Finding(
            f"preset {preset}",
            GOOD if works else BROKEN,
            found if works else "encodes nothing",
            "" if works else REINSTALL,
        )


def _temporary_files() -> Iterator[Finding]:
    advice = "set TMPDIR to a folder on a disk with room that you may write to"
    try:
        folder = tempfile.gettempdir()
        with tempfile.NamedTemporaryFile(prefix="noppa-") as file:
            file.write(bytes(1 << 16))
            file.flush()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        yield Finding("temporary files", BROKEN, f"cannot be written: {error}", advice)
        return
    enough = free >= LITTLE_DISK
    found = f"{folder} can be written, {free / 1e9:.1f} GB free"
    yield Finding("temporary files", GOOD if enough else NOTE, found, "" if enough else advice)


def _terminal() -> Iterator[Finding]:
    encoding = getattr(sys.stdout, "encoding", None) or "unknown"
    if encoding.lower().replace("-", "") == "utf8":
        yield Finding("output", GOOD, encoding)
    else:
        advice = "set PYTHONUTF8=1, or characters that it lacks are escaped"
        yield Finding("output", NOTE, encoding, advice)


def _extras() -> Iterator[Finding]:
    for extra in sorted(metadata.metadata("noppa").get_all("Provides-Extra") or []):
        if extra in DEVELOPMENT:
            continue
        faults = [need.fault for need in needs_of(extra) if need.fault]
        there = ", ".join(f"{need.name} {need.installed}" for need in needs_of(extra) if need.installed)  # fmt: skip
        if faults:
            yield Finding(f"extra {extra}", NOTE, "; ".join(faults), f"pip install 'noppa[{extra}]'")  # fmt: skip
        else:
            yield Finding(f"extra {extra}", GOOD, there)


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    _versions,
    _kernels,
    _memory,
    _embedded_model,
    _temporary_files,
    _terminal,
    _extras,
)


# What the metadata of the installed package say it needs


@dataclass(frozen=True)
class Need:
    """A package that noppa or one of its extras needs, and which version is installed."""

    name: str
    least: str
    installed: str | None

    @property
    def fault(self) -> str:
        if self.installed is None:
            return f"{self.name} is not installed"
        if _numbers(self.installed) < _numbers(self.least):
            return f"{self.name} {self.installed} is older than {self.least}"
        return ""

    def finding(self) -> Finding:
        """As a package that noppa cannot do without."""
        found = self.fault or str(self.installed)
        advice = f"pip install '{self.name}>={self.least}'" if self.fault else ""
        return Finding(self.name, BROKEN if self.fault else GOOD, found, advice)


_REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(\[(?P<extras>[^]]*)])?\s*(>=(?P<least>[\d.]+))?[^;]*(;(?P<marker>.*))?"
)
_CLAUSE = re.compile(r"""(\w+)\s*(==|!=|<|>=)\s*["']([^"']*)["']""")


def needs_of(extra: str | None) -> list[Need]:
    """What noppa itself needs, or one of its extras, those that it takes from other extras included."""
    needs = []
    for requirement in metadata.requires("noppa") or []:
        match = _REQUIREMENT.match(requirement)
        if match is None or not _applies(match["marker"] or "", extra):
            continue
        if match["name"] == "noppa":
            inner = [name.strip() for name in (match["extras"] or "").split(",")]
            needs += [need for name in inner for need in needs_of(name)]
        else:
            needs.append(Need(match["name"], match["least"] or "0", _installed(match["name"])))
    return needs


def _applies(marker: str, extra: str | None) -> bool:
    """Whether a requirement counts here for an extra; one without an extra is noppa's own."""
    values = {
        "extra": extra or "",
        "sys_platform": sys.platform,
        "platform_machine": platform.machine(),
        "python_version": ".".join(platform.python_version_tuple()[:2]),
    }
    clauses = _CLAUSE.findall(marker)
    if ("extra" in (name for name, _, _ in clauses)) != (extra is not None):
        return False
    return all(_holds(values.get(name, ""), sign, value) for name, sign, value in clauses)


def _holds(value: str, sign: str, other: str) -> bool:
    if sign in ("==", "!="):
        return (value == other) == (sign == "==")
    is_less = _numbers(value) < _numbers(other)
    return is_less if sign == "<" else not is_less


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> list[int]:
    """The leading numbers of a version, for comparing."""
    release = re.match(r"[\d.]*", version)
    return [int(part) for part in (release[0] if release else "").split(".") if part]


def register(app: typer.Typer) -> None:
    app.command()(doctor)

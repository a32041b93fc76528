"""Check the version, the workflows, the links and the bill of materials of a release."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

import noppa
from tests.conftest import ROOT
from tools import absolute_links, describe_release

PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
(VERSION,) = re.findall(r'^version = "([^"]+)"$', PROJECT, re.MULTILINE)


def test_the_version_stands_in_one_place() -> None:
    """Everything else asks what is installed; the changelog has a section for it."""
    assert noppa.__version__ == VERSION
    written = [
        path.relative_to(ROOT).as_posix()
        for folder in ("src", "tools", "deploy", ".github")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".cff", ".toml", ".yml", ".yaml", ".hpp", ".cpp", "")
        and path.is_file()
        and re.search(rf"(?<![\d.]){re.escape(VERSION)}(?![\d.])", path.read_text(errors="replace"))
    ]
    assert written == []
    assert "\nversion:" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {VERSION}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_workflows_run_what_is_here() -> None:
    """Every script and Makefile target that a workflow runs exists; each wheel is tested by the tests of the core."""
    made = (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
        commands = [step.get("run", "") for job in jobs.values() for step in job["steps"]]
        for script in re.findall(r"(?:tools/\w+\.py|\.ci/\w+|@tests/[\w.]+)", "\n".join(commands)):
            assert (ROOT / script.removeprefix("@")).is_file(), script
        for target in re.findall(r"^make (\w+)$", "\n".join(commands), re.MULTILINE):
            assert f"\n{target}:" in made, target
    files = (ROOT / "tests" / "core.txt").read_text(encoding="utf-8").split()
    assert all((ROOT / file).is_file() for file in files)
    assert "@tests/core.txt" in PROJECT.partition("[tool.cibuildwheel]")[2]


def test_links_of_the_readme_lead_somewhere_from_a_package_index() -> None:
    text = absolute_links.README.read_text(encoding="utf-8")
    made = absolute_links.absolute(text, "https://host/us/noppa", "v1")
    places = re.findall(r"\]\(([^)]*)\)", made)
    assert len(places) > 30
    for place in places:
        kind, path = re.fullmatch(r"https://host/us/noppa/(blob|raw)/v1/(.+)", place).groups()  # type: ignore[union-attr]
        assert (ROOT / path).is_file()
        assert (kind == "raw") == (Path(path).suffix == ".svg")
    assert re.sub(r"https://host/us/noppa/(blob|raw)/v1/", "", made) == text
    code = "```python\nnames[0](a)\n```\n"
    assert absolute_links.absolute(code, "x", "v1") == code


def wheel(folder: Path, **without: str) -> Path:
    """Write a wheel with the files that the bill of materials reads."""
    path = folder / f"noppa-{VERSION}-cp312-abi3-linux_x86_64.whl"
    metadata = (
        f"Metadata-Version: 2.4\nName: noppa\nVersion: {VERSION}\nLicense-Expression: Apache-2.0\n"
        "Requires-Dist: numpy>=1.26\nRequires-Dist: pandas>=2; extra == 'pandas'\n"
    )
    files = {
        f"noppa-{VERSION}.dist-info/METADATA": metadata,
        describe_release.BUILT_WITH: '{"nanobind": "9.8.7", "compiler": "GNU 12"}',
        describe_release.MODEL: "{}",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            if name not in without.values():
                archive.writestr(name, text)
    return path


def test_the_bill_of_materials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = wheel(tmp_path)
    monkeypatch.setattr(sys, "argv", ["", str(tmp_path)])
    describe_release.main()
    bill = json.loads((tmp_path / f"noppa-{VERSION}.cdx.json").read_text())
    parts = {part["name"]: part for part in bill["components"]}
    assert parts["nanobind"]["version"] == "9.8.7"
    assert set(parts) == {"nanobind", "robin_map", "noppa embedded model", "numpy", path.name}
    digest = describe_release.sha256(path.read_bytes())
    assert parts[path.name]["hashes"] == [{"alg": "SHA-256", "content": digest}]
    assert f"{digest}  {path.name}\n" in (tmp_path / "SHA256SUMS").read_text()

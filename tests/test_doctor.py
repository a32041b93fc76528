"""`noppa doctor`: what it finds, and what it says where something is missing or broken."""

from __future__ import annotations

import json
import shutil
from importlib import metadata

import pytest

from noppa.cli import doctor
from noppa.encoder import embedded
from tests.command import run_command


def findings(code=0):
    done = run_command("doctor --json")
    assert done.code == code, done
    found = json.loads(done.output)
    assert (found["broken"] > 0) == (code == 1)
    return {one["name"]: one for one in found["findings"]}


def test_all_is_well_here():
    found = findings()
    assert "native" in found["kernels"]["found"].lower()
    for name in ("noppa", "python", "numpy", "typer", "rich", "threads", "memory"):
        assert found[name]["found"], name
    for preset in embedded.presets():
        assert "checksums good" in found[f"preset {preset}"]["found"]
    assert found["temporary files"]["state"] == "good"
    extras = {name.removeprefix("extra ") for name in found if name.startswith("extra ")}
    assert extras == set(metadata.metadata("noppa").get_all("Provides-Extra")) - set(
        doctor.DEVELOPMENT
    )
    shown = run_command("doctor").output
    assert shown.splitlines()[-1] == "everything works"


def test_a_missing_extra_has_its_install_line(monkeypatch):
    real = metadata.version

    def version(name):
        if name == "optuna":
            raise metadata.PackageNotFoundError(name)
        return "1.2.3" if name == "pyarrow" else real(name)

    monkeypatch.setattr(metadata, "version", version)
    found = findings()
    assert found["extra eval"] == {
        "name": "extra eval",
        "state": "note",
        "found": "optuna is not installed",
        "advice": "pip install 'noppa[eval]'",
    }
    assert "pyarrow 1.2.3 is older than 15" in found["extra parquet"]["found"]
    assert "pyarrow 1.2.3 is older than 15" in found["extra dask"]["found"], "of an extra in it"


def test_a_package_that_is_too_old_is_broken(monkeypatch):
    real = metadata.version
    monkeypatch.setattr(
        metadata, "version", lambda name: "1.20.0" if name == "numpy" else real(name)
    )
    numpy = findings(code=1)["numpy"]
    assert numpy["state"] == "broken"
    assert "1.20.0 is older than 1.26" in numpy["found"]
    assert numpy["advice"] == "pip install 'numpy>=1.26'"


def test_a_damaged_model_is_broken(monkeypatch, tmp_path):
    shutil.copytree(embedded.FOLDER, tmp_path / "model")
    array = max((tmp_path / "model").rglob("*.npy"), key=lambda path: path.stat().st_size)
    content = bytearray(array.read_bytes())
    content[len(content) // 2] ^= 1
    array.write_bytes(content)
    monkeypatch.setattr(embedded, "FOLDER", tmp_path / "model")
    broken = findings(code=1)["preset default"]
    assert broken["state"] == "broken"
    assert "checksum" in broken["found"]
    assert broken["advice"].startswith("pip install")
    shutil.rmtree(tmp_path / "model")
    assert findings(code=1)["embedded model"]["found"] == "not installed"


def test_the_source_of_the_thread_count_is_named(monkeypatch):
    monkeypatch.setenv("NOPPA_THREADS", "3")
    assert findings()["threads"]["found"] == "3, as NOPPA_THREADS says"


def test_a_folder_for_temporary_files_that_cannot_be_written(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    found = findings(code=1)["temporary files"]
    assert found["state"] == "broken"
    assert "TMPDIR" in found["advice"]


def test_little_memory(monkeypatch):
    monkeypatch.setattr(doctor, "available_memory", lambda: 100 << 20)
    assert findings()["memory"]["advice"] == "free some, or use the preset small: -m small"
    monkeypatch.setattr(doctor, "available_memory", lambda: None)
    assert findings()["memory"]["state"] == "note"


@pytest.mark.parametrize(
    ("marker", "extra", "applies"),
    [
        ("", None, True),
        ("", "serve", False),
        ('extra == "serve"', "serve", True),
        ('extra == "serve"', None, False),
        ('sys_platform != "amiga" and extra == "serve"', "serve", True),
        ('sys_platform == "amiga" and extra == "serve"', "serve", False),
        ("python_version < '3.5' and extra == 'zst'", "zst", False),
        ("python_version >= '3.9' and extra == 'zst'", "zst", True),
    ],
)
def test_markers(marker, extra, applies):
    assert doctor._applies(marker, extra) is applies

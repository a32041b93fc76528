"""Write the checksums of a release and a bill of materials (CycloneDX) of its wheels.

    python tools/describe_release.py DIST

Writes DIST/SHA256SUMS and DIST/noppa-VERSION.cdx.json for the wheels and the source archive in DIST. The same files give the same
bytes.
"""

from __future__ import annotations

import email
import hashlib
import json
import sys
import uuid
import zipfile
from email.message import Message
from pathlib import Path
from typing import Any

#: Written by CMakeLists.txt.
BUILT_WITH = "noppa/built_with.json"
MODEL = "noppa/encoder/model/noppa.json"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def component(name: str, kind: str, license: str = "", **more: Any) -> dict[str, Any]:
    licenses = {"licenses": [{"expression": license}]} if license else {}
    return {"type": kind, "bom-ref": more.get("purl", name), "name": name, **licenses, **more}


def package(name: str, version: str, license: str = "") -> dict[str, Any]:
    purl = f"pkg:pypi/{name}@{version}" if version else f"pkg:pypi/{name}"
    return component(
        name, "library", license, purl=purl, **({"version": version} if version else {})
    )


def metadata_of(wheel: zipfile.ZipFile) -> Message:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return email.message_from_bytes(wheel.read(name))


def inside(wheels: list[Path]) -> list[dict[str, Any]]:
    """Return the third-party parts of the wheels, each once."""
    parts = {}
    for path in wheels:
        with zipfile.ZipFile(path) as wheel:
            if BUILT_WITH not in wheel.namelist():
                raise SystemExit(f"{path.name} holds no native module")
            versions = json.loads(wheel.read(BUILT_WITH))
            model = sha256(wheel.read(MODEL))
        nanobind = package("nanobind", versions["nanobind"], "BSD-3-Clause")
        parts[nanobind["purl"]] = nanobind
        parts["robin_map"] = component("robin_map", "library", "MIT")
        parts["model"] = component(
            "noppa embedded model", "data", "CC-BY-SA-4.0 AND Apache-2.0",
            hashes=[{"alg": "SHA-256", "content": model}],
            description="Its manifest, which has the checksum of each of its files",
        )  # fmt: skip
    return list(parts.values())


def needed(metadata: Message) -> list[dict[str, Any]]:
    """Return the dependencies, with their allowed versions."""
    named = []
    for requirement in metadata.get_all("Requires-Dist", []):
        if "extra ==" not in requirement:
            name = requirement.split(">")[0].split(";")[0].strip()
            named.append({**package(name, ""), "scope": "required", "description": requirement})
    return named


def bill(files: list[Path]) -> dict[str, Any]:
    wheels = [path for path in files if path.suffix == ".whl"]
    if not wheels:
        raise SystemExit("there is no wheel")
    with zipfile.ZipFile(wheels[0]) as wheel:
        metadata = metadata_of(wheel)
    noppa = package("noppa", metadata["Version"], metadata["License-Expression"])
    dependencies = needed(metadata)
    listed = [
        component(path.name, "file", hashes=[{"alg": "SHA-256", "content": sha256(path.read_bytes())}])
        for path in files
    ]  # fmt: skip
    made = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": noppa},
        "components": [*inside(wheels), *dependencies, *listed],
        "dependencies": [
            {"ref": noppa["purl"], "dependsOn": [one["purl"] for one in dependencies]}
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(made))
    return {**made, "serialNumber": f"urn:uuid:{serial}"}


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    dist = Path(sys.argv[1])
    files = sorted([*dist.glob("*.whl"), *dist.glob("*.tar.gz")])
    made = bill(files)
    target = dist / f"noppa-{made['metadata']['component']['version']}.cdx.json"
    target.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    lines = [f"{sha256(path.read_bytes())}  {path.name}\n" for path in [*files, target]]
    (dist / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
    print("".join(lines), end="")


if __name__ == "__main__":
    main()

"""Run the steps of deploy/Dockerfile without a container engine, each stage in a clean root file system of Debian.

sudo python deploy/try_dockerfile.py             # needs debootstrap, chroot, unshare; some 2 GB and minutes
sudo python deploy/try_dockerfile.py --base DIR  # with a root file system that debootstrap made before

RUN uses chroot, COPY copies, and ENV, USER, HEALTHCHECK and ENTRYPOINT are recorded. Then the entry point is started as its
user, must answer and be healthy, and must stop on SIGTERM. The content of the image is printed with sizes. Other
instructions raise an error.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TREE = HERE.parent
#: The slim image of Debian is its minimal system without documentation.
SLIMMED = (
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/info",
    "var/cache/apt",
    "var/lib/apt/lists",
)
#: What a build takes from the machine it runs on: how to reach the network.
PASSED = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "PIP_CERT", "PIP_INDEX_URL", "PIP_DEFAULT_TIMEOUT")  # fmt: skip
NETWORK_FILES = ("etc/resolv.conf", "etc/hosts", "etc/ssl/certs/ca-certificates.crt")
#: Folders whose sizes are listed one by one.
OPENED = ("opt/noppa/lib/python3.11/site-packages", "usr/lib")
LEAST_MB = 0.5


@dataclass
class Stage:
    """A root file system, and what the Dockerfile says about running it."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    user: str = "root"
    entry: list[str] = field(default_factory=list)
    check: list[str] = field(default_factory=list)


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """The instructions of a Dockerfile: name and rest."""
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, rest = line.partition(" ")
            yield name.upper(), rest.strip()


def command(stage: Stage, arguments: list[str], user: str | None = None) -> list[str]:
    """In a mount namespace of its own, so that no mount outlives it; the process is that of the command itself."""
    root = str(stage.root)
    steps = [f"mount -t proc proc {root}/proc", f"mount --rbind /dev {root}/dev"]
    entered = ["chroot", f"--userspec={user or stage.user}", root, *arguments]
    return ["unshare", "--mount", "sh", "-c", f"{' && '.join(steps)} && exec {shlex.join(entered)}"]


def environment_of(stage: Stage, building: bool) -> dict[str, str]:
    passed = {name: os.environ[name] for name in PASSED if building and name in os.environ}
    plain = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}  # fmt: skip
    return {**plain, **passed, **stage.environment, "DEBIAN_FRONTEND": "noninteractive"}


def run_step(stage: Stage, text: str) -> None:
    """RUN, with the machine's way to the network, which does not stay in the image."""
    kept = {name: _bytes(stage.root / name) for name in NETWORK_FILES}
    for name in NETWORK_FILES:
        if Path("/", name).exists():
            (stage.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path("/", name), stage.root / name)
    # apt's own user cannot be made to reach a proxy's certificate in every sandbox.
    called = command(stage, ["/bin/sh", "-c", text])
    subprocess.run(called, env=environment_of(stage, building=True), check=True)
    for name, content in kept.items():
        if content is None:
            (stage.root / name).unlink(missing_ok=True)
        elif not name.endswith(".crt"):  # a package may have written this one
            (stage.root / name).write_bytes(content)


def _bytes(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


def copy_step(stage: Stage, stages: dict[str, Stage], text: str) -> None:
    *sources, target = shlex.split(text)
    origin = TREE
    if sources[0].startswith("--from="):
        origin = stages[sources.pop(0).removeprefix("--from=")].root
    patterns = [
        line.removeprefix("**/")
        for line in (HERE / "Dockerfile.dockerignore").read_text().splitlines()
    ]

    def ignored(folder: str, names: list[str]) -> set[str]:
        return {name for name in names if any(fnmatch.fnmatch(name, one) for one in patterns)}

    for source in sources:
        found, place = origin / source.lstrip("/"), stage.root / target.lstrip("/")
        if found.is_dir():
            skip = ignored if origin == TREE else None
            shutil.copytree(found, place, symlinks=True, dirs_exist_ok=True, ignore=skip)
        else:
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(found, place)


def built(file: Path, base: Path, folder: Path) -> Stage:
    """The last stage of a Dockerfile."""
    stages: dict[str, Stage] = {}
    stage = Stage(base)
    for name, rest in instructions(file.read_text()):
        print(f"{name} {rest}", flush=True)
        if name == "FROM":
            image, _, label = rest.partition(" AS ")
            assert image == "debian:bookworm-slim", image
            stage = Stage(folder / (label or "image"))
            subprocess.run(["cp", "-a", str(base), str(stage.root)], check=True)
            stages[label or "image"] = stage
        elif name == "RUN":
            run_step(stage, rest)
        elif name == "COPY":
            copy_step(stage, stages, rest)
        elif name == "ENV":
            stage.environment |= dict(pair.split("=", 1) for pair in shlex.split(rest))
        elif name == "USER":
            stage.user = rest
        elif name == "HEALTHCHECK":
            stage.check = json.loads(rest.partition("CMD ")[2])
        elif name == "ENTRYPOINT":
            stage.entry = json.loads(rest)
        elif name != "EXPOSE":
            sys.exit(f"{file}: {name} is not known here")
    return stage


def tried(stage: Stage) -> dict[str, Any]:
    """Start the image, ask it, check its health, stop it; what it said of itself."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    stage.environment |= {"NOPPA_SERVE_PORT": str(port), "NOPPA_SERVE_WORKERS": "2"}
    stage.environment |= {"NOPPA_SERVE_DRAIN_SECONDS": "0.2", "NOPPA_SERVE_HOST": "127.0.0.1"}
    environment = environment_of(stage, building=False)
    process = subprocess.Popen(command(stage, stage.entry), env=environment)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_for(lambda: _get(f"{url}/health"), process)
        body = json.dumps({"input": ["a girl is eating", "the bank sells shares"]}).encode()
        with urllib.request.urlopen(
            urllib.request.Request(f"{url}/v1/embeddings", body), timeout=60
        ) as answer:
            vectors = json.load(answer)
        assert len(vectors["data"]) == 2
        assert 'kernels="native"' in _get(f"{url}/metrics")
        subprocess.run(command(stage, stage.check), env=environment, check=True)
        owner = Path(f"/proc/{process.pid}").stat().st_uid
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
    finally:
        process.kill()
        process.wait()
    return {"model": vectors["model"], "uid": owner}


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return str(answer.read().decode())


def _wait_for(ask: Any, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 120
    while True:
        assert process.poll() is None, "it ended"
        try:
            ask()
            return
        except OSError:
            assert time.monotonic() < end, "it never answered"
            time.sleep(0.1)


def size_of(folder: Path) -> int:
    """Bytes of the files in a folder, each hard link once; a file's own where it is one."""
    if folder.is_symlink() or not folder.is_dir():
        return folder.lstat().st_size
    sizes = {}
    for place, _, names in os.walk(folder):
        for name in names:
            status = os.lstat(os.path.join(place, name))
            sizes[status.st_dev, status.st_ino] = status.st_size
    return sum(sizes.values())


def listed(stage: Stage) -> str:
    """What the image holds, in megabytes, the largest first."""
    lines = []

    def rows(folder: Path, depth: int) -> None:
        found = [(size_of(path) / 1e6, path) for path in folder.iterdir()]
        small = sum(size for size, _ in found if size < LEAST_MB)
        for size, path in sorted(found, reverse=True):
            if size >= LEAST_MB:
                lines.append(f"{size:8.1f}  {'  ' * depth}{path.relative_to(stage.root)}")
                inner = [one for one in OPENED if one.startswith(str(path.relative_to(stage.root)))]
                if inner:
                    rows(path, depth + 1)
        if small >= 0.05:
            lines.append(
                f"{small:8.1f}  {'  ' * depth}(the rest of {folder.relative_to(stage.root)})"
            )

    rows(stage.root, 0)
    total = sum(size_of(path) for path in stage.root.iterdir()) / 1e6
    return f"{total:8.1f}  megabytes in all, uncompressed\n" + "\n".join(lines) + "\n"


def slimmed(base: Path) -> None:
    for name in SLIMMED:
        for path in (base / name).glob("*"):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--base", type=Path, help="a root file system of Debian 12, which is left as it is"
    )
    parser.add_argument(
        "--mirror", help="of Debian's packages; debootstrap's own choice without it"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="noppa-image-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the image's user walks through it
        base = folder / "base"
        if options.base is None:
            made = ["debootstrap", "--variant=minbase", "bookworm", str(base)]
            subprocess.run(made + [options.mirror] * bool(options.mirror), check=True)
        else:
            subprocess.run(["cp", "-a", str(options.base), str(base)], check=True)
        slimmed(base)
        image = built(HERE / "Dockerfile", base, folder)
        content = listed(image)
        said = tried(image)
    print(f"it answered as {said['model']}, run by user {said['uid']}\n{content}")


if __name__ == "__main__":
    main()

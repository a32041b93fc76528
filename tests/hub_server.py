"""A server that speaks as much of the Hugging Face Hub's API as its client uses: models, files, LFS, commits, branches.

What it holds is what it was sent: blobs by their git id or sha256, and trees of them by commit. `lies` replaces content on its
way out, as a broken or hostile mirror would.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "hf_test"


@dataclass(frozen=True)
class Blob:
    content: bytes
    is_lfs: bool

    @property
    def git_id(self) -> str:
        head = b"blob %d\0" % len(self.content)
        return hashlib.sha1(head + self.content).hexdigest()

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        lfs = {"lfs": {"sha256": self.sha256, "oid": self.sha256, "size": len(self.content), "pointerSize": 130}}  # fmt: skip
        return {"size": len(self.content), "blobId": self.git_id, "oid": self.git_id} | (
            lfs if self.is_lfs else {}
        )


Tree = dict[str, Blob]


@dataclass
class Repository:
    private: bool = False
    gated: bool = False
    library: str | None = None
    commits: dict[str, Tree] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)

    def commit(self, branch: str, tree: Tree, message: str) -> str:
        listing = json.dumps([sorted((n, b.git_id) for n, b in tree.items()), len(self.commits)])
        name = hashlib.sha1(listing.encode()).hexdigest()
        self.commits[name], self.branches[branch] = tree, name
        self.messages.append(message)
        return name

    def resolved(self, revision: str) -> str | None:
        return self.branches.get(revision, revision if revision in self.commits else None)


class Hub:
    """The state of a server, and what was asked of it."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.uploaded: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.lies: dict[str, Callable[[bytes], bytes]] = {}
        self.fails_with: int | None = None
        self.lfs_from = 10_000
        self.url = ""

    def put(self, repo_id: str, files: dict[str, bytes], library: str | None = None) -> str:
        """A repository with these files on its branch main, without the client."""
        repository = self.repositories.setdefault(repo_id, Repository(library=library))
        tree = {name: Blob(data, len(data) >= self.lfs_from) for name, data in files.items()}
        return repository.commit("main", tree, "put")


@contextmanager
def serving() -> Iterator[Hub]:
    """A hub on a port of its own."""
    hub = Hub()

    class Bound(Handler):
        state = hub

    server = ThreadingHTTPServer(("127.0.0.1", 0), Bound)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Handler(BaseHTTPRequestHandler):
    state: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.answer("GET")

    def do_HEAD(self) -> None:
        self.answer("HEAD")

    def do_POST(self) -> None:
        self.answer("POST")

    def do_PUT(self) -> None:
        self.answer("PUT")

    def answer(self, verb: str) -> None:
        self.body = self.received()
        address = urlsplit(self.path)
        self.asked = parse_qs(address.query)
        self.state.requests.append(f"{verb} {address.path}")
        if self.state.fails_with:
            return self.send(self.state.fails_with, {"error": "out of order"})
        for pattern, verbs, route in ROUTES:
            if verb in verbs and (match := re.fullmatch(pattern, address.path)):
                return route(self, *map(unquote, match.groups()))
        self.send(404, {"error": f"no such page: {address.path}"})

    def received(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = []
        while size := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def send(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def refuse(self, status: int, code: str) -> None:
        self.send(status, {"error": code}, {"X-Error-Code": code, "X-Error-Message": code})

    # What is there

    def repository(self, repo_id: str, writes: bool = False) -> Repository | None:
        """The repository if the caller may see it; else it is refused as the hub refuses."""
        known = self.headers.get("Authorization") == f"Bearer {TOKEN}"
        found = self.state.repositories.get(repo_id)
        if writes and not known:
            self.send(403, {"error": "no right to write"})
        elif found is None or (found.private and not known):
            self.refuse(404 if known else 401, "RepoNotFound")
        elif found.gated and not known:
            self.refuse(403, "GatedRepo")
        else:
            return found
        return None

    def tree(self, repo_id: str, revision: str) -> tuple[str, Tree] | None:
        repository = self.repository(repo_id)
        if repository is None:
            return None
        commit = repository.resolved(revision)
        if commit is None:
            return self.refuse(404, "RevisionNotFound")  # type: ignore[return-value]
        return commit, repository.commits[commit]

    def model(self, repo_id: str, revision: str = "main") -> None:
        if (found := self.tree(repo_id, revision)) is None:
            return
        commit, tree = found
        siblings = [{"rfilename": name, **blob.to_dict()} for name, blob in tree.items()]
        library = self.state.repositories[repo_id].library
        self.send(200, {"id": repo_id, "modelId": repo_id, "sha": commit, "siblings": siblings, "private": False, "tags": [], "downloads": 0, "library_name": library})  # fmt: skip

    def listing(self, repo_id: str, revision: str) -> None:
        if (found := self.tree(repo_id, revision)) is not None:
            entries = [
                {"type": "file", "path": name, **blob.to_dict()} for name, blob in found[1].items()
            ]
            self.send(200, entries)

    def resolve(self, repo_id: str, revision: str, name: str) -> None:
        if (found := self.tree(repo_id, revision)) is None:
            return
        commit, tree = found
        headers = {"X-Repo-Commit": commit}
        if name not in tree:
            return self.send(
                404, {}, {**headers, "X-Error-Code": "EntryNotFound", "X-Error-Message": name}
            )
        blob = tree[name]
        content = self.state.lies.get(name, bytes)(blob.content)
        if blob.is_lfs:
            linked = {"X-Linked-Etag": f'"{blob.sha256}"', "X-Linked-Size": str(len(content))}
            self.state.uploaded[blob.sha256 + "-out"] = content
            # the hub keeps large files on another host
            storage = self.state.url.replace("127.0.0.1", "localhost")
            place = {"Location": f"{storage}/lfs/{blob.sha256}-out"}
            return self.send(302, b"", {**headers, **linked, **place})
        self.send(200, content, {**headers, "ETag": f'"{blob.git_id}"'})

    def stored(self, name: str) -> None:
        self.send(200, self.state.uploaded[name], {"ETag": f'"{name}"'})

    # What is sent

    def create(self) -> None:
        asked = json.loads(self.body)
        repo_id = f"{asked.get('organization') or 'tester'}/{asked['name']}"
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self.send(401, {"error": "log in"})
        if repo_id in self.state.repositories:
            return self.send(409, {"error": "it exists", "url": f"{self.state.url}/{repo_id}"})
        private = asked.get("private") or asked.get("visibility") == "private"
        made = self.state.repositories[repo_id] = Repository(private=bool(private))
        made.commit("main", {".gitattributes": Blob(b"*.npy filter=lfs\n", False)}, "initial")
        self.send(200, {"url": f"{self.state.url}/{repo_id}", "name": repo_id})

    def branch(self, repo_id: str, name: str) -> None:
        if (repository := self.repository(repo_id, writes=True)) is not None:
            if name in repository.branches:
                return self.send(409, {"error": "it exists"})
            repository.branches[name] = repository.branches["main"]
            self.send(200, {})

    def preupload(self, repo_id: str, revision: str) -> None:
        if (repository := self.repository(repo_id, writes=True)) is None:
            return
        tree = repository.commits[repository.branches[revision]]
        files = [
            {
                "path": one["path"],
                "uploadMode": "lfs" if one["size"] >= self.state.lfs_from else "regular",
                "shouldIgnore": False,
                "oid": tree[one["path"]].git_id if one["path"] in tree else None,
            }
            for one in json.loads(self.body)["files"]
        ]
        self.send(200, {"files": files})

    def batch(self, repo_id: str) -> None:
        if self.repository(repo_id, writes=True) is None:
            return
        objects = []
        for one in json.loads(self.body)["objects"]:
            actions = {
                "upload": {"href": f"{self.state.url}/lfs/{one['oid']}"},
                "verify": {"href": f"{self.state.url}/verify"},
            }
            there = one["oid"] in self.state.uploaded
            objects.append({**one, **({} if there else {"actions": actions})})
        content = {"transfer": "basic", "objects": objects}
        self.send(200, content, {"Content-Type": "application/vnd.git-lfs+json"})

    def upload(self, name: str) -> None:
        assert hashlib.sha256(self.body).hexdigest() == name
        self.state.uploaded[name] = self.body
        self.send(200, {})

    def verify(self) -> None:
        asked = json.loads(self.body)
        self.send(200 if asked["oid"] in self.state.uploaded else 404, {})

    def commit(self, repo_id: str, revision: str) -> None:
        if (repository := self.repository(repo_id, writes=True)) is None:
            return
        tree, message = dict(repository.commits[repository.branches[revision]]), ""
        for line in self.body.decode().splitlines():
            one = json.loads(line)
            value = one["value"]
            if one["key"] == "header":
                message = value["summary"]
            elif one["key"] == "file":
                tree[value["path"]] = Blob(base64.b64decode(value["content"]), False)
            elif one["key"] == "lfsFile":
                tree[value["path"]] = Blob(self.state.uploaded[value["oid"]], True)
            elif one["key"] == "deletedFile":
                del tree[value["path"]]
        commit = repository.commit(revision, tree, message)
        address = f"{self.state.url}/{repo_id}/commit/{commit}"
        self.send(200, {"success": True, "commitOid": commit, "commitUrl": address})

    def card(self) -> None:
        """The hub looks at the metadata of a card before it takes it."""
        content = json.loads(self.body)["content"]
        good = re.match(r"---\nlibrary_name: noppa\n(.*\n)*?---\n", content)
        self.send(200 if good else 400, {"errors": [], "warnings": []})


REPO, PART = r"([^/]+/[^/]+)", r"([^/]+)"
ROUTES: list[tuple[str, tuple[str, ...], Any]] = [
    (f"/api/models/{REPO}", ("GET",), Handler.model),
    (f"/api/models/{REPO}/revision/{PART}", ("GET",), Handler.model),
    (f"/api/models/{REPO}/tree/{PART}", ("GET",), Handler.listing),
    (f"/{REPO}/resolve/{PART}/(.+)", ("GET", "HEAD"), Handler.resolve),
    (f"/lfs/{PART}", ("GET", "HEAD"), Handler.stored),
    ("/api/repos/create", ("POST",), Handler.create),
    (f"/api/models/{REPO}/branch/{PART}", ("POST",), Handler.branch),
    (f"/api/models/{REPO}/preupload/{PART}", ("POST",), Handler.preupload),
    (rf"/{REPO}\.git/info/lfs/objects/batch", ("POST",), Handler.batch),
    (f"/lfs/{PART}", ("PUT",), Handler.upload),
    ("/verify", ("POST",), Handler.verify),
    (f"/api/models/{REPO}/commit/{PART}", ("POST",), Handler.commit),
    ("/api/validate-yaml", ("POST",), Handler.card),
]

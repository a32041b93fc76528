"""Files from their publishers: resumed, checked, and under their name only when they are whole."""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noppa.errors import FileError
from noppa.io.atomic import lock_path
from noppa.words.formats.catalogue import Entry
from noppa.words.formats.load_options import Progress

PIECE = 1 << 18
HOME = "NOPPA_HOME"

#: An attempt that brings fewer bytes counts as vain, so that crumbs do not make the attempts endless.
LEAST_PROGRESS = 1 << 20
LONGEST_PAUSE = 60.0

_PAGE = re.compile(rb"\s*<(!doctype|html|\?xml)", re.I)
_RANGE = re.compile(r"bytes (\d{1,19})-(\d{1,19})/(\d{1,19})\Z")


@dataclass(frozen=True)
class Patience:
    """How long to wait for a server that says nothing, how often to try a place in vain, and how long to pause then."""

    seconds: float = 30.0
    attempts: int = 5
    pause: float = 1.0

    def rest(self, vain: int) -> None:
        """Pause before the next attempt, twice as long after each vain one."""
        time.sleep(min(self.pause * 2**vain, LONGEST_PAUSE))


class _Refused(Exception):
    """Why a place cannot give the file; `again` where another attempt at the same place may."""

    def __init__(self, why: str, again: bool = False) -> None:
        super().__init__(why)
        self.again = again


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a server to another place only over https: what comes over http or ftp can be anybody's."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        if not newurl.lower().startswith("https://"):
            raise _Refused(f"the server leads to {newurl[:100]!r}, and only https is followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def https_opener() -> urllib.request.OpenerDirector:
    """Opens https addresses alone: no http, ftp, file or data."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
        _Redirects(),
    ):
        opener.add_handler(handler)
    return opener


def home() -> Path:
    """Where downloads are kept: NOPPA_HOME, else the user's cache folder."""
    if HOME in os.environ:
        return Path(os.environ[HOME])
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "noppa"


def download(
    entry: Entry,
    folder: Path,
    progress: Progress | None = None,
    patience: Patience | None = None,
    opener: urllib.request.OpenerDirector | None = None,
) -> Path:
    """The path of a whole and checked copy of a file, fetched where there is none yet.

    A copy cut short by an interruption is taken up where it ends. Every place of the entry is tried in turn.
    """
    target = folder / entry.file
    partial = folder / f".{entry.file}.partial"
    with _explained(target):
        if target.exists() and _fault(target, entry) is None:
            return target
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(partial):
            fetch = _Fetch(
                entry, partial, progress, patience or Patience(), opener or https_opener()
            )
            reasons = []
            for url in entry.urls:
                reason = fetch.patiently(url)
                if reason is None:
                    os.replace(partial, target)
                    return target
                reasons.append(f"{url}: {reason}")
            if not _size(partial):
                partial.unlink(missing_ok=True)
    raise FileError(
        f"{entry.name} could not be fetched ({'; '.join(reasons)}): try again later, which goes on where this stopped, "
        f"or get the file elsewhere and put it at {target}"
    )


@contextmanager
def _explained(target: Path) -> Iterator[None]:
    """Errors of the disk as one sentence; what a server does wrong is dealt with before."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}") from error


@contextmanager
def _locked(partial: Path) -> Iterator[None]:
    """Two processes would write into each other's copy."""
    partial.touch()
    try:
        handle = lock_path(partial)
    except BlockingIOError:
        raise FileError(f"{partial} is being fetched by another process: wait for it") from None
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


@dataclass(frozen=True)
class _Fetch:
    """Brings `partial` to its full length."""

    entry: Entry
    partial: Path
    progress: Progress | None
    patience: Patience
    opener: urllib.request.OpenerDirector

    def patiently(self, url: str) -> str | None:
        """Fetch the whole file from one place in as many attempts as it takes; why that failed, None if it did not."""
        vain = 0
        while True:
            have = _size(self.partial)
            try:
                self._once(url, have)
                break
            except _Refused as refusal:
                vain = 0 if _size(self.partial) >= have + LEAST_PROGRESS else vain + 1
                if not refusal.again or vain >= self.patience.attempts:
                    return str(refusal)
                self.patience.rest(vain)
        fault = _fault(self.partial, self.entry)
        if fault is not None:
            os.truncate(self.partial, 0)  # whole and wrong: nothing to go on from
        return fault

    def _once(self, url: str, have: int) -> None:
        if have == self.entry.size:
            return
        if have > self.entry.size:
            os.truncate(self.partial, 0)
            have = 0
        request = urllib.request.Request(url, headers={"User-Agent": "noppa"})
        if have:
            request.add_header("Range", f"bytes={have}-")
        with self._refusals(), self.opener.open(request, timeout=self.patience.seconds) as response:
            have = _start(response, have, self.entry.size)
            for piece in _pieces(response, have, self.entry.size):
                self._write(piece, have)
                have += len(piece)
                if self.progress is not None:
                    self.progress(have, self.entry.size)
            if have < self.entry.size:
                raise _Refused(
                    f"the connection ended after {have} of {self.entry.size} bytes", again=True
                )

    def _write(self, piece: bytes, at: int) -> None:
        with _explained(self.partial), self.partial.open("r+b") as file:
            file.truncate(at)  # what lay behind came from a server that does not resume
            file.seek(at)
            file.write(piece)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """What goes wrong on the way, as a reason to try again or not to."""
        seconds = self.patience.seconds
        try:
            yield
        except FileError:
            raise
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 416:  # what we have is not a part of what is there
                os.truncate(self.partial, 0)
                raise _Refused("the part fetched before does not fit", again=True) from error
            raise _Refused(
                f"the server answered {error.code} {error.reason}", error.code >= 500
            ) from error
        except TimeoutError as error:
            raise _Refused(f"nothing came for {seconds:g} seconds", again=True) from error
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise _Refused(f"no answer for {seconds:g} seconds", again=True) from error
            raise _Refused(f"no connection ({error.reason}); is this machine offline?") from error
        except (http.client.HTTPException, OSError) as error:
            raise _Refused(
                f"the connection broke ({error or type(error).__name__})", again=True
            ) from error


def _start(response: Any, have: int, size: int) -> int:
    """Where the content of a response begins in the file, checked against all that its headers say."""
    if response.status == 206:
        place = _RANGE.match(response.headers.get("Content-Range") or "")
        if place is None or int(place[1]) != have:
            raise _Refused("the server resumed at another place than asked for")
        total = int(place[3])
    else:
        have = 0  # the server does not resume
        length = response.headers.get("Content-Length") or ""
        total = int(length) if re.fullmatch(r"\d{1,19}", length) else size
    if total != size:
        _refuse_page(response.read1(PIECE) if not have else b"")
        raise _Refused(f"the server has {total} bytes where {size} were published")
    return have


def _pieces(response: Any, have: int, size: int) -> Iterator[bytes]:
    """The content piece by piece, never more than was published."""
    first = have == 0
    while piece := response.read1(min(PIECE, size - have + 1)):
        if first:
            _refuse_page(piece)
        first = False
        have += len(piece)
        if have > size:
            raise _Refused(f"the server sends more than the {size} bytes that were published")
        yield piece


def _refuse_page(start: bytes) -> None:
    if _PAGE.match(start):
        raise _Refused("a web page came instead of the file")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _fault(path: Path, entry: Entry) -> str | None:
    """What is wrong with a whole file, None if nothing."""
    size = path.stat().st_size
    if size != entry.size:
        return f"it has {size} bytes where {entry.size} were published"
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    if digest.hexdigest() != entry.sha256:
        return f"its checksum {digest.hexdigest()[:12]}… is not the published {entry.sha256[:12]}…"
    return None

"""Files from their publishers: resumed, checked, and under their name only when they are whole."""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from noppa.errors import FileError
from noppa.files.catalogue import Entry
from noppa.files.options import Progress

PIECE = 1 << 18
HOME = "NOPPA_HOME"
_PAGE = re.compile(rb"\s*<(!doctype|html|\?xml)", re.I)


@dataclass(frozen=True)
class Patience:
    """How long to wait for a server that says nothing, and how often to try a place in vain."""

    seconds: float = 30.0
    attempts: int = 5


class _Refused(Exception):
    """Why a place cannot give the file; `again` where another attempt at the same place may."""

    def __init__(self, why: str, again: bool = False) -> None:
        super().__init__(why)
        self.again = again


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
) -> Path:
    """The path of a whole and checked copy of a file, fetched where there is none yet.

    A copy cut short by an interruption is taken up where it ends. Every place of the entry is tried in turn.
    """
    patience = patience or Patience()
    target = folder / entry.file
    if target.exists() and _fault(target, entry) is None:
        return target
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{entry.file}.partial"
    reasons = []
    for url in entry.urls:
        left = patience.attempts
        while left:
            have = _size(partial)
            try:
                _fetch(url, partial, entry, progress, patience.seconds)
            except _Refused as refusal:
                reason = str(refusal)
                if not refusal.again:
                    break
                # A place that gave a part will give the rest: only vain attempts count.
                left = left - 1 if _size(partial) <= have else patience.attempts
                continue
            fault = _fault(partial, entry)
            if fault is None:
                os.replace(partial, target)
                return target
            partial.unlink()  # whole and wrong: nothing to go on from
            reason = fault
            break
        reasons.append(f"{url}: {reason}")
    raise FileError(
        f"{entry.name} could not be fetched ({'; '.join(reasons)}): try again later, which goes on where this stopped, "
        f"or get the file elsewhere and put it at {target}"
    )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _fetch(
    url: str, partial: Path, entry: Entry, progress: Progress | None, seconds: float
) -> None:
    """Bring `partial` to its full length from one place."""
    have = _size(partial)
    if entry.size is not None and have == entry.size:
        return
    if entry.size is not None and have > entry.size:
        partial.unlink()
        have = 0
    request = urllib.request.Request(url, headers={"User-Agent": "noppa"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        with urllib.request.urlopen(request, timeout=seconds) as response:
            _receive(response, partial, entry, progress, have)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:  # what we have is not a part of what is there
            partial.unlink(missing_ok=True)
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
    except (http.client.HTTPException, ConnectionError) as error:
        raise _Refused(
            f"the connection broke ({error or type(error).__name__})", again=True
        ) from error
    except OSError as error:
        raise FileError(f"cannot write {partial}: {error.strerror or error}") from error


def _receive(
    response: http.client.HTTPResponse,
    partial: Path,
    entry: Entry,
    progress: Progress | None,
    have: int,
) -> None:
    length = response.headers.get("Content-Length")
    if response.status != 206:
        have = 0  # the server does not resume
    elif not (response.headers.get("Content-Range") or "").startswith(f"bytes {have}-"):
        raise _Refused("the server resumed at another place than asked for")
    total = have + int(length) if length else entry.size or 0
    first = True
    with partial.open("r+b" if have else "wb") as file:
        file.seek(have)
        while piece := response.read1(PIECE):
            if first and not have and _PAGE.match(piece):
                file.truncate(0)
                raise _Refused("a web page came instead of the file")
            if first and entry.size is not None and length and total != entry.size:
                raise _Refused(f"the server has {total} bytes where {entry.size} were published")
            first = False
            file.write(piece)
            have += len(piece)
            if progress is not None:
                progress(have, total)
    if total and have < total:
        raise _Refused(f"the connection ended after {have} of {total} bytes", again=True)


def _fault(path: Path, entry: Entry) -> str | None:
    """What is wrong with a whole file, None if nothing."""
    size = path.stat().st_size
    if entry.size is not None and size != entry.size:
        return f"it has {size} bytes where {entry.size} were published"
    if entry.sha256 is not None:
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
        if digest.hexdigest() != entry.sha256:
            return (
                f"its checksum {digest.hexdigest()[:12]}… is not the published {entry.sha256[:12]}…"
            )
    return None

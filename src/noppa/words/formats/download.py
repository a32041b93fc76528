"""Downloads: resumed, retried, verified, and under their name only when complete."""

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

from noppa.errors import FileError, warn
from noppa.words.formats.catalogue import Entry
from noppa.words.formats.load_options import Progress

PIECE = 1 << 18

#: An attempt that brings fewer bytes counts as failed, so that a trickle of bytes cannot make the retries endless.
LEAST_PROGRESS = 1 << 20
LONGEST_PAUSE = 60.0

_PAGE = re.compile(rb"\s*<(!doctype|html|\?xml)", re.I)
_RANGE = re.compile(r"bytes (\d{1,19})-(\d{1,19})/(\d{1,19})\Z")


@dataclass(frozen=True)
class Patience:
    """Timeout of a silent server in seconds, failed attempts a URL, and the first pause between them."""

    seconds: float = 30.0
    attempts: int = 5
    pause: float = 1.0

    def back_off(self, failures: int) -> None:
        """Sleep before a retry, twice as long after each failure."""
        time.sleep(min(self.pause * 2**failures, LONGEST_PAUSE))


class _Refused(Exception):
    """Why a URL does not give the file; `retry` where another attempt may."""

    def __init__(self, reason: str, retry: bool = False) -> None:
        super().__init__(reason)
        self.retry = retry


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to https alone: content over http or ftp can be tampered with."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        if not newurl.lower().startswith("https://"):
            raise _Refused(f"the server leads to {newurl[:100]!r}, and only https is followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def https_opener() -> urllib.request.OpenerDirector:
    """An opener for https URLs alone: no http, ftp, file or data."""
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


def download(
    entry: Entry,
    folder: Path,
    progress: Progress | None = None,
    patience: Patience | None = None,
    opener: urllib.request.OpenerDirector | None = None,
) -> Path:
    """The path of a verified copy of a file, downloaded where there is none yet.

    An interrupted download is resumed. The URLs of the entry are tried in turn. Where no checksum is published, only the
    length that the server announces is compared, and a warning says so.
    """
    target = folder / entry.file
    partial = folder / f".{entry.file}.partial"
    with _explained(target):
        if target.exists() and _fault(target, entry) is None:
            return target
        folder.mkdir(parents=True, exist_ok=True)
        partial.touch()
        if True:
            fetch = _Fetch(
                entry, partial, progress, patience or Patience(), opener or https_opener()
            )
            reasons = []
            for url in entry.urls:
                reason = fetch.with_retries(url)
                if reason is None:
                    if entry.sha256 is None:
                        _warn_of_no_checksum(entry, partial)
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
    """Errors of the disk as one sentence; those of the network are handled further in."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}") from error


@dataclass(frozen=True)
class _Fetch:
    """Downloads an entry into `partial`."""

    entry: Entry
    partial: Path
    progress: Progress | None
    patience: Patience
    opener: urllib.request.OpenerDirector

    def with_retries(self, url: str) -> str | None:
        """Download the whole file from one URL, with retries; the reason of a failure, or None."""
        failures = 0
        while True:
            size_before = _size(self.partial)
            try:
                self._once(url, size_before)
                break
            except _Refused as refusal:
                progressed = _size(self.partial) >= size_before + LEAST_PROGRESS
                failures = 0 if progressed else failures + 1
                if not refusal.retry or failures >= self.patience.attempts:
                    return str(refusal)
                self.patience.back_off(failures)
        fault = _fault(self.partial, self.entry)
        if fault is not None:
            os.truncate(self.partial, 0)  # complete but wrong: nothing to resume
        return fault

    def _once(self, url: str, offset: int) -> None:
        size = self.entry.size
        if offset == size:
            return
        if size is not None and offset > size:
            os.truncate(self.partial, 0)
            offset = 0
        request = urllib.request.Request(url, headers={"User-Agent": "noppa"})
        if offset:
            request.add_header("Range", f"bytes={offset}-")
        with self._refusals(), self.opener.open(request, timeout=self.patience.seconds) as response:
            offset, size = _start(response, offset, size)
            for piece in _pieces(response, offset, size):
                self._write(piece, offset)
                offset += len(piece)
                if self.progress is not None:
                    self.progress(offset, size)
            if offset < size:
                raise _Refused(f"the connection ended after {offset} of {size} bytes", retry=True)

    def _write(self, piece: bytes, at: int) -> None:
        with _explained(self.partial), self.partial.open("r+b") as file:
            file.truncate(at)  # drops bytes of an earlier attempt that this server does not resume
            file.seek(at)
            file.write(piece)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Network errors as refusals, with or without a retry."""
        seconds = self.patience.seconds
        try:
            yield
        except FileError:
            raise
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 416:  # Range Not Satisfiable
                os.truncate(self.partial, 0)
                raise _Refused("the part fetched before does not fit", retry=True) from error
            raise _Refused(
                f"the server answered {error.code} {error.reason}", error.code >= 500
            ) from error
        except TimeoutError as error:
            raise _Refused(f"nothing came for {seconds:g} seconds", retry=True) from error
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise _Refused(f"no answer for {seconds:g} seconds", retry=True) from error
            raise _Refused(f"no connection ({error.reason}); is this machine offline?") from error
        except (http.client.HTTPException, OSError) as error:
            raise _Refused(
                f"the connection broke ({error or type(error).__name__})", retry=True
            ) from error


def _start(response: Any, offset: int, size: int | None) -> tuple[int, int]:
    """The offset in the file at which a response begins, checked against its headers, and the size of the file."""
    if response.status == 206:
        content_range = _RANGE.match(response.headers.get("Content-Range") or "")
        if content_range is None or int(content_range[1]) != offset:
            raise _Refused("the server resumed at another place than asked for")
        total = int(content_range[3])
    else:
        offset = 0  # the server does not resume
        length = response.headers.get("Content-Length") or ""
        announced = int(length) if re.fullmatch(r"\d{1,19}", length) else size
        if announced is None:
            raise _Refused("the server does not say how long the file is, nor does its publisher")
        total = announced
    if size is not None and total != size:
        _refuse_page(response.read1(PIECE) if not offset else b"")
        raise _Refused(f"the server has {total} bytes where {size} were published")
    return offset, total


def _pieces(response: Any, offset: int, size: int) -> Iterator[bytes]:
    """The content in pieces, refused beyond the published size."""
    first = offset == 0
    while piece := response.read1(min(PIECE, size - offset + 1)):
        if first:
            _refuse_page(piece)
        first = False
        offset += len(piece)
        if offset > size:
            raise _Refused(f"the server sends more than the {size} bytes that were published")
        yield piece


def _refuse_page(start: bytes) -> None:
    if _PAGE.match(start):
        raise _Refused("a web page came instead of the file")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _fault(path: Path, entry: Entry) -> str | None:
    """What is wrong with a complete file, None if nothing."""
    size = path.stat().st_size
    if entry.size is not None and size != entry.size:
        return f"it has {size} bytes where {entry.size} were published"
    if entry.sha256 is None:
        return None
    digest = _digest(path)
    if digest != entry.sha256:
        return f"its checksum {digest[:12]}… is not the published {entry.sha256[:12]}…"
    return None


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _warn_of_no_checksum(entry: Entry, path: Path) -> None:
    warn(
        f"no checksum of {entry.name} is published, so that only its {path.stat().st_size} bytes could be compared with "
        f"what the server announced; its SHA-256 is {_digest(path)}: compare it with that of another copy"
    )

"""What was met while a vector file was read."""

from __future__ import annotations

from dataclasses import dataclass, field

from noppa.errors import FileError, warn

LISTED = 100


@dataclass
class Report:
    """How a vector file was read: what it was, what it held, and what was left out."""

    path: str
    format: str = ""
    compression: str = "none"
    rows: int = 0
    declared: int | None = None
    """Rows that the header promised."""
    skipped_count: int = 0
    skipped: list[str] = field(default_factory=list)
    """The first lines that were left out, each with its reason."""
    zero: list[str] = field(default_factory=list)
    """The first words whose vector is all zeros; they are kept."""
    zero_count: int = 0
    dropped: list[str] = field(default_factory=list)
    """Words left out by `drop`."""
    truncated: bool = False

    @property
    def full(self) -> bool:
        """Whether no more reasons are listed, so that none need be found."""
        return len(self.skipped) >= LISTED

    def skip(self, reason: str) -> None:
        self.skipped_count += 1
        if not self.full:
            self.skipped.append(reason)

    def shorter(self, complaint: str, strict: bool) -> None:
        """Tell that a file ends before it should, or refuse it."""
        told, self.truncated = self.truncated, True
        if strict:
            raise FileError(
                f"{self.path} {complaint}: download or copy it again, or pass strict=False"
            )
        if told:
            return
        warn(f"{self.path} {complaint}: what is there was loaded; download or copy it again")

    def finish(self) -> None:
        """Warn of what was left out."""
        if self.skipped_count:
            warn(
                f"{self.path}: {self.skipped_count} lines were skipped, the first: {self.skipped[0]}"
            )

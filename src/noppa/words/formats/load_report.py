"""The report of a load: format, rows, and what was skipped."""

from __future__ import annotations

from dataclasses import dataclass, field

from noppa.errors import FileError, warn

LISTED = 100


@dataclass
class Report:
    """How a vector file was read: its format, its size, and what was skipped."""

    path: str
    format: str = ""
    compression: str = "none"
    rows: int = 0
    declared: int | None = None
    """Rows that the header promised."""
    skipped_count: int = 0
    skipped: list[str] = field(default_factory=list)
    """The first skipped lines, each with its reason."""
    zero: list[str] = field(default_factory=list)
    """The first words whose vector is all zeros; they are kept."""
    zero_count: int = 0
    dropped: list[str] = field(default_factory=list)
    """Words skipped by `drop`."""
    truncated: bool = False

    @property
    def full(self) -> bool:
        """Whether no further reasons are listed, so that callers need not make any."""
        return len(self.skipped) >= LISTED

    def skip(self, reason: str) -> None:
        self.skipped_count += 1
        if not self.full:
            self.skipped.append(reason)

    def truncate(self, complaint: str, strict: bool) -> None:
        """Warn once that the file ends early; with `strict`, refuse it."""
        already_warned, self.truncated = self.truncated, True
        if strict:
            raise FileError(
                f"{self.path} {complaint}: download or copy it again, or pass strict=False"
            )
        if already_warned:
            return
        warn(f"{self.path} {complaint}: what is there was loaded; download or copy it again")

    def finish(self) -> None:
        """Warn of skipped lines."""
        if self.skipped_count:
            warn(
                f"{self.path}: {self.skipped_count} lines were skipped, the first: {self.skipped[0]}"
            )

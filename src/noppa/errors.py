"""The exceptions and warnings that noppa raises."""

from __future__ import annotations

import sys
import warnings


class NoppaError(Exception):
    """Base class of every error that a user can cause.

    Attributes:
        message: What went wrong, and where.
        hint: What to do about it, in terms of Python parameters; "" if `message` says it all.
    """

    def __init__(self, message: str = "", hint: str = "") -> None:
        super().__init__(f"{message}: {hint}" if hint else message)
        self.message = message
        self.hint = hint

    # KeyError and OSError, from which some of the classes below derive, format their arguments.
    __str__ = Exception.__str__


class InputError(NoppaError, TypeError):
    """A text, or a batch of texts, cannot be encoded."""


class ParameterError(NoppaError, ValueError):
    """A parameter is out of range, or the data does not allow a fit with it."""


class NotFittedError(NoppaError, RuntimeError):
    """An encoder was used before `fit`."""


class UnknownWordError(NoppaError, KeyError):
    """A word is not in the vocabulary."""


class FileError(NoppaError, OSError):
    """A file or folder is missing, damaged, from a newer version, or of the wrong kind."""


class MissingPackageError(NoppaError, ImportError):
    """An optional dependency is not installed."""


class NoppaWarning(UserWarning):
    """Base class of all warnings."""


class UnknownWordsWarning(NoppaWarning):
    """Few words of a batch are known: the texts are probably in another language."""


def warn(message: str, category: type[Warning] = NoppaWarning) -> None:
    """Warn at the line of the user's code that called into noppa, however deep the call stack is."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None:
        is_ours = frame.f_globals.get("__name__", "").partition(".")[0] == "noppa"
        if not is_ours and "importlib._bootstrap" not in frame.f_code.co_filename:
            break
        level += is_ours  # warnings.warn skips frames of the import system too
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level)

"""The one family of errors, and the one warning."""

from __future__ import annotations

import sys
import warnings


class NoppaError(Exception):
    """Anything a user can cause: one sentence that says what was wrong, where, and what to do."""


class InputError(NoppaError, TypeError):
    """A text, or a batch of them, that cannot be encoded."""


class ParameterError(NoppaError, ValueError):
    """A parameter outside what it may be, or data that it cannot be fitted on."""


class NotFittedError(NoppaError, RuntimeError):
    """An encoder was asked for vectors before it had learnt what its method needs."""


class UnknownWordError(NoppaError, KeyError):
    """A word that is not in the vocabulary."""

    __str__ = Exception.__str__


class FileError(NoppaError, OSError):
    """A file or folder that is missing, damaged, from a newer version, or not what it should be."""

    __str__ = Exception.__str__


class MissingPackageError(NoppaError, ImportError):
    """A package of an extra that is not installed."""


class NoppaWarning(UserWarning):
    """Something the user should know that did not stop the work."""


class UnknownWordsWarning(NoppaWarning):
    """Few words of a batch are known: the text is in another language or script than the word vectors."""


def warn(message: str, category: type[Warning] = NoppaWarning) -> None:
    """Warn with the stack level of the user's line that called into noppa, however deep the warning arises."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None:
        ours = frame.f_globals.get("__name__", "").partition(".")[0] == "noppa"
        if not ours and "importlib._bootstrap" not in frame.f_code.co_filename:
            break
        level += ours  # warnings.warn skips frames of the import system too
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level)

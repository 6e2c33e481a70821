"""Errors of the command line itself, and how any error is told: one line on stderr and an exit code, no traceback."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar

from fcreview.errors import FAILED, FINE, INTERRUPTED, WRONG_USAGE, FcreviewError

__all__ = [
    "FAILED",
    "FINE",
    "INTERRUPTED",
    "WRONG_USAGE",
    "CommandError",
    "ReaderGoneError",
    "UsageError",
    "explain",
    "one_of",
]

Name = TypeVar("Name", bound=str)


class CommandError(FcreviewError):
    """The command failed; the message is the reason, one line."""


class UsageError(CommandError):
    """The command was called wrongly."""

    code = WRONG_USAGE


class ReaderGoneError(Exception):
    """Whoever read our output has closed it (`| head`): nothing is left to do, and nothing went wrong."""


def one_of(known: Collection[Name], named: str, what: str) -> Name:
    """The name that was given, as one of those there are. UsageError, which lists them, if it is none."""
    found = next((each for each in known if each == named), None)
    if found is None:
        raise UsageError(f"no {what} {named!r}: there are {', '.join(known)}")
    return found


def explain(error: Exception) -> tuple[int, list[str]]:
    """Exit code and lines for stderr. What is not one of ours is an internal error and says how to see more."""
    if isinstance(error, FcreviewError):
        return error.code, error.lines()
    if isinstance(error, OSError):
        return FAILED, [": ".join(str(part) for part in (error.filename, error.strerror or error) if part)]
    return FAILED, [
        f"internal error: {type(error).__name__}: {error}",
        "FCREVIEW_DEBUG=1 shows where; please report it with the command you gave",
    ]

"""Errors of the command line, and the exit code and message of any error."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar

from fcreview.errors import EXIT_FAILURE, EXIT_SUCCESS, EXIT_INTERRUPTED, EXIT_USAGE_ERROR, FcreviewError

__all__ = [
    "EXIT_FAILURE",
    "EXIT_SUCCESS",
    "EXIT_INTERRUPTED",
    "EXIT_USAGE_ERROR",
    "CommandError",
    "OutputClosedError",
    "UsageError",
    "check_choice",
    "describe_error",
]

Name = TypeVar("Name", bound=str)


class CommandError(FcreviewError):
    """Raised when a command fails. The message gives the reason in one line."""


class UsageError(CommandError):
    """Raised for invalid arguments."""

    exit_code = EXIT_USAGE_ERROR


class OutputClosedError(Exception):
    """Raised when the reader of standard output has closed it (`| head`). The command ends without an error."""


def check_choice(known: Collection[Name], named: str, what: str) -> Name:
    """Return `named` if it is one of the `known` names. Otherwise raise a UsageError that lists them."""
    found = next((each for each in known if each == named), None)
    if found is None:
        raise UsageError(f"no {what} {named!r}: choose {', '.join(known)}")
    return found


def describe_error(error: Exception) -> tuple[int, list[str]]:
    """Exit code and stderr lines for an error. An unexpected one is reported as an internal error."""
    if isinstance(error, FcreviewError):
        return error.exit_code, error.message_lines()
    if isinstance(error, OSError):
        return EXIT_FAILURE, [": ".join(str(part) for part in (error.filename, error.strerror or error) if part)]
    return EXIT_FAILURE, [
        f"internal error: {type(error).__name__}: {error}",
        "Set FCREVIEW_DEBUG=1 for the traceback, and report it with the command you ran.",
    ]

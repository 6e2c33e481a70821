"""Define the exceptions of commands, and describe any exception with an exit code and a message."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar

from fcreview.errors import EXIT_FAILURE, EXIT_USAGE_ERROR, FcreviewError

Name = TypeVar("Name", bound=str)
OUT_OF_MEMORY_REASONS = ("can't start new thread", "Cannot allocate memory", "failed to map segment")
"""Texts in the errors that Python's threads and imports and the operating system raise when memory is exhausted."""


class CommandError(FcreviewError):
    """Raised with the reason when a command fails."""


class UsageError(CommandError):
    exit_code = EXIT_USAGE_ERROR


class OutputClosedError(Exception):
    """Raised when the reader of standard output has closed it (`| head`). The command ends without an error."""


def check_choice(choices: Collection[Name], value: str, noun: str) -> Name:
    """Return `value` if it is one of `choices`. Otherwise raise a UsageError that lists the choices."""
    found = next((each for each in choices if each == value), None)
    if found is None:
        raise UsageError(f"invalid {noun} {value!r}: choose {', '.join(choices)}")
    return found


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an exception, or one that caused it, reports a lack of memory. The exception may come from a library."""
    while error is not None:
        if type(error).__name__ in ("MemoryError", "OutOfMemoryException") or any(
            reason in str(error) for reason in OUT_OF_MEMORY_REASONS
        ):
            return True
        error = error.__cause__
    return False


def describe_error(error: Exception) -> tuple[int, list[str]]:
    """Return the exit code and the message lines of an exception. Unexpected exceptions become internal errors."""
    if isinstance(error, FcreviewError):
        return error.exit_code, error.message_lines()
    if isinstance(error, OSError):
        return EXIT_FAILURE, [": ".join(str(part) for part in (error.filename, error.strerror or error) if part)]
    if is_out_of_memory(error):
        return EXIT_FAILURE, [
            "not enough memory. Close other programs, raise the limit (ulimit -v), or open fewer runs."
        ]
    if type(error).__module__.lstrip("_").startswith("duckdb"):
        from fcreview.store.database import describe_damage, is_damage

        if is_damage(error):
            return EXIT_FAILURE, [describe_damage(error)]
    return EXIT_FAILURE, [
        f"internal error: {type(error).__name__}: {error}",
        "Run the command again with FCREVIEW_DEBUG=1 and report the traceback.",
    ]

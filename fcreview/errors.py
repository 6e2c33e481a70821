"""Define exit codes, the base class of fcreview's errors, and the exceptions that malformed data
can cause.
"""

from __future__ import annotations

EXIT_SUCCESS = 0
EXIT_FAILURE = 1
EXIT_USAGE_ERROR = 2
EXIT_INTERRUPTED = 130

MALFORMED_DATA = (
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    RecursionError,
    ArithmeticError,
    MemoryError,
)
"""Exceptions that a function that reads a benchmark's format may raise if a record does not have
this format.
"""


class FcreviewError(Exception):
    """Base class of errors that the user can correct.

    The message states what happened, where, and what to do.
    """

    exit_code = EXIT_FAILURE

    def message_lines(self) -> list[str]:
        """Return the lines to print on stderr.

        The caller writes the program's name before the first line.
        """
        return str(self).split("\n")


class CommandError(FcreviewError):
    """Raised with the reason when a command fails."""


class UsageError(CommandError):
    """Raised when a command is called with invalid arguments."""

    exit_code = EXIT_USAGE_ERROR

"""What goes wrong in ways that people can do something about: one line to read and an exit code."""

from __future__ import annotations

FINE, FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130
"""Exit codes of the program."""

MALFORMED_DATA = (
    TypeError, ValueError, LookupError, AttributeError, RecursionError, ArithmeticError, MemoryError
)  # fmt: skip
"""What data in an unexpected form may raise in code that expects the benchmark's form."""


class FcreviewError(Exception):
    """The message is for people, one line, and says what to do where something can be done."""

    code = FAILED

    def lines(self) -> list[str]:
        """What the command line prints; the first line stands behind the program's name."""
        return str(self).split("\n")

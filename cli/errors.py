"""Errors as the command line tells them: one line on stderr and an exit code, never a traceback."""

from __future__ import annotations

FINE, FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130


class CommandError(Exception):
    """The command failed; the message is the reason, one line."""

    code = FAILED


class UsageError(CommandError):
    """The command was called wrongly."""

    code = WRONG_USAGE


class ReaderGoneError(Exception):
    """Whoever read our output has closed it (`| head`): nothing is left to do, and nothing went wrong."""


def explain(error: Exception) -> tuple[int, list[str]]:
    """Exit code and lines for stderr. What is not one of ours is an internal error and says how to see more."""
    if isinstance(error, CommandError):
        return error.code, str(error).split("\n")
    from fcreview.exporters.base import ExportError
    from fcreview.store.annotators import AnnotatorError
    from fcreview.store.filters.language import FilterError

    if isinstance(error, FilterError):
        return WRONG_USAGE, [f"--where: {error}", *error.caret().split("\n")]
    if isinstance(error, AnnotatorError):
        return WRONG_USAGE, [str(error)]
    from fcreview.store.connecting import StoreError
    from fcreview.store.queries.sqlguard import SqlError
    from fcreview.store.reviews.journal import JournalError
    from fcreview.store.workspace import WorkspaceError

    if isinstance(error, (StoreError, WorkspaceError, JournalError, ExportError, SqlError)):
        return FAILED, str(error).split("\n")
    if isinstance(error, OSError):
        return FAILED, [": ".join(str(part) for part in (error.filename, error.strerror or error) if part)]
    return FAILED, [
        f"internal error: {type(error).__name__}: {error}",
        "FCREVIEW_DEBUG=1 shows where; please report it with the command you gave",
    ]

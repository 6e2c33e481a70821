"""Run a command of `fcreview`, and turn errors, closed pipes and signals into exit codes."""

from __future__ import annotations

import atexit
import codecs
import errno
import gc
import os
import resource
import signal
import sys
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from fcreview.cli.output import OutputClosedError, print_message
from fcreview.cli.signals import (
    find_received_signal,
    install_signal_handlers,
    limit_exit_time,
    stop_raising_exceptions,
    watch_terminal,
)
from fcreview.errors import (
    EXIT_FAILURE,
    EXIT_INTERRUPTED,
    EXIT_SUCCESS,
    CommandError,
    FcreviewError,
)
from fcreview.model.sanitize import clip, sanitize
from fcreview.model.wording import NO_VALUE

FIRST_SIGNAL_EXIT_CODE = 128
"""Exit code of a process that a signal has ended, minus the number of the signal."""
EXIT_HANGUP = FIRST_SIGNAL_EXIT_CODE + signal.SIGHUP
BYTES_PER_MB = 1 << 20
MIN_ADDRESS_SPACE = 1 << 30
"""Smallest limit of the address space, in bytes (`ulimit -v`). Below it, native libraries abort or
crash when they start a thread, which Python cannot catch.
"""
UNCHECKED_ARGUMENTS = {"--help", "-h", "--version", "completion", "schema", "skill"}
"""Commands and options that run without checks, because they need little memory and no working
folder.
"""


def check_memory_and_folder(arguments: Sequence[str]) -> None:
    """Raise a CommandError if the command could not work: with little memory, or in a deleted
    folder.
    """
    if not arguments or not UNCHECKED_ARGUMENTS.isdisjoint(arguments):
        return

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < MIN_ADDRESS_SPACE:
        limit_in_mb = limit // BYTES_PER_MB
        needed_in_mb = MIN_ADDRESS_SPACE // BYTES_PER_MB
        raise CommandError(
            f"not enough memory: the limit is {limit_in_mb:,} MB and fcreview needs"
            f" {needed_in_mb:,} MB. Raise the limit (ulimit -v)."
        )
    try:
        os.getcwd()  # noqa: PTH109 - `Path.cwd` does the same in more steps
    except FileNotFoundError:
        raise CommandError(
            "the working folder no longer exists. Change to another folder."
        ) from None


OUT_OF_MEMORY_REASONS = (
    "can't start new thread",
    "Cannot allocate memory",
    "failed to map segment",
)
"""Texts of errors that Python and the operating system raise when memory is exhausted."""
# Width limit of an error message line, in cells. A message may quote a text of any length.
MAX_ERROR_WIDTH = 2_000
GC_THRESHOLD = 20_000
"""Number of new objects between garbage collections.

It is high, because imports create many lasting objects.
"""


def run_command_line(arguments: list[str], *, handles_signals: bool = False) -> int:
    """Run a command and return its exit code. Errors are printed to stderr.

    FCREVIEW_DEBUG=1 adds the traceback.

    Args:
        handles_signals: Whether to install signal handlers when the command is imported.
    """
    try:
        _run_program(arguments, handles_signals=handles_signals)
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else EXIT_SUCCESS
    except (OutputClosedError, BrokenPipeError):
        return EXIT_SUCCESS
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:
        signal_number = find_received_signal()
        if signal_number is not None:
            # A library has replaced the SystemExit of the signal handler by its own exception.
            return FIRST_SIGNAL_EXIT_CODE + signal_number
        if is_terminal_lost(error):
            return EXIT_HANGUP
        if os.environ.get("FCREVIEW_DEBUG") == "1":
            raise
        return _print_error(error)
    return EXIT_SUCCESS


def _run_program(arguments: list[str], *, handles_signals: bool) -> None:
    """Run the command of a command line. Typer ends it with SystemExit."""
    check_memory_and_folder(arguments)
    from fcreview.cli.commands import add_default_command, build_program

    command_line = add_default_command(arguments)
    if not arguments and command_line == ["--help"] and _print_recent_workspaces():
        return
    program = build_program(command_line[0])
    if handles_signals:
        install_signal_handlers()
        watch_terminal()
    program(args=command_line, prog_name="fcreview")


def _print_recent_workspaces() -> bool:
    """Print the workspaces that the user opened last. Return False without a terminal or such
    workspaces.
    """
    from fcreview.cli.output import can_show_app
    from fcreview.cli.recent_workspaces import list_recent_workspaces, print_recent_workspaces

    folders = list_recent_workspaces() if can_show_app() else []
    if folders:
        print_recent_workspaces(folders)
    return bool(folders)


def _print_error(error: Exception) -> int:
    """Print the message of an error, and return its exit code."""
    report = describe_error(error)
    first_line, *other_lines = report.lines
    lines = [f"fcreview: {first_line}", *other_lines]
    print_message("\n".join(clip(sanitize(line), MAX_ERROR_WIDTH) for line in lines))
    return report.exit_code or EXIT_FAILURE


class ErrorReport(NamedTuple):
    exit_code: int
    lines: list[str]


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an exception, or one that caused it, reports a lack of memory.

    Exceptions of libraries count, too.
    """
    while error is not None:
        if type(error).__name__ in ("MemoryError", "OutOfMemoryException"):
            return True
        message = str(error)
        if any(reason in message for reason in OUT_OF_MEMORY_REASONS):
            return True
        error = error.__cause__
    return False


def describe_error(error: Exception) -> ErrorReport:
    """Return the exit code of an exception, and the lines that tell the user what happened.

    An unexpected exception is an internal error.
    """
    if isinstance(error, FcreviewError):
        return ErrorReport(error.exit_code, error.message_lines())
    if isinstance(error, OSError):
        parts = (error.filename, error.strerror or error)
        message = ": ".join(str(part) for part in parts if part)
        return ErrorReport(EXIT_FAILURE, [message])
    if is_out_of_memory(error):
        advice = "Close other programs, raise the limit (ulimit -v), or open fewer runs."
        return ErrorReport(EXIT_FAILURE, [f"not enough memory. {advice}"])
    # The module is `duckdb` or `_duckdb`. It is not imported here, because it may not be loaded.
    if type(error).__module__.lstrip("_").startswith("duckdb"):
        from fcreview.store.database import describe_damage, is_damage_error

        if is_damage_error(error):
            return ErrorReport(EXIT_FAILURE, [describe_damage(error)])
    advice = "Run the command again with FCREVIEW_DEBUG=1 and report the traceback."
    return ErrorReport(EXIT_FAILURE, [f"internal error: {type(error).__name__}: {error}", advice])


def replace_closed_streams() -> None:
    """Open the null device for each standard stream that the shell has closed (`>&-`).

    Otherwise the next file that is opened, perhaps a journal, would get the stream's number, and
    printed text would be written to it. This holds for child processes too.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        # The system gives the lowest free number, so `null` usually is the stream's number already.
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, number)
        if null != number:
            os.close(null)
        os.set_inheritable(number, True)
        mode = "r" if name == "stdin" else "w"
        setattr(sys, name, os.fdopen(number, mode, closefd=False))


def _escape_unencodable(error: UnicodeError) -> tuple[str, int]:
    """Return an ASCII replacement for characters that the encoding of the locale cannot represent,
    and the position after these characters. A dash becomes a hyphen, and other characters become
    escapes such as `\\u2713`.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].replace(NO_VALUE, "-")
    return text.encode("ascii", "backslashreplace").decode(), error.end


codecs.register_error("fcreview.escape", _escape_unencodable)


def main() -> None:
    """Run the command line and exit."""
    gc.set_threshold(GC_THRESHOLD)
    # `atexit` calls this function after those of all libraries, because it is registered first.
    atexit.register(_end_process_before_finalization)
    replace_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="fcreview.escape")

    command_exit_code = run_command_line(sys.argv[1:], handles_signals=True)
    stop_raising_exceptions()
    exit_code = _flush_output(command_exit_code)
    _exit_with_code(exit_code)


def _exit_with_code(exit_code: int) -> NoReturn:
    """End the process, without waiting for a query or thread that does not end."""
    database = sys.modules.get("fcreview.store.database")
    if database is not None and database.has_uninterruptible_query():
        sys.stderr.flush()
        # `sys.exit` would wait for the query. No file is open for writing.
        os._exit(exit_code)

    # After a signal, the user does not want to wait for threads.
    if exit_code > FIRST_SIGNAL_EXIT_CODE:
        limit_exit_time(exit_code)
    # `_end_process_before_finalization` ends the process with this code.
    _exit_codes.append(exit_code)
    sys.exit(exit_code)


def _flush_output(code: int) -> int:
    """Write the rest of the output. Return `code`, or the exit code of an error."""
    try:
        sys.stdout.flush()
    except OSError as error:
        # The interpreter flushes standard output once more at the end. Then it goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if code != EXIT_SUCCESS or isinstance(error, BrokenPipeError):
            return code
        if is_terminal_lost(error):
            return EXIT_HANGUP
        print_message(f"fcreview: standard output: {error.strerror or error}")
        return EXIT_FAILURE
    return code


def is_terminal_lost(error: Exception) -> bool:
    """Whether a standard stream failed because its terminal no longer exists.

    A program below `make` gets no SIGHUP then.
    """
    if not isinstance(error, OSError) or error.errno != errno.EIO:
        return False
    from fcreview.tui.lost_terminal import has_lost_terminal

    return has_lost_terminal()


_exit_codes: list[int] = []
"""Exit code of the process, as soon as it is known."""


def _end_process_before_finalization() -> None:
    """End the process before the interpreter deletes its modules.

    DuckDB's Python module prints a warning for each of its objects that exists at that time, for
    example in a thread.
    """
    if _exit_codes:
        sys.stderr.flush()
        os._exit(_exit_codes[0])

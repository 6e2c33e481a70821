"""Run a command of `fcreview`, and turn errors, closed pipes and signals into exit codes."""

from __future__ import annotations

import codecs
import gc
import os
import resource
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NamedTuple

from fcreview.cli.output import OutputClosedError, print_message
from fcreview.errors import (
    EXIT_FAILURE,
    EXIT_INTERRUPTED,
    EXIT_SUCCESS,
    CommandError,
    FcreviewError,
)
from fcreview.model.sanitize import clip, sanitize
from fcreview.model.wording import NO_VALUE

MIN_ADDRESS_SPACE = 1 << 30
"""Smallest limit of the address space, in bytes (`ulimit -v`). Below it, native libraries abort or
crash when they start a thread, which Python cannot catch.
"""
UNCHECKED_ARGUMENTS = {"--help", "-h", "--version", "completion", "schema"}
"""Commands and options that run without checks, because they need little memory and no working
folder.
"""


def check_memory_and_folder(arguments: Sequence[str]) -> None:
    """Raise a CommandError if the memory limit is too low or the working folder was deleted."""
    if not arguments or not UNCHECKED_ARGUMENTS.isdisjoint(arguments):
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < MIN_ADDRESS_SPACE:
        raise CommandError(
            f"not enough memory: the limit is {limit >> 20:,} MB and fcreview needs"
            f" {MIN_ADDRESS_SPACE >> 20:,} MB."
            " Raise the limit (ulimit -v)."
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
TERMINATION_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end a command as Ctrl-C does, so that it cleans up.

SIGHUP reports a dropped connection.
"""
_received_signals: list[int] = []


def run_command_line(arguments: list[str]) -> int:
    """Run a command and return its exit code.

    Errors are printed to stderr; FCREVIEW_DEBUG=1 adds the traceback.
    """
    try:
        check_memory_and_folder(arguments)
        from fcreview.cli.commands import add_default_command, build_program

        arguments = add_default_command(arguments)
        build_program(arguments[0])(args=arguments, prog_name="fcreview")
        return EXIT_SUCCESS
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else EXIT_SUCCESS
    except (OutputClosedError, BrokenPipeError):
        return EXIT_SUCCESS
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:
        if _received_signals:  # a library has replaced the SystemExit by an exception of its own
            return 128 + _received_signals[0]
        if os.environ.get("FCREVIEW_DEBUG") == "1":
            raise
        report = describe_error(error)
        lines = [f"fcreview: {report.lines[0]}", *report.lines[1:]]
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
        if type(error).__name__ in ("MemoryError", "OutOfMemoryException") or any(
            reason in str(error) for reason in OUT_OF_MEMORY_REASONS
        ):
            return True
        error = error.__cause__
    return False


def describe_error(error: Exception) -> ErrorReport:
    """Return the exit code and the message lines of an exception.

    Unexpected exceptions become internal errors.
    """
    if isinstance(error, FcreviewError):
        return ErrorReport(error.exit_code, error.message_lines())
    if isinstance(error, OSError):
        line = ": ".join(str(part) for part in (error.filename, error.strerror or error) if part)
        return ErrorReport(EXIT_FAILURE, [line])
    if is_out_of_memory(error):
        advice = "Close other programs, raise the limit (ulimit -v), or open fewer runs."
        return ErrorReport(EXIT_FAILURE, [f"not enough memory. {advice}"])
    if type(error).__module__.lstrip("_").startswith("duckdb"):
        from fcreview.store.database import describe_damage, is_damage_error

        if is_damage_error(error):
            return ErrorReport(EXIT_FAILURE, [describe_damage(error)])
    advice = "Run the command again with FCREVIEW_DEBUG=1 and report the traceback."
    return ErrorReport(EXIT_FAILURE, [f"internal error: {type(error).__name__}: {error}", advice])


def install_signal_handlers() -> None:
    """Raise SystemExit on a termination signal.

    A signal that is ignored, as under `nohup`, stays ignored.
    """
    for each in TERMINATION_SIGNALS:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, _raise_system_exit)


def _raise_system_exit(signal_number: int, _: FrameType | None) -> None:
    for each in TERMINATION_SIGNALS:
        # a second signal usually follows and must not interrupt the cleanup
        signal.signal(each, signal.SIG_IGN)
    _received_signals.append(signal_number)
    raise SystemExit(128 + signal_number)


def replace_closed_streams() -> None:
    """Open the null device for each closed standard stream (`>&-`), also for child processes.
    Otherwise the next file that is opened, perhaps a journal, would get the stream's number, and
    printed text would be written to it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            # streams are opened in order, so that `null` usually is this number already
            os.dup2(null, number)
            if null != number:
                os.close(null)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


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
    """Run the command line and exit. The console script `fcreview` calls this function."""
    gc.set_threshold(GC_THRESHOLD)
    replace_closed_streams()
    install_signal_handlers()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="fcreview.escape")
    code = run_command_line(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError as error:
        # the interpreter flushes once more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError) and code == EXIT_SUCCESS:
            print_message(f"fcreview: standard output: {error.strerror or error}")
            code = EXIT_FAILURE
    database = sys.modules.get("fcreview.store.database")
    if database is not None and database.has_uninterruptible_query():
        sys.stderr.flush()
        os._exit(code)  # `sys.exit` would wait for the query; no file is open for writing
    sys.exit(code)

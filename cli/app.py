"""Entry point of `fcreview`: runs a command and turns errors, closed pipes and interrupts into exit codes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fcreview.cli.command_table import COMMANDS
from fcreview.cli.errors import EXIT_FAILURE, EXIT_SUCCESS, EXIT_INTERRUPTED, OutputClosedError, describe_error
from fcreview.cli.output import note
from fcreview.cli.signals import install_signal_handlers, terminated_by
from fcreview.model.sanitize import clip, sanitize

MAX_ERROR_WIDTH = 2_000
"""Width in cells to which a line of an error message is cut, because it may quote any text."""


def with_default_command(arguments: list[str]) -> list[str]:
    """Arguments with `--help` if there are none, and with `open` before a path that stands first."""
    if not arguments:
        return ["--help"]
    first = arguments[0]
    if first not in COMMANDS and not first.startswith("-") and Path(first).exists():
        return ["open", *arguments]
    return arguments


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code. Errors are printed to stderr; FCREVIEW_DEBUG=1 adds the traceback."""
    try:
        from fcreview.cli.program import build_program

        arguments = with_default_command(arguments)
        build_program(arguments[0])(args=arguments, prog_name="fcreview")
        return EXIT_SUCCESS
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else EXIT_SUCCESS
    except (OutputClosedError, BrokenPipeError):
        return EXIT_SUCCESS
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:
        signalled = terminated_by()
        if signalled is not None:
            return signalled
        if os.environ.get("FCREVIEW_DEBUG") == "1":
            raise
        code, lines = describe_error(error)
        note("\n".join(clip(sanitize(line), MAX_ERROR_WIDTH) for line in (f"fcreview: {lines[0]}", *lines[1:])))
        return code or EXIT_FAILURE


def replace_closed_streams() -> None:
    """Open the null device for each standard stream that is closed (`>&-`), here and in worker processes.

    Otherwise the next file to be opened, perhaps a journal, would get the stream's number and everything printed.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, number)  # in this order `null` usually is that number already
            if null != number:
                os.close(null)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


def app() -> None:
    """Run the command on the command line and exit. Entry point of the console script."""
    replace_closed_streams()
    install_signal_handlers()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # print escapes where the locale lacks a character
            stream.reconfigure(errors="backslashreplace")
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # silence the interpreter's own flush
        if not isinstance(error, BrokenPipeError) and code == EXIT_SUCCESS:
            note(f"fcreview: standard output: {error.strerror or error}")
            code = EXIT_FAILURE
    database = sys.modules.get("fcreview.store.database")
    if database is not None and database.has_running_query():
        sys.stderr.flush()
        os._exit(code)  # the interpreter would wait for the query thread, which has nothing open for writing
    sys.exit(code)

"""The program `fcreview`: its commands, and how errors, closed pipes and interrupts end."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

from fcreview.cli.errors import FAILED, FINE, INTERRUPTED, ReaderGoneError, explain
from fcreview.cli.output import note
from fcreview.cli.signals import heed, told_to_end
from fcreview.model.sanitize import clip, visible

COMMANDS = {
    "open": "fcreview.cli.commands.open:open_",
    "import": "fcreview.cli.commands.run_import:import_",
    "runs": "fcreview.cli.commands.runs:runs",
    "items": "fcreview.cli.commands.items:items",
    "show": "fcreview.cli.commands.show:show",
    "triage": "fcreview.cli.commands.triage:triage",
    "suspects": "fcreview.cli.commands.suspects:suspects",
    "review": "fcreview.cli.commands.review:review",
    "label": "fcreview.cli.commands.label:label",
    "queue": "fcreview.cli.commands.queue:COMMANDS",
    "adjudicate": "fcreview.cli.commands.adjudicate:adjudicate",
    "agreement": "fcreview.cli.commands.agreement:agreement",
    "calibrate": "fcreview.cli.commands.calibrate:calibrate",
    "estimate": "fcreview.cli.commands.estimate:estimate",
    "audit": "fcreview.cli.commands.audit:audit",
    "compare": "fcreview.cli.commands.compare:compare",
    "report": "fcreview.cli.commands.report:report",
    "export": "fcreview.cli.commands.export:export",
    "import-labels": "fcreview.cli.commands.export:import_labels",
    "merge": "fcreview.cli.commands.merge:merge",
    "errata": "fcreview.cli.commands.errata:COMMANDS",
    "rules": "fcreview.cli.commands.rules:COMMANDS",
    "sql": "fcreview.cli.commands.sql:sql",
    "doctor": "fcreview.cli.commands.doctor:doctor",
    "schema": "fcreview.cli.commands.sql:schema",
    "completion": "fcreview.cli.commands.completion:completion",
    "demo": "fcreview.cli.commands.open:demo",
}
"""Name -> `module:function`, or `module:table` of one that has commands of its own.
A module is loaded when its command, or help on all of them, is asked for."""

LONGEST = 2_000
"""Cells of a line of an error: what it quotes may be as long as anybody made it."""
SELDOM = (50_000, 20, 50)
"""Garbage collection. What is loaded at the start stays: looking through it again and again takes 20 ms more."""


def completed(arguments: list[str]) -> list[str]:
    """No arguments ask for help; a path where a command should stand is opened."""
    if not arguments:
        return ["--help"]
    first = arguments[0]
    if first not in COMMANDS and not first.startswith("-") and Path(first).exists():
        return ["open", *arguments]
    return arguments


def plainly_opened(arguments: list[str]) -> list[Path]:
    """The paths, if that is all that is said to `open`: nothing to parse, and the parser takes 0.1 s to load."""
    if arguments[0] != "open" or any(each.startswith("-") for each in arguments):
        return []
    return [Path(each) for each in arguments[1:]]


def run(arguments: list[str]) -> int:
    """The exit code. Errors are told on stderr; with FCREVIEW_DEBUG=1 an error keeps its traceback."""
    try:
        arguments = completed(arguments)
        paths = plainly_opened(arguments)
        if paths:
            from fcreview.cli.launch import open_place
            from fcreview.cli.workspace import Place

            open_place(Place(paths))
        else:
            from fcreview.cli.program import program

            named = {name: COMMANDS[name] for name in arguments[:1] if name in COMMANDS}
            program(named or COMMANDS)(args=arguments, prog_name="fcreview")
        return FINE
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else FINE
    except (ReaderGoneError, BrokenPipeError):
        return FINE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        ended = told_to_end()
        if ended is not None:
            return ended
        if os.environ.get("FCREVIEW_DEBUG") == "1":
            raise
        code, lines = explain(error)
        note("\n".join(clip(visible(line), LONGEST) for line in (f"fcreview: {lines[0]}", *lines[1:])))
        return code or FAILED


def open_streams() -> None:
    """A standard stream that was closed (`>&-`) is nowhere from now on, here and in worker processes: else the next
    file that is opened, a journal perhaps, would take its number, and what is printed."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, number)  # in order, so that it mostly is that number already
            if nowhere != number:
                os.close(nowhere)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


def app() -> None:
    """Entry point of the console script."""
    gc.set_threshold(*SELDOM)
    open_streams()
    heed()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a locale without our characters gets escapes instead of an error
            stream.reconfigure(errors="backslashreplace")
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the interpreter's own flush is quiet
        if not isinstance(error, BrokenPipeError) and code == FINE:
            note(f"fcreview: standard output: {error.strerror or error}")
            code = FAILED
    limited = sys.modules.get("fcreview.store.database")
    if limited is not None and limited.stuck():
        sys.stderr.flush()
        os._exit(code)  # nothing is open for writing, and the interpreter would wait for it
    sys.exit(code)

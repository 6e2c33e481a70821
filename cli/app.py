"""The program `fcreview`: its commands, and how errors, closed pipes and interrupts end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from fcreview.cli import (
    demo,
    doctor,
    export,
    import_cmd,
    items,
    label,
    open_cmd,
    runs,
    show,
    sql,
    triage,
)
from fcreview.cli.errors import FAILED, FINE, INTERRUPTED, ReaderGoneError, explain
from fcreview.cli.output import note

COMMANDS: dict[str, Callable[..., None]] = {
    "open": open_cmd.open_,
    "import": import_cmd.import_,
    "runs": runs.runs,
    "items": items.items,
    "show": show.show,
    "triage": triage.triage,
    "label": label.label,
    "export": export.export,
    "sql": sql.sql,
    "doctor": doctor.doctor,
    "demo": demo.demo,
}
UNWRAPPED = "\b"
"""What a paragraph of help begins with that keeps its lines."""
EXAMPLES = f"""{UNWRAPPED}
Examples:
  fcreview demo
  fcreview runs/gpt4o                 the same as: fcreview open runs/gpt4o
  fcreview triage runs/gpt4o
  fcreview COMMAND --help             has an example of every command"""

commands = typer.Typer(
    help="Read what a model did in a function-calling benchmark, judge it, leave with labels.",
    epilog=EXAMPLES,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for name, function in COMMANDS.items():
    text, _, example = (function.__doc__ or "").partition("\n\n    Example:")
    commands.command(name, help=text, epilog=f"{UNWRAPPED}\nExample:\n  {' '.join(example.split())}")(function)


def _version(wanted: bool) -> None:
    if wanted:
        from fcreview import __version__

        print(f"fcreview {__version__}")
        raise typer.Exit


@commands.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def completed(arguments: list[str]) -> list[str]:
    """No arguments ask for help; a path where a command should stand is opened."""
    if not arguments:
        return ["--help"]
    first = arguments[0]
    if first not in COMMANDS and not first.startswith("-") and Path(first).exists():
        return ["open", *arguments]
    return arguments


def run(arguments: list[str]) -> int:
    """The exit code. Errors are told on stderr; with FCREVIEW_DEBUG=1 an error keeps its traceback."""
    try:
        commands(args=completed(arguments), prog_name="fcreview")
        return FINE
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else FINE
    except (ReaderGoneError, BrokenPipeError):
        return FINE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("FCREVIEW_DEBUG") == "1":
            raise
        code, lines = explain(error)
        note("\n".join([f"fcreview: {lines[0]}", *lines[1:]]))
        return code or FAILED


def app() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a locale without our characters gets escapes instead of an error
            stream.reconfigure(errors="backslashreplace")
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the interpreter's own flush is quiet
    sys.exit(code)

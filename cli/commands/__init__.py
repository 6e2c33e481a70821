"""Table of the commands, the Typer application with these commands, and `fcreview --help`."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from inspect import cleandoc
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

COMMAND_GROUPS = {
    "Inspect": {
        "open": "Browse and review runs in the terminal.",
        "check": "Check whether the scores of runs are real.",
        "serve": "Serve the app to web browsers.",
        "runs": "List runs with their pass rates.",
        "items": "List items with their verdicts.",
        "show": "Show one item.",
        "triage": "Group failures by cause.",
        "compare": "Compare runs item by item.",
        "sql": "Query the workspace with SQL.",
    },
    "Review": {
        "review": "Review items one by one.",
        "label": "Record a review from a script.",
        "queue": "Create and assign review queues.",
        "adjudicate": "Resolve annotator disagreements.",
        "agreement": "Measure inter-annotator agreement.",
        "audit": "Show an item's review history.",
    },
    "Score": {
        "report": "Print the benchmark's metrics for each run.",
        "estimate": "Estimate accuracy from reviewed samples.",
        "calibrate": "Measure checkers and judges against human labels.",
        "judge": "Ask a language model for verdicts.",
        "suspects": "List golden answers that look wrong.",
        "errata": "Create, check and publish errata files.",
        "rules": "Preview, accept and list equivalence rules.",
    },
    "Exchange": {
        "import": "Import runs and print an import summary.",
        "export": "Export labels, corrected runs or golden answers.",
        "import-labels": "Import exported labels as reviews.",
        "merge": "Merge another workspace.",
        "team": "Exchange reviews with a team through a PostgreSQL server.",
        "map": "Check and propose mapping files.",
        "schema": "Print the JSON Schema of the generic format or a command.",
    },
    "Setup": {
        "demo": "Open a demo with three models and reviews.",
        "doctor": "Check the setup.",
        "skill": "Print a guide for coding agents.",
        "completion": "Print a shell completion script.",
    },
}
"""Summaries of the commands by name, by heading of `fcreview --help`. Every command must be listed.

The command `x` is the function `x` in `cli/commands/x.py`. If it has subcommands, this file has a
dictionary `COMMANDS` of their functions instead. A summary is the first line of the docstring. It
is repeated here so that `fcreview --help` imports no command.
"""
# modules of the commands that have another name
MODULES = {
    "import": "run_import",
    "map": "mapping",
    "schema": "run_import",
}
COMMANDS = [name for names in COMMAND_GROUPS.values() for name in names]
HELP_OPTIONS = ["-h", "--help"]
KEEP_LINE_BREAKS = "\b"  # first line of a help paragraph in which Typer keeps the line breaks
START_HERE = {
    "fcreview open runs/": "Compare predicted calls with golden answers",
    "fcreview check runs/": "Check whether the scores are real",
    "fcreview triage runs/": "Group failures by cause",
    "fcreview review runs/": "Review items one by one",
    "fcreview report runs/": "Print official, recomputed and corrected metrics",
    "fcreview export runs/": "Export labels as JSON Lines, CSV or Parquet",
}
EPILOG = f"""{KEEP_LINE_BREAKS}
`fcreview runs/` is short for `fcreview open runs/`.
`fcreview demo` opens sample runs of every supported benchmark.
`fcreview COMMAND --help` describes a command with its options and an example."""


class GroupedHelp(TyperGroup):
    """Command group whose help begins with examples and lists the commands under headings."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the program: first what to start with, then the commands by group."""
        super().format_help_text(ctx, formatter)
        with formatter.section("Start here"):
            formatter.write_dl(list(START_HERE.items()))
        width = max(map(len, COMMANDS))
        for group, summaries in COMMAND_GROUPS.items():
            with formatter.section(group):
                formatter.write_dl(
                    [(f"{name:<{width}}", summary) for name, summary in summaries.items()]
                )

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write nothing: `format_help_text` lists the commands before the options."""


def _print_version(is_requested: bool) -> None:
    if is_requested:
        from fcreview import __version__

        print(f"fcreview {__version__}")
        raise typer.Exit


def _global_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


def add_default_command(arguments: list[str]) -> list[str]:
    """Insert the command `open` if the command line names no command but a path.

    Without arguments, insert `open` if the current folder belongs to a workspace, else `--help`.
    """
    if not arguments:
        folder = _find_folder_to_open()
        return ["--help"] if folder is None else ["open", str(folder)]
    first = arguments[0]
    # A path exists or has a separator. So a mistyped path is a missing file, and not an unknown
    # command.
    is_command_or_option = first in COMMANDS or first.startswith("-")
    is_path = os.sep in first or Path(first).exists()
    if is_path and not is_command_or_option:
        return ["open", *arguments]
    return arguments


def _find_folder_to_open() -> Path | None:
    """Return the nearest folder with a workspace, from the current folder upwards. None without
    such a folder or without a terminal.
    """
    from fcreview.cli.output import can_show_app

    if not can_show_app():
        return None
    current_folder = Path.cwd()
    for folder in (current_folder, *current_folder.parents):
        if (folder / ".fcreview").is_dir():
            return folder
    return None


def build_program(first_argument: str | None = None) -> typer.Typer:
    """Build the Typer application with the commands that a command line needs.

    Importing all commands takes a third of a second. If `first_argument` is a command, only this
    command is added, and none if it asks for the version or the list of commands. An unknown
    argument adds all commands, because the error message suggests similar names.
    """
    program = typer.Typer(
        cls=GroupedHelp,
        help="Inspect and review the results of function-calling benchmarks, and export labels.",
        epilog=EPILOG,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": HELP_OPTIONS, "max_content_width": 100},
    )
    program.callback()(_global_options)
    for name in _find_needed_commands(first_argument):
        _add_command(program, name)
    return program


def _find_needed_commands(first_argument: str | None) -> list[str]:
    if first_argument in COMMANDS:
        return [first_argument]
    if first_argument in (*HELP_OPTIONS, "--version"):
        return []
    return COMMANDS


def load_command(
    name: str,
) -> tuple[ModuleType, Callable[..., None] | dict[str, Callable[..., None]]]:
    """Import the module of a command.

    Return the module, and the command's function or its subcommands by name.
    """
    function_name = name.replace("-", "_")
    module_name = MODULES.get(name, function_name)
    module = importlib.import_module(f"fcreview.cli.commands.{module_name}")
    # A module with subcommands lists them in `COMMANDS`. In other modules, the function has the
    # name of the command, with an underscore at its end if Python uses the name, such as `open`.
    for attribute in ("COMMANDS", function_name, f"{function_name}_"):
        if hasattr(module, attribute):
            return module, getattr(module, attribute)
    raise LookupError(f"the module {module_name} has no command {name}")


def _add_command(program: typer.Typer, name: str) -> None:
    """Add a command, or a group of subcommands, to the program."""
    module, command = load_command(name)
    if isinstance(command, dict):
        _add_subcommands(program, name, module, command)
    else:
        help_, example = split_help_and_example(command.__doc__)
        program.command(name, help=help_, epilog=example)(command)


def _add_subcommands(
    program: typer.Typer, name: str, module: ModuleType, functions: dict[str, Callable[..., None]]
) -> None:
    """Add a command with subcommands. Old names of subcommands work, but the help omits them."""
    subcommands = typer.Typer(no_args_is_help=True)
    for subcommand, function in functions.items():
        help_, example = split_help_and_example(function.__doc__)
        subcommands.command(subcommand, help=help_, epilog=example)(function)

    # A command's module lists the old names of its subcommands in `ALIASES`.
    aliases: dict[str, str] = getattr(module, "ALIASES", {})
    for old_name, new_name in aliases.items():
        function = functions[new_name]
        help_, example = split_help_and_example(function.__doc__)
        subcommands.command(old_name, help=help_, epilog=example, hidden=True)(function)

    help_, example = split_help_and_example(module.__doc__)
    program.add_typer(subcommands, name=name, help=help_, epilog=example)


def split_help_and_example(docstring: str | None) -> tuple[str, str]:
    """Split a command's docstring into the help text and an epilog with the example."""
    text, _, example = cleandoc(docstring or "").partition("\n\nExample:")
    return text, f"{KEEP_LINE_BREAKS}\nExample:\n  {' '.join(example.split())}"

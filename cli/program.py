"""The Typer application: commands, their help, and the groups of `fcreview --help`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from inspect import cleandoc
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fcreview.cli.command_table import COMMAND_GROUPS, COMMANDS

UNWRAPPED = "\b"
"""First line of a help paragraph whose line breaks Typer keeps."""
START_HERE = {
    "fcreview open runs/": "Browse items side by side with golden answers",
    "fcreview triage runs/": "See why items fail",
    "fcreview review runs/": "Record your verdicts",
    "fcreview report runs/": "Print the benchmark's metrics, corrected",
    "fcreview export runs/": "Write labels as JSON Lines, CSV or Parquet",
}
"""Examples at the top of `fcreview --help`, and what each does."""
EPILOG = f"""{UNWRAPPED}
`fcreview runs/` is short for `fcreview open runs/`.
`fcreview demo` opens sample runs.
`fcreview COMMAND --help` has an example of each command."""


class GroupedCommands(TyperGroup):
    """Help with the first steps and the commands by group, as plain text."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        super().format_help_text(ctx, formatter)
        with formatter.section("Start here"):
            formatter.write_dl(list(START_HERE.items()))
        width = max(map(len, self.commands))
        for group, names in COMMAND_GROUPS.items():
            commands = [self.commands[name] for name in names if name in self.commands]
            with formatter.section(group):
                formatter.write_dl([(f"{each.name or '':<{width}}", each.get_short_help_str(200)) for each in commands])

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write nothing: `format_help_text` lists the commands before the options."""


def _version(wanted: bool) -> None:
    if wanted:
        from fcreview import __version__

        print(f"fcreview {__version__}")
        raise typer.Exit


def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def build_program(only: str | None = None) -> typer.Typer:
    """The Typer application. If `only` names a command, no other command's module is imported."""
    program = typer.Typer(
        cls=GroupedCommands,
        help="Inspect the results of function-calling benchmarks, review them and export labels.",
        epilog=EPILOG,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    program.callback()(_main)
    for name in [only] if only in COMMANDS else COMMANDS:
        _add(program, name)
    return program


def _add(program: typer.Typer, name: str) -> None:
    module_name, _, attribute = COMMANDS[name].partition(":")
    module = importlib.import_module(module_name)
    command: Callable[..., None] | dict[str, Callable[..., None]] = getattr(module, attribute)
    if not isinstance(command, dict):
        help_, example = split_help(command.__doc__)
        program.command(name, help=help_, epilog=example)(command)
        return
    aliases: dict[str, str] = getattr(module, "ALIASES", {})
    subcommands = typer.Typer(no_args_is_help=True)
    for each, function in [*command.items(), *((old, command[new]) for old, new in aliases.items())]:
        help_, example = split_help(function.__doc__)
        subcommands.command(each, help=help_, epilog=example, hidden=each in aliases)(function)
    help_, example = split_help(module.__doc__)
    program.add_typer(subcommands, name=name, help=help_, epilog=example)


def split_help(docstring: str | None) -> tuple[str, str]:
    """A command's docstring as (help, epilog); the epilog is its example."""
    text, _, example = cleandoc(docstring or "").partition("\n\nExample:")
    return text, f"{UNWRAPPED}\nExample:\n  {' '.join(example.split())}"

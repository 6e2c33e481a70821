"""The commands as Typer knows them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from inspect import cleandoc
from typing import Annotated

import typer

UNWRAPPED = "\b"
"""What a paragraph of help begins with that keeps its lines."""
EXAMPLES = f"""{UNWRAPPED}
Examples:
  fcreview demo
  fcreview runs/gpt4o                 the same as: fcreview open runs/gpt4o
  fcreview triage runs/gpt4o
  fcreview COMMAND --help             has an example of every command"""


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


def program(commands: Mapping[str, str]) -> typer.Typer:
    """The program with these commands: name -> `module:function`."""
    made = typer.Typer(
        help="Read what a model did in a function-calling benchmark, judge it, leave with labels.",
        epilog=EXAMPLES,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    made.callback()(_main)
    for name, place in commands.items():
        module, _, attribute = place.partition(":")
        found = importlib.import_module(module)
        command: Callable[..., None] | dict[str, Callable[..., None]] = getattr(found, attribute)
        help_, example = _helped(found.__doc__ if isinstance(command, dict) else command.__doc__)
        if isinstance(command, dict):
            inner = typer.Typer(no_args_is_help=True)
            for each, function in command.items():
                inner_help, inner_example = _helped(function.__doc__)
                inner.command(each, help=inner_help, epilog=inner_example)(function)
            made.add_typer(inner, name=name, help=help_, epilog=example)
        else:
            made.command(name, help=help_, epilog=example)(command)
    return made


def _helped(text: str | None) -> tuple[str, str]:
    """A docstring as help, and its example as what stands below."""
    says, _, example = cleandoc(text or "").partition("\n\nExample:")
    return says, f"{UNWRAPPED}\nExample:\n  {' '.join(example.split())}"

"""`fcreview completion`: print a shell completion script.

The script contains all commands and options, so that the shell completes them without starting
fcreview.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import typer

from fcreview.cli.options import argument
from fcreview.cli.output import check_choice, emit

SHELLS = ("bash", "zsh", "fish")


class CompletableCommand(NamedTuple):
    name: str
    summary: str
    words: list[str]  # subcommands and options


def completion(
    shell: Annotated[
        str, argument("SHELL", f"{', '.join(SHELLS[:-1])} or {SHELLS[-1]}.", show_default=True)
    ],
) -> None:
    """Print a shell completion script.

    \b
    bash: add `source <(fcreview completion bash)` to ~/.bashrc.
    zsh: add `source <(fcreview completion zsh)` to ~/.zshrc, after compinit.
    fish: fcreview completion fish > ~/.config/fish/completions/fcreview.fish

    Example: fcreview completion bash
    """
    check_choice(SHELLS, shell, "shell")
    commands = list_completable_commands()
    if shell == "fish":
        emit(_format_fish_script(commands))
    else:
        emit(_format_bash_script(commands, is_zsh=shell == "zsh"))


def list_completable_commands() -> list[CompletableCommand]:
    """List every command, in the order of `fcreview --help`."""
    from fcreview.cli.commands import build_program

    # typed Any, because Typer has its own copy of click
    program: Any = typer.main.get_command(build_program())
    return [_make_completable_command(name, command) for name, command in program.commands.items()]


def _make_completable_command(name: str, typer_command: Any) -> CompletableCommand:
    """Collect what a shell can complete after a command: its subcommands and its long options.

    The options of the subcommands are included.
    """
    subcommands = []
    for subcommand in getattr(typer_command, "commands", {}).values():
        # Old names of subcommands are hidden.
        if not subcommand.hidden:
            subcommands.append(subcommand)

    options = {"--help"}
    for command in (typer_command, *subcommands):
        options.update(_list_long_options(command))

    subcommand_names = [subcommand.name or "" for subcommand in subcommands]
    summary = (typer_command.help or "").partition("\n")[0]
    return CompletableCommand(name, summary=summary, words=subcommand_names + sorted(options))


def _list_long_options(command: Any) -> Iterator[str]:
    """Yield the names such as `--limit` that the help of a command shows."""
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        for name in parameter.opts:
            if name.startswith("--"):
                yield name


def _format_bash_script(commands: list[CompletableCommand], *, is_zsh: bool = False) -> str:
    """Format a completion function of bash, which zsh can use too after `bashcompinit`."""
    lines = []
    if is_zsh:
        lines.append("autoload -U +X bashcompinit && bashcompinit")
    lines += [
        "_fcreview() {",
        '  local cur="${COMP_WORDS[COMP_CWORD]}" words=""',
        '  case "${COMP_WORDS[1]}" in',
    ]
    for command in commands:
        words = " ".join(command.words)
        lines.append(f'    {command.name}) words="{words}" ;;')

    names = " ".join(command.name for command in commands)
    lines += [
        "  esac",
        f'  [ "$COMP_CWORD" -eq 1 ] && words="{names} --help --version"',
        '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
        '  case "$cur" in -*) ;; *) COMPREPLY+=($(compgen -f -- "$cur")) ;; esac',
        "}",
        "complete -o filenames -F _fcreview fcreview",
    ]
    return "\n".join(lines)


def _format_fish_script(commands: list[CompletableCommand]) -> str:
    """Format the completions for fish: a line for each command, and for each of its options."""
    lines = []
    for command in commands:
        # The summary stands in single quotes.
        summary = command.summary.replace("'", "")
        lines.append(
            f"complete -c fcreview -n __fish_use_subcommand -a {command.name} -d '{summary}'"
        )
        condition = f"'__fish_seen_subcommand_from {command.name}'"
        for word in command.words:
            is_option = word.startswith("--")
            completed = f"-l {word.removeprefix('--')}" if is_option else f"-a {word}"
            lines.append(f"complete -c fcreview -n {condition} {completed}")
    return "\n".join(lines)

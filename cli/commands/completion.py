"""`fcreview completion`: what a shell needs to complete commands and options. Written once by the program, so that a
shell that starts pays nothing for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from fcreview.cli.errors import one_of
from fcreview.cli.output import emit

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    says: str
    words: list[str]
    """Options, and names of the commands inside."""


def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help=f"{', '.join(SHELLS[:-1])} or {SHELLS[-1]}.")],
) -> None:
    """Print a script with which the shell completes commands.

    And their options.

    bash: in ~/.bashrc  source <(fcreview completion bash); zsh: the same in ~/.zshrc, behind compinit;
    fish: fcreview completion fish > ~/.config/fish/completions/fcreview.fish

    Example: fcreview completion bash
    """
    one_of(SHELLS, shell, "shell")
    commands = known()
    emit(fish(commands) if shell == "fish" else bash(commands, zsh=shell == "zsh"))


def known() -> list[Command]:
    """Every command of the program, as its help has it."""
    from fcreview.cli.app import COMMANDS
    from fcreview.cli.program import program

    whole: Any = typer.main.get_command(program(COMMANDS))  # of Typer's own copy of click
    return [_described(name, command) for name, command in whole.commands.items()]


def _described(name: str, command: Any) -> Command:
    inner = list(getattr(command, "commands", {}).values())
    options = {text for each in (command, *inner) for option in each.params for text in option.opts if text[:2] == "--"}
    says = (command.help or "").partition("\n")[0]
    return Command(name, says, [*(each.name or "" for each in inner), *sorted({*options, "--help"})])


def bash(commands: list[Command], *, zsh: bool = False) -> str:
    cases = [f'    {each.name}) words="{" ".join(each.words)}" ;;' for each in commands]
    names = " ".join(each.name for each in commands)
    lines = [
        *(["autoload -U +X bashcompinit && bashcompinit"] if zsh else []),
        "_fcreview() {",
        '  local cur="${COMP_WORDS[COMP_CWORD]}" words=""',
        '  case "${COMP_WORDS[1]}" in',
        *cases,
        "  esac",
        f'  [ "$COMP_CWORD" -eq 1 ] && words="{names} --help --version"',
        '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
        '  case "$cur" in -*) ;; *) COMPREPLY+=($(compgen -f -- "$cur")) ;; esac',
        "}",
        "complete -o filenames -F _fcreview fcreview",
    ]
    return "\n".join(lines)


def fish(commands: list[Command]) -> str:
    lines = []
    for each in commands:
        says = each.says.replace("'", "")
        lines.append(f"complete -c fcreview -n __fish_use_subcommand -a {each.name} -d '{says}'")
        within = f"'__fish_seen_subcommand_from {each.name}'"
        for word in each.words:
            option = f"-l {word[2:]}" if word.startswith("--") else f"-a {word}"
            lines.append(f"complete -c fcreview -n {within} {option}")
    return "\n".join(lines)

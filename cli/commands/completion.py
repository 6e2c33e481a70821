"""`fcreview completion`: print a shell completion script.

The script contains all commands and options, so that the shell completes them without starting
fcreview.
"""

from __future__ import annotations

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
    emit(
        _format_fish_script(commands)
        if shell == "fish"
        else _format_bash_script(commands, is_zsh=shell == "zsh")
    )


def list_completable_commands() -> list[CompletableCommand]:
    """List every command, in the order of `fcreview --help`."""
    from fcreview.cli.commands import build_program

    # typed Any, because Typer has its own copy of click
    program: Any = typer.main.get_command(build_program())
    return [_make_completable_command(name, command) for name, command in program.commands.items()]


def _make_completable_command(name: str, typer_command: Any) -> CompletableCommand:
    inner = [each for each in getattr(typer_command, "commands", {}).values() if not each.hidden]
    shown = [
        option
        for each in (typer_command, *inner)
        for option in each.params
        if not getattr(option, "hidden", False)
    ]
    options = {text for option in shown for text in option.opts if text[:2] == "--"}
    summary = (typer_command.help or "").partition("\n")[0]
    return CompletableCommand(
        name,
        summary=summary,
        words=[*(each.name or "" for each in inner), *sorted({*options, "--help"})],
    )


def _format_bash_script(commands: list[CompletableCommand], *, is_zsh: bool = False) -> str:
    cases = [f'    {each.name}) words="{" ".join(each.words)}" ;;' for each in commands]
    names = " ".join(each.name for each in commands)
    lines = [
        *(["autoload -U +X bashcompinit && bashcompinit"] if is_zsh else []),
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


def _format_fish_script(commands: list[CompletableCommand]) -> str:
    lines = []
    for each in commands:
        summary = each.summary.replace("'", "")
        lines.append(f"complete -c fcreview -n __fish_use_subcommand -a {each.name} -d '{summary}'")
        within = f"'__fish_seen_subcommand_from {each.name}'"
        for word in each.words:
            option = f"-l {word[2:]}" if word.startswith("--") else f"-a {word}"
            lines.append(f"complete -c fcreview -n {within} {option}")
    return "\n".join(lines)

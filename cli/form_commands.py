"""Describe and run commands for the forms of the app's command palette. Each command runs in a process of its own."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fcreview.cli.program import build_program
from fcreview.tui.command_forms import NO, CommandResult, CommandService, FormField

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession

PATH = "path"
"""Name of the argument that selects the runs."""
WORKSPACE_PARAMETERS = (PATH, "annotator", "data", "workspace", "errata", "decoder", "as_json", "help")
"""Parameters that forms do not show, because the open app determines them or because they are for programs."""
FILE_METAVARS = ("FILE", "DIR", "OTHER", "PATH")
MAX_OUTPUT = 4_000_000
"""Largest number of bytes of a command's output that is shown."""


def build_command_service(session: WorkspaceSession) -> CommandService:
    """Create the functions that the command palette uses to run commands on the session's workspace."""

    async def run(command: str, arguments: Sequence[str]) -> CommandResult:
        return await _run(build_command_line(session, command, arguments))

    return CommandService(describe_command, run)


def _find_parameters(command: str) -> list[Any]:
    from typer.main import get_command

    name, _, subcommand = command.partition(" ")
    found: Any = get_command(build_program(name))
    for each in filter(None, (name, subcommand)):
        found = found.commands[each]
    return list(found.params)


def describe_command(command: str) -> list[FormField]:
    """Return the fields of a command's form: arguments first, then options."""
    fields = []
    for parameter in _find_parameters(command):
        is_option = parameter.param_type_name == "option"
        if parameter.name in WORKSPACE_PARAMETERS:
            continue
        flag = max(parameter.opts, key=len) if is_option else ""
        is_switch = is_option and parameter.is_flag
        default = NO if is_switch else "" if parameter.default is None else str(parameter.default)
        name = flag.lstrip("-") or (parameter.metavar or parameter.name).lower()
        first_line = " ".join((parameter.help or "").replace("\b", "").split())
        fields.append(FormField(name, flag, default, first_line, is_switch, parameter.metavar in FILE_METAVARS))
    return sorted(fields, key=lambda each: bool(each.flag))


def build_command_line(session: WorkspaceSession, command: str, arguments: Sequence[str]) -> list[str]:
    """Return the interpreter's arguments for running a command on the session's workspace."""
    options, known = session.options, {parameter.name for parameter in _find_parameters(command)}
    selected: list[str] = []
    if "annotator" in known:
        selected.append(f"--annotator={session.annotator}")
    if "data" in known and options is not None:
        selected += [f"--data={folder}" for folder in options.data or ()]
    if "workspace" in known and options is not None and options.workspace is not None:
        selected.append(f"--workspace={options.workspace}")
    at = list(arguments).index("--")
    paths = (options.paths if options is not None else [session.workspace.parent_folder]) if PATH in known else []
    if len(paths) > 1 and "paths" not in known:
        paths = [session.workspace.parent_folder]
    own = [*arguments[:at], *selected, "--", *map(str, paths), *arguments[at + 1 :]]
    return ["-m", "fcreview.cli", *command.split(), *own]


async def _run(arguments: Sequence[str]) -> CommandResult:
    """Run the interpreter. If the caller is cancelled, the process is terminated.

    `-P` keeps the interpreter from importing modules in the working folder, which may come from somebody else.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", *arguments, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, start_new_session=True
    )
    try:
        output, _ = await process.communicate()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.terminate()
        raise
    return CommandResult(output[:MAX_OUTPUT].decode(errors="replace"), process.returncode == 0)

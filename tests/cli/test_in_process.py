"""A command in this process prints the same as in a separate process, and changes no global
state.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize(
    "arguments",
    [
        ["items", "runs", "--json"],
        ["show", "runs", "simple_python_5"],
        ["export", "runs", "--format", "csv", "-o", "-"],
        ["items", "runs", "--where", "x:\x1b["],
    ],
    ids=" ".join,
)
def test_output_is_that_of_separate_process(
    process: Cli, cli: Cli, imported_run: Path, arguments: list[str]
) -> None:
    cli("import", imported_run)
    assert cli(*arguments) == process(*arguments)


def test_command_restores_global_state(cli: Cli, one_run: Path) -> None:
    def state() -> Any:
        return (
            Path.cwd(),
            dict(os.environ),
            sys.stdin,
            sys.stdout,
            sys.stderr,
            gc.get_threshold(),
            tempfile.tempdir,
        )

    before = state()
    for arguments in (
        ["label", one_run, "simple_python_1", "--verdict", "pass"],
        ["items"],
        ["export", one_run],
    ):
        cli(*arguments, FCREVIEW_ANNOTATOR="other", ADDED="1")
    assert state() == before


@pytest.mark.sweep
@pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="open files are listed in /proc only"
)
def test_command_closes_workspace_files(cli: Cli, one_run: Path) -> None:
    for arguments in (
        ["import"],
        ["items"],
        ["label", "simple_python_1", "--verdict", "pass"],
        ["show", "nothing"],
    ):
        cli(arguments[0], one_run, *arguments[1:])
    open_files = [str(file.resolve()) for file in Path("/proc/self/fd").iterdir()]
    assert not [name for name in open_files if name.startswith(str(one_run))]

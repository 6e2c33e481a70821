"""A command called in this process says what the program says, and leaves nothing behind."""

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
def test_both_say_the_same(process: Cli, cli: Cli, known_run: Path, arguments: list[str]) -> None:
    cli("import", known_run)
    assert cli(*arguments) == process(*arguments)


def test_nothing_of_a_command_stays(cli: Cli, one_run: Path) -> None:
    def state() -> Any:
        return Path.cwd(), dict(os.environ), sys.stdin, sys.stdout, sys.stderr, gc.get_threshold(), tempfile.tempdir

    before = state()
    for arguments in (["label", one_run, "simple_python_1", "--verdict", "pass"], ["items"], ["export", one_run]):
        cli(*arguments, FCREVIEW_ANNOTATOR="other", ADDED="1")
    assert state() == before


@pytest.mark.sweep
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="what is open is told in /proc only")
def test_no_file_of_the_workspace_stays_open(cli: Cli, one_run: Path) -> None:
    for arguments in (["import"], ["items"], ["label", "simple_python_1", "--verdict", "pass"], ["show", "nothing"]):
        cli(arguments[0], one_run, *arguments[1:])
    held = [str(file.resolve()) for file in Path("/proc/self/fd").iterdir()]
    assert not [name for name in held if name.startswith(str(one_run))]

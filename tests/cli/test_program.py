"""The program around its commands: help, version, errors, pipes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.app import COMMANDS

Cli = Callable[..., Any]


def test_alone_it_prints_help(cli: Cli) -> None:
    done = cli()
    assert done.code == 0
    assert all(f"  {name} " in done.out for name in COMMANDS)
    assert "\x1b" not in done.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_in_its_help(cli: Cli, command: str) -> None:
    done = cli(command, "--help")
    assert done.code == 0
    assert f"fcreview {command}" in done.out.split("Example:")[1]


def test_what_a_command_does_is_told_whole_in_80_columns(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for group in ((), ("errata",), ("queue",), ("rules",)):
        commands = cli(*group, "--help").out.split("Commands:")[1]
        assert len(commands.splitlines()) > 3
        assert not [line for line in commands.splitlines() if line.endswith("...")]


def test_version(cli: Cli) -> None:
    import fcreview

    assert cli("--version").out == f"fcreview {fcreview.__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["items"], ["items", ".", "--nonsense"], ["items", ".", "--limit", "x"]]
)
def test_wrong_usage_exits_with_2(cli: Cli, arguments: list[str]) -> None:
    done = cli(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err


@pytest.mark.parametrize("command", ["import", "items", "open", "triage", "suspects", "runs", "doctor"])
def test_a_path_that_is_not_there_is_told_in_one_line(cli: Cli, command: str) -> None:
    done = cli(command, "nowhere")
    assert (done.code, done.out, done.err) == (1, "", "fcreview: no such file or folder: nowhere\n")


def test_an_internal_error_is_one_line(cli: Cli, one_run: Path) -> None:
    (one_run / ".fcreview" / "store.duckdb").mkdir(parents=True)  # nobody expects a folder there
    done = cli("items", one_run)
    assert done.code == 1
    assert "Traceback" not in done.err
    assert done.err.startswith("fcreview: ")


def test_a_path_alone_is_opened(cli: Cli, one_run: Path) -> None:
    done = cli(one_run)
    assert done.code == 0
    assert "simple_python_1" in done.out
    assert "no terminal" in done.err

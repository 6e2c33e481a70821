"""Help, version, errors and old option names of the program."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from fcreview.cli.commands import COMMAND_GROUPS, COMMANDS, build_program

Cli = Callable[..., Any]


def test_program_without_command_prints_help(cli: Cli) -> None:
    done = cli()
    assert done.code == 0
    assert all(f"  {name} " in done.out for name in COMMANDS)
    assert "\x1b" not in done.out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_example(cli: Cli, command: str) -> None:
    done = cli(command, "--help")
    assert done.code == 0
    assert f"fcreview {command}" in done.out.split("Example:")[1]


def test_command_summaries_fit_80_columns(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for group in ("", "errata", "queue", "rules"):
        commands = cli(*group.split(), "--help").out.split("Commands:" if group else "Start here:")[
            1
        ]
        assert len(commands.splitlines()) > 3
        assert not [
            line for line in commands.splitlines() if line.endswith("...") or len(line) > 80
        ]


def test_help_lists_first_steps_and_command_groups(cli: Cli) -> None:
    lines = cli("--help").out.splitlines()
    start = lines.index("Start here:")
    steps = [line.split()[1] for line in lines[start + 1 : start + 7]]
    assert steps == ["open", "check", "triage", "review", "report", "export"]
    for group, commands in COMMAND_GROUPS.items():
        at = lines.index(f"{group}:")
        assert [line.split()[0] for line in lines[at + 1 : at + 1 + len(commands)]] == list(
            commands
        )
        assert lines[at + 1 + len(commands)] == ""


def test_help_has_the_summary_of_each_command() -> None:
    program: Any = typer.main.get_command(build_program())
    summaries = {name: text for group in COMMAND_GROUPS.values() for name, text in group.items()}
    assert summaries == {
        name: command.get_short_help_str(200) for name, command in program.commands.items()
    }


@pytest.mark.process
@pytest.mark.parametrize("option", ["--help", "-h", "--version"])
def test_help_and_version_import_no_command(option: str) -> None:
    program = (
        "import sys\n"
        "from fcreview.cli.main import run_command_line\n"
        f"assert run_command_line(['{option}']) == 0\n"
        "loaded = [name for name in sys.modules if name.startswith('fcreview.cli.commands.')]\n"
        "assert not loaded, loaded\n"
        "heavy = {'duckdb', 'textual', 'numpy', 'pydantic', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("command", [["open"], ["items"], []])
def test_mistyped_path_names_the_nearest_one(cli: Cli, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "results").mkdir()
    done = cli(*command, tmp_path / "reslts")
    assert (done.code, done.out) == (1, "")
    expected = (
        f"no such file or folder: {tmp_path / 'reslts'}. Did you mean {tmp_path / 'results'}?"
    )
    assert done.err == f"fcreview: {expected}\n"


def test_version(cli: Cli) -> None:
    import fcreview

    assert cli("--version").out == f"fcreview {fcreview.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["items"], ["items", ".", "--nonsense"], ["items", ".", "--limit", "x"]],
)
def test_wrong_usage_exits_with_2(cli: Cli, arguments: list[str]) -> None:
    done = cli(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err


@pytest.mark.parametrize(
    "command", ["import", "items", "open", "triage", "suspects", "runs", "doctor"]
)
def test_missing_path_is_reported_in_one_line(cli: Cli, command: str) -> None:
    done = cli(command, "nowhere")
    assert (done.code, done.out, done.err) == (1, "", "fcreview: no such file or folder: nowhere\n")


def test_internal_error_is_reported_in_one_line(cli: Cli, one_run: Path) -> None:
    (one_run / ".fcreview" / "store.duckdb").mkdir(parents=True)  # causes an internal error
    done = cli("items", one_run)
    assert done.code == 1
    assert "Traceback" not in done.err
    assert done.err.startswith("fcreview: ")


def test_path_without_command_is_opened(cli: Cli, one_run: Path) -> None:
    done = cli(one_run)
    assert done.code == 0
    assert "simple_python_1" in done.out
    assert "no terminal" in done.err


@pytest.mark.parametrize(
    ("command", "old", "new"),
    [(["rules"], "  try ", "  preview "), (["demo"], "--into", "--output")],
)
def test_old_names_are_accepted_and_hidden(
    cli: Cli, command: list[str], old: str, new: str
) -> None:
    text = cli(*command, "--help").out
    assert new in text and old not in text
    assert cli("completion", "fish").out.count(f"from {command[0]}' -l {old[2:]}\n") == 0


def test_rules_try_is_rules_preview(cli: Cli, one_run: Path) -> None:
    done, old = (cli("rules", name, one_run, "ignore-case") for name in ("preview", "try"))
    assert done.code == 0 and (done.out, done.err) == (old.out, old.err)

"""A low memory limit and a deleted working folder give a one-line error."""

from __future__ import annotations

import importlib
import resource
import shlex
import subprocess
from pathlib import Path

import pytest

from fcreview.cli.main import check_memory_and_folder, describe_error
from fcreview.errors import EXIT_FAILURE, CommandError
from tests.commands import PROGRAM, Done, environment


def run_in_shell(before: str, arguments: str, home: Path) -> Done:
    """Run `fcreview` in a shell that runs `before` first."""
    done = subprocess.run(
        ["sh", "-c", f"{before}; exec {shlex.join(PROGRAM)} {arguments}"],
        cwd=home,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=60,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.process
@pytest.mark.parametrize(
    "megabytes", [150, *(pytest.param(size, marks=pytest.mark.sweep) for size in (250, 400, 700))]
)
def test_low_memory_limit_is_reported_in_one_line(tmp_path: Path, megabytes: int) -> None:
    for arguments in ("runs .", "import .", "report .", "open ."):
        done = run_in_shell(f"ulimit -v {megabytes * 1024}", arguments, tmp_path)
        assert (done.code, done.out) == (EXIT_FAILURE, ""), (arguments, done)
        assert done.err == (
            f"fcreview: not enough memory: the limit is {megabytes} MB and fcreview needs 1,024 MB."
            " Raise the limit (ulimit -v).\n"
        )
    assert run_in_shell(f"ulimit -v {megabytes * 1024}", "--version", tmp_path).code == 0


@pytest.mark.sweep
@pytest.mark.process
def test_smallest_memory_limit_is_enough(two_imported_runs: Path, tmp_path: Path) -> None:
    for command in ("report", "import"):
        done = run_in_shell(
            "ulimit -v 1048576", f"{command} {shlex.quote(str(two_imported_runs))}", tmp_path
        )
        assert done.code == 0, done.err


@pytest.mark.process
@pytest.mark.parametrize("arguments", ["runs .", "runs {runs}", "doctor", "import ."])
def test_deleted_working_folder_is_reported_in_one_line(
    two_imported_runs: Path, tmp_path: Path, arguments: str
) -> None:
    command = arguments.format(runs=shlex.quote(str(two_imported_runs)))
    done = run_in_shell("mkdir gone; cd gone; rmdir ../gone", command, tmp_path)
    assert (done.code, done.out) == (EXIT_FAILURE, "")
    assert done.err == "fcreview: the working folder no longer exists. Change to another folder.\n"


def test_command_runs_without_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    check_memory_and_folder(["runs", "."])
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 29, 1 << 29))
    check_memory_and_folder(["runs", "--help"])
    with pytest.raises(CommandError, match="512 MB"):
        check_memory_and_folder(["runs", "."])


class OutOfMemoryException(Exception):
    """Same name as the exception of DuckDB."""


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OutOfMemoryException("Failed to allocate block"),
        RuntimeError("can't start new thread"),
    ],
)
def test_memory_errors_are_reported_in_one_line(error: Exception) -> None:
    outer = ValueError("cannot load")
    outer.__cause__ = error
    for each in (error, outer):
        code, lines = describe_error(each)
        assert code == EXIT_FAILURE and len(lines) == 1
        assert lines[0].startswith("not enough memory.")


def test_unencodable_dash_is_printed_as_hyphen() -> None:
    importlib.import_module("fcreview.cli.main")  # registers the error handler
    assert "ü – ✓".encode("latin-1", "fcreview.escape") == b"\xfc - \\u2713"
    assert "\udcff".encode("utf-8", "fcreview.escape") == b"\\udcff"

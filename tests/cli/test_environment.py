"""A low memory limit and a deleted working folder give one clear line before anything heavy is imported."""

from __future__ import annotations

import importlib
import resource
import shlex
import subprocess
from pathlib import Path

import pytest

from fcreview.cli.app import check_environment
from fcreview.cli.errors import CommandError, describe_error
from fcreview.errors import EXIT_FAILURE
from tests.commands import PROGRAM, Done, environment


def in_a_shell(before: str, arguments: str, home: Path) -> Done:
    """`fcreview` in a shell that runs `before` first."""
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
@pytest.mark.parametrize("megabytes", [150, *(pytest.param(size, marks=pytest.mark.sweep) for size in (250, 400, 700))])
def test_a_low_memory_limit_gives_one_line(tmp_path: Path, megabytes: int) -> None:
    for arguments in ("runs .", "import .", "report .", "open ."):
        done = in_a_shell(f"ulimit -v {megabytes * 1024}", arguments, tmp_path)
        assert (done.code, done.out) == (EXIT_FAILURE, ""), (arguments, done)
        assert done.err == (
            f"fcreview: not enough memory: the limit is {megabytes} MB and fcreview needs 1,024 MB."
            " Raise the limit (ulimit -v).\n"
        )
    assert in_a_shell(f"ulimit -v {megabytes * 1024}", "--version", tmp_path).code == 0


@pytest.mark.process
def test_the_smallest_memory_limit_is_enough(two_known_runs: Path, tmp_path: Path) -> None:
    for command in ("report", "import"):
        done = in_a_shell("ulimit -v 1048576", f"{command} {shlex.quote(str(two_known_runs))}", tmp_path)
        assert done.code == 0, done.err


@pytest.mark.process
@pytest.mark.parametrize("arguments", ["runs .", "runs {runs}", "doctor", "import ."])
def test_a_deleted_working_folder_gives_one_line(two_known_runs: Path, tmp_path: Path, arguments: str) -> None:
    command = arguments.format(runs=shlex.quote(str(two_known_runs)))
    done = in_a_shell("mkdir gone; cd gone; rmdir ../gone", command, tmp_path)
    assert (done.code, done.out) == (EXIT_FAILURE, "")
    assert done.err == "fcreview: the working folder no longer exists. Change to another folder.\n"


def test_without_a_limit_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    check_environment(["runs", "."])
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 29, 1 << 29))
    check_environment(["runs", "--help"])
    with pytest.raises(CommandError, match="512 MB"):
        check_environment(["runs", "."])


class OutOfMemoryException(Exception):
    """As DuckDB's."""


@pytest.mark.parametrize(
    "error",
    [MemoryError(), OutOfMemoryException("Failed to allocate block"), RuntimeError("can't start new thread")],
)
def test_errors_for_lack_of_memory_give_one_line(error: Exception) -> None:
    outer = ValueError("cannot load")
    outer.__cause__ = error
    for each in (error, outer):
        code, lines = describe_error(each)
        assert code == EXIT_FAILURE and len(lines) == 1
        assert lines[0].startswith("not enough memory.")


def test_a_dash_that_the_locale_lacks_is_printed_as_a_hyphen() -> None:
    importlib.import_module("fcreview.cli.app")  # registers the error handler
    assert "ü – ✓".encode("latin-1", "fcreview.escape") == b"\xfc - \\u2713"
    assert "\udcff".encode("utf-8", "fcreview.escape") == b"\\udcff"

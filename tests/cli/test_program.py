"""The program around its commands: help, version, errors, pipes."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
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


@pytest.mark.parametrize("command", ["import", "items", "open", "triage", "runs", "doctor"])
def test_a_path_that_is_not_there_is_told_in_one_line(cli: Cli, command: str) -> None:
    done = cli(command, "nowhere")
    assert (done.code, done.out, done.err) == (1, "", "fcreview: no such file or folder: nowhere\n")


def test_an_internal_error_is_one_line_and_its_traceback_is_asked_for(cli: Cli, one_run: Path) -> None:
    store = one_run / ".fcreview" / "store.duckdb"
    store.mkdir(parents=True)  # nobody expects a folder there
    done = cli("items", one_run)
    assert done.code == 1
    assert "Traceback" not in done.err
    assert done.err.startswith("fcreview: ")
    assert "Traceback" in cli("items", one_run, FCREVIEW_DEBUG="1").err


def test_a_path_alone_is_opened(cli: Cli, one_run: Path) -> None:
    done = cli(one_run)
    assert done.code == 0
    assert "simple_python_1" in done.out
    assert "no terminal" in done.err


def test_a_reader_that_leaves_early_is_no_error(one_run: Path, environ: dict[str, str]) -> None:
    """As with `| head -1`: nobody reads, nobody is told."""
    program = subprocess.Popen(
        [sys.executable, "-m", "fcreview.cli", "items", str(one_run), "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ,
    )  # fmt: skip
    assert program.stdout is not None
    program.stdout.close()
    _, error = program.communicate(timeout=60)
    assert (program.returncode, error) == (0, b"")


def test_an_interrupt_is_quiet(one_run: Path, environ: dict[str, str], tmp_path: Path) -> None:
    """Ctrl-C while waiting for another importer's lock."""
    import fcntl

    (one_run / ".fcreview").mkdir()
    with (one_run / ".fcreview" / "store.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        program = subprocess.Popen(
            [sys.executable, "-m", "fcreview.cli", "items", str(one_run)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ,
        )  # fmt: skip
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(4)
        program.send_signal(signal.SIGINT)
        out, error = program.communicate(timeout=30)
    assert (program.returncode, out, error) == (130, b"", b"")


def test_on_a_terminal_the_app_opens_and_quits(one_run: Path, environ: dict[str, str]) -> None:
    program, screen = _on_terminal(["open", str(one_run)], environ)
    seen = _until(screen, b"simple_python_1")
    os.write(screen, b"q")
    code = _end(program, screen)
    assert b"simple_python_1" in seen
    assert code == 0


def test_a_dumb_terminal_gets_plain_text(one_run: Path, environ: dict[str, str]) -> None:
    program, screen = _on_terminal(["open", str(one_run)], environ | {"TERM": "dumb"})
    seen = _until(screen, b"6 items")
    assert _end(program, screen) == 0
    assert b"simple_python_1" in seen
    assert b"\x1b" not in seen


def _on_terminal(arguments: list[str], environ: dict[str, str]) -> tuple[subprocess.Popen[bytes], int]:
    ours, theirs = pty.openpty()
    program = subprocess.Popen(
        [sys.executable, "-m", "fcreview.cli", *arguments],
        stdin=theirs, stdout=theirs, stderr=theirs, env={"TERM": "xterm-256color", **environ}, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    return program, ours


def _until(screen: int, wanted: bytes, seconds: float = 60) -> bytes:
    """What was written until `wanted` stood there, the terminal closed or the time was up."""
    seen, end = b"", time.monotonic() + seconds
    while wanted not in seen and time.monotonic() < end:
        if select.select([screen], [], [], 0.2)[0]:
            try:
                seen += os.read(screen, 65536)
            except OSError:
                break
    return seen


def _end(program: subprocess.Popen[bytes], screen: int) -> int:
    """The exit code; what is still written is read, so that nobody blocks."""
    end = time.monotonic() + 60
    while program.poll() is None and time.monotonic() < end:
        _until(screen, b"never", 0.2)
    os.close(screen)
    if program.poll() is None:
        program.kill()
    return program.wait(10)

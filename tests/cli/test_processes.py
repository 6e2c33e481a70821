"""Exit codes, closed pipes, signals and terminals of a separate process."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands import PROGRAM
from tests.waiting import is_waiting_for_lock, until

Cli = Callable[..., Any]
pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--version"], 0), (["items", "nowhere"], 1), (["items"], 2)]
)
def test_exit_codes(process: Cli, arguments: list[str], code: int) -> None:
    done = process(*arguments)
    assert done.code == code
    assert bool(done.out) == (code == 0)
    assert bool(done.err) == (code != 0)


@pytest.mark.sweep
def test_debug_mode_prints_traceback(process: Cli, one_run: Path) -> None:
    (one_run / ".fcreview" / "store.duckdb").mkdir(parents=True)
    done = process("items", one_run, FCREVIEW_DEBUG="1")
    assert done.code == 1
    assert done.err.startswith("Traceback")


@pytest.mark.sweep
def test_ascii_locale_gets_escapes(process: Cli, imported_run: Path) -> None:
    plain = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = process("show", imported_run, "simple_python_1", **plain)
    assert (done.code, done.err) == (0, "")
    assert done.out.isascii()
    assert "Rome" in done.out


def test_closed_pipe_is_no_error(imported_run: Path, environ: dict[str, str]) -> None:
    """As with `| head -1`."""
    program = subprocess.Popen(
        [*PROGRAM, "items", str(imported_run), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ,
    )
    assert program.stdout is not None
    program.stdout.close()
    _, error = program.communicate(timeout=60)
    assert (program.returncode, error) == (0, b"")


def test_interrupt_prints_nothing(one_run: Path, environ: dict[str, str], tmp_path: Path) -> None:
    """Ctrl-C while waiting for another importer's lock."""
    import fcntl

    (one_run / ".fcreview").mkdir()
    with (one_run / ".fcreview" / "store.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        program = subprocess.Popen(
            [*PROGRAM, "items", str(one_run)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
        )
        until(lambda: is_waiting_for_lock(program.pid))
        program.send_signal(signal.SIGINT)
        out, error = program.communicate(timeout=30)
    assert (program.returncode, out, error) == (130, b"", b"")


@pytest.mark.sweep
def test_app_opens_and_quits_on_terminal(imported_run: Path, environ: dict[str, str]) -> None:
    program, screen = _start_on_terminal(["open", str(imported_run)], environ)
    seen = _read_until(screen, b"simple_python_1")
    os.write(screen, b"q")
    code = _wait_for_end(program, screen)
    assert b"simple_python_1" in seen
    assert code == 0


@pytest.mark.sweep
def test_adjudicate_is_screen_on_terminal_and_list_elsewhere(
    cli: Cli, imported_run: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    config = tmp_path / "keys.toml"
    config.write_text("[review]\nkey_guard_ms = 0\n")
    for who, verdict in (("alice", "pass"), ("bob", "fail")):
        assert (
            cli(
                "label", imported_run, "simple_python_1", "--verdict", verdict, "--annotator", who
            ).code
            == 0
        )
    program, screen = _start_on_terminal(
        ["adjudicate", str(imported_run)], environ | {"FCREVIEW_CONFIG": str(config)}
    )
    _read_until(screen, b"1 of 1")
    os.write(screen, b"p")
    _read_until(screen, b"resolved")
    os.write(screen, b"q")
    assert _wait_for_end(program, screen) == 0
    assert cli("adjudicate", imported_run).err == "no disagreements to resolve\n"
    (event,) = [
        json.loads(line)
        for line in (imported_run / ".fcreview/reviews/tester.jsonl").read_text().splitlines()
    ]
    assert (event["act"], event["verdict"]) == ("adjudicate", True)


def test_dumb_terminal_gets_plain_text(imported_run: Path, environ: dict[str, str]) -> None:
    program, screen = _start_on_terminal(["open", str(imported_run)], environ | {"TERM": "dumb"})
    seen = _read_until(screen, b"6 items")
    assert _wait_for_end(program, screen) == 0
    assert b"simple_python_1" in seen
    assert b"\x1b" not in seen


def _start_on_terminal(
    arguments: list[str], environ: dict[str, str]
) -> tuple[subprocess.Popen[bytes], int]:
    ours, theirs = pty.openpty()
    program = subprocess.Popen(
        [*PROGRAM, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={"TERM": "xterm-256color", **environ},
        start_new_session=True,
    )
    os.close(theirs)
    return program, ours


def _read_until(screen: int, wanted: bytes) -> bytes:
    """Read until the output has `wanted`. Fails after a minute."""
    seen = _read(screen, 60, wanted)
    assert wanted in seen, (wanted, seen[-2000:])
    return seen


def _read(screen: int, seconds: float, wanted: bytes | None = None) -> bytes:
    """Read until the output has `wanted`, the terminal closes or the time is over."""
    seen, end = b"", time.monotonic() + seconds
    while (wanted is None or wanted not in seen) and time.monotonic() < end:
        if select.select([screen], [], [], 0.2)[0]:
            try:
                seen += os.read(screen, 65536)
            except OSError:
                break
    return seen


def _wait_for_end(program: subprocess.Popen[bytes], screen: int) -> int:
    """Read until the program ends, so that it does not block, and return its exit code."""
    end = time.monotonic() + 60
    while program.poll() is None and time.monotonic() < end:
        _read(screen, 0.2)
    os.close(screen)
    if program.poll() is None:
        program.kill()
    return program.wait(10)


@pytest.mark.sweep
def test_undo_works_across_processes(process: Cli, cli: Cli, imported_run: Path) -> None:
    process("label", imported_run, "simple_python_1", "--verdict", "pass")
    cli("label", imported_run, "simple_python_2", "--verdict", "pass")
    assert "simple_python_2" in process("label", imported_run, "--undo").out
    assert "simple_python_1" in cli("label", imported_run, "--undo").out
    assert cli("items", imported_run, "--json").objects[1]["human"] is None
    done = cli("label", imported_run, "--undo")
    assert done.code == 1
    assert "nothing to undo" in done.err


def test_concurrent_labels_are_all_saved(
    cli: Cli, imported_run: Path, environ: dict[str, str]
) -> None:
    cli("import", imported_run)
    words = [*PROGRAM, "label", str(imported_run)]
    programs = [
        subprocess.Popen(
            [*words, f"simple_python_{at}", "--verdict", verdict, "--annotator", who], env=environ
        )
        for at in range(2)
        for who, verdict in (("alice", "pass"), ("bob", "fail"))
    ]
    assert [program.wait(120) for program in programs] == [0] * 4
    humans = [
        found["human"] for found in cli("items", imported_run, "--json", "--limit", "2").objects
    ]
    assert humans == ["disputed"] * 2

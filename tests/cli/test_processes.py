"""What only a process of its own shows: exit codes, closed pipes, signals, terminals, what is loaded at the start."""

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


@pytest.mark.parametrize(("arguments", "code"), [(["--version"], 0), (["items", "nowhere"], 1), (["items"], 2)])
def test_the_exit_code_reaches_the_shell(process: Cli, arguments: list[str], code: int) -> None:
    done = process(*arguments)
    assert done.code == code
    assert bool(done.out) == (code == 0)
    assert bool(done.err) == (code != 0)


@pytest.mark.sweep
def test_the_traceback_of_an_internal_error_is_asked_for(process: Cli, one_run: Path) -> None:
    (one_run / ".fcreview" / "store.duckdb").mkdir(parents=True)
    done = process("items", one_run, FCREVIEW_DEBUG="1")
    assert done.code == 1
    assert done.err.startswith("Traceback")


@pytest.mark.sweep
def test_a_locale_without_our_characters_gets_escapes(process: Cli, known_run: Path) -> None:
    plain = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = process("show", known_run, "simple_python_1", **plain)
    assert (done.code, done.err) == (0, "")
    assert done.out.isascii()
    assert "Rome" in done.out


def test_a_reader_that_leaves_early_is_no_error(known_run: Path, environ: dict[str, str]) -> None:
    """As with `| head -1`: nobody reads, nobody is told."""
    program = subprocess.Popen(
        [*PROGRAM, "items", str(known_run), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ,
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
            [*PROGRAM, "items", str(one_run)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ,
        )  # fmt: skip
        until(lambda: is_waiting_for_lock(program.pid))
        program.send_signal(signal.SIGINT)
        out, error = program.communicate(timeout=30)
    assert (program.returncode, out, error) == (130, b"", b"")


@pytest.mark.sweep
def test_on_a_terminal_the_app_opens_and_quits(known_run: Path, environ: dict[str, str]) -> None:
    program, screen = _on_terminal(["open", str(known_run)], environ)
    seen = _until(screen, b"simple_python_1")
    os.write(screen, b"q")
    code = _end(program, screen)
    assert b"simple_python_1" in seen
    assert code == 0


@pytest.mark.sweep
def test_on_a_terminal_adjudicate_is_a_screen_and_elsewhere_a_list(
    cli: Cli, known_run: Path, environ: dict[str, str]
) -> None:
    for who, verdict in (("alice", "pass"), ("bob", "fail")):
        assert cli("label", known_run, "simple_python_1", "--verdict", verdict, "--annotator", who).code == 0
    program, screen = _on_terminal(["adjudicate", str(known_run)], environ)
    _until(screen, b"1 of 1")
    os.write(screen, b"p")
    _until(screen, b"resolved")
    os.write(screen, b"q")
    assert _end(program, screen) == 0
    assert cli("adjudicate", known_run).err == "no disagreements\n"
    (event,) = [json.loads(line) for line in (known_run / ".fcreview/reviews/tester.jsonl").read_text().splitlines()]
    assert (event["act"], event["verdict"]) == ("adjudicate", True)


def test_a_dumb_terminal_gets_plain_text(known_run: Path, environ: dict[str, str]) -> None:
    program, screen = _on_terminal(["open", str(known_run)], environ | {"TERM": "dumb"})
    seen = _until(screen, b"6 items")
    assert _end(program, screen) == 0
    assert b"simple_python_1" in seen
    assert b"\x1b" not in seen


def _on_terminal(arguments: list[str], environ: dict[str, str]) -> tuple[subprocess.Popen[bytes], int]:
    ours, theirs = pty.openpty()
    program = subprocess.Popen(
        [*PROGRAM, *arguments],
        stdin=theirs, stdout=theirs, stderr=theirs, env={"TERM": "xterm-256color", **environ}, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    return program, ours


def _until(screen: int, wanted: bytes) -> bytes:
    """What was written until `wanted` stood there."""
    seen = _read(screen, 60, wanted)
    assert wanted in seen, (wanted, seen[-2000:])
    return seen


def _read(screen: int, seconds: float, wanted: bytes | None = None) -> bytes:
    """What was written until `wanted` stood there, the terminal closed or the time was up."""
    seen, end = b"", time.monotonic() + seconds
    while (wanted is None or wanted not in seen) and time.monotonic() < end:
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
        _read(screen, 0.2)
    os.close(screen)
    if program.poll() is None:
        program.kill()
    return program.wait(10)


@pytest.mark.sweep
def test_a_label_is_taken_back_across_processes(process: Cli, cli: Cli, known_run: Path) -> None:
    process("label", known_run, "simple_python_1", "--verdict", "pass")
    cli("label", known_run, "simple_python_2", "--verdict", "pass")
    assert "simple_python_2" in process("label", known_run, "--undo").out
    assert "simple_python_1" in cli("label", known_run, "--undo").out
    assert cli("items", known_run, "--json").objects[1]["human"] is None
    done = cli("label", known_run, "--undo")
    assert done.code == 1
    assert "nothing to undo" in done.err


def test_two_annotators_at_the_same_time_lose_nothing(cli: Cli, known_run: Path, environ: dict[str, str]) -> None:
    cli("import", known_run)
    words = [*PROGRAM, "label", str(known_run)]
    programs = [
        subprocess.Popen([*words, f"simple_python_{at}", "--verdict", verdict, "--annotator", who], env=environ)
        for at in range(2)
        for who, verdict in (("alice", "pass"), ("bob", "fail"))
    ]
    assert [program.wait(120) for program in programs] == [0] * 4
    humans = [found["human"] for found in cli("items", known_run, "--json", "--limit", "2").objects]
    assert humans == ["disputed"] * 2

"""A start that is ended at any moment leaves no process, no text and no changed terminal mode."""

from __future__ import annotations

import itertools
import random
import re
import shutil
import signal
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.launchers import StartedProgram, describe_end
from tests.faults.processes import times

LOST_TERMINAL = "lost terminal"
ENDS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", LOST_TERMINAL)
LAUNCHERS = ("directly", "sh -c", "make", "tmux")
PRINTING_COMMANDS = ("import", "report")
COMMANDS = ("demo", "open", "review", "adjudicate", *PRINTING_COMMANDS)
MAX_SECONDS = 5
"""Seconds after which no process may be left."""
MAX_SECONDS_OF_COMPLETE_COMMAND = 60
FORBIDDEN = ("Traceback", "nanobind", "leaked", "Exception ignored", "internal error", "Fatal")
PYTHON_START = ("init_import_site", "Failed checking if argv[0] is an import path entry")
"""Texts of Python's own messages if Ctrl-C arrives before the first line of fcreview runs."""
SCRIPT_START = "from fcreview.cli import app"
"""Line of the installed script, at which Python searches the first file of fcreview."""
FRAME_IN_FCREVIEW = re.compile(r'File "[^"]*/fcreview/[^"]*\.py"')


@dataclass(frozen=True)
class Start:
    command: str
    launcher: str
    end: str
    seconds: float
    """Seconds after which the program is ended."""


@dataclass(frozen=True)
class PrintedLines:
    """Lines that a command prints if nothing ends it.

    A signal can arrive after a command has printed its result and before its process ends. The
    result is then not a text of the signal. The lines are compared without digits, because they
    contain times and the number of the folder.
    """

    lines: tuple[str, ...]

    def contain(self, line: str) -> bool:
        """Return whether a line is one of these, or its beginning."""
        without_digits = _remove_digits(line)
        return any(printed.startswith(without_digits) for printed in self.lines)


def _remove_digits(line: str) -> str:
    return re.sub(r"\d+", "", line)


def choose_starts(count: int) -> list[Start]:
    """Return random starts, in which each combination occurs equally often."""
    combinations = list(itertools.product(COMMANDS, LAUNCHERS, ENDS))
    chosen: list[tuple[str, str, str]] = []
    while len(chosen) < count:
        random.shuffle(combinations)
        chosen += combinations
    return [Start(*each, random.choice((0.6, 3)) * random.random()) for each in chosen[:count]]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
def test_start_ends_at_any_moment(
    imported_sample: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    printed = {command: PrintedLines(()) for command in COMMANDS}
    for command in PRINTING_COMMANDS:
        folder = tmp_path / "start-complete"
        printed[command] = read_printed_lines(command, imported_sample, environ, folder)

    exit_codes: Counter[str] = Counter()
    n_interrupts_of_python = 0
    faults: list[str] = []
    for number, start in enumerate(choose_starts(times(6, 200))):
        folder = tmp_path / f"start-{number:03}"
        folder.mkdir()
        sample = shutil.copytree(imported_sample, folder / "runs")
        with StartedProgram(
            start.launcher, list_arguments(start.command, folder, sample), environ, folder
        ) as program:
            end_program(program, start)
            left = program.wait_for_end(MAX_SECONDS)
            if was_interrupted_before_first_line(program):
                n_interrupts_of_python += 1
            elif left:
                faults.append(f"processes left: {describe_end(program, vars(start))}")
            else:
                faults += list_faults(program, start, printed[start.command])
            exit_codes[f"{start.end}: {program.exit_code}"] += 1
        shutil.rmtree(folder)
    print(f"\nexit codes: {dict(sorted(exit_codes.items()))}")
    print(f"SIGINT before the first line of fcreview: {n_interrupts_of_python}")
    assert not faults, "\n".join(faults)


def read_printed_lines(
    command: str, sample: Path, environ: dict[str, str], folder: Path
) -> PrintedLines:
    """Run a command to its end, and return what it prints."""
    folder.mkdir()
    copy = shutil.copytree(sample, folder / "runs")
    arguments = list_arguments(command, folder, copy)
    with StartedProgram("directly", arguments, environ, folder) as program:
        left = program.wait_for_end(MAX_SECONDS_OF_COMPLETE_COMMAND)
        assert not left
        assert program.exit_code == 0
        lines = program.find_text()
    shutil.rmtree(folder)

    assert len(lines) > 1, "the command prints a result"
    return PrintedLines(tuple(_remove_digits(line) for line in lines))


def list_arguments(command: str, folder: Path, sample: Path) -> list[str | Path]:
    if command == "demo":
        return ["demo", "-o", folder / "demo"]
    if command == "import":
        return ["import", sample, "--workspace", folder / "other"]
    return [command, sample]


def end_program(program: StartedProgram, start: Start) -> None:
    while not program.find_processes() and not program.has_launcher_ended():
        program.read_for(0.005)
    program.read_for(start.seconds)
    program.end_of_wait = len(program.output)
    if start.end == LOST_TERMINAL:
        program.lose_terminal()
    else:
        program.send_signal(signal.Signals[start.end])


def was_interrupted_before_first_line(program: StartedProgram) -> bool:
    """Whether Ctrl-C ended or disturbed Python itself, before the first line of fcreview ran."""
    output = program.output.decode(errors="replace")
    if any(text in output for text in PYTHON_START):
        return True
    return SCRIPT_START in output and FRAME_IN_FCREVIEW.search(output) is None


def list_faults(program: StartedProgram, start: Start, printed: PrintedLines) -> list[str]:
    number = signal.SIGHUP if start.end == LOST_TERMINAL else signal.Signals[start.end]
    code = program.exit_code
    faults = []
    if code not in (None, 0, 128 + number):
        faults.append("exit code")
    if start.end != LOST_TERMINAL:
        modes = program.find_modes_left()
        if modes:
            faults.append(f"modes left: {modes}")
        faults += list_text_faults(program, printed, is_complete=code == 0)
    return [f"{fault}: {describe_end(program, vars(start))}" for fault in faults]


def list_text_faults(
    program: StartedProgram, printed: PrintedLines, *, is_complete: bool
) -> list[str]:
    """Return faults of the text on the main screen. A command that was complete has printed its
    result.
    """
    text = program.find_text()
    forbidden = [line for line in text if any(word in line for word in FORBIDDEN)]
    if forbidden:
        return [f"text {text}"]
    if is_complete:
        return []

    lines_after_end = program.find_text(program.end_of_wait)
    lines_of_signal = [line for line in lines_after_end if not printed.contain(line)]
    if len(lines_of_signal) > 1:
        return [f"more than one line after the signal: {lines_of_signal}"]
    return []

"""Start fcreview on a terminal in the ways in which users start it: directly, with a shell, with
`make`, and in tmux. End it by a signal or by closing the terminal.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tests.commands import PROGRAM as PYTHON_MODULE
from tests.faults.processes import processes_with

COLUMNS, ROWS = 100, 30
_SCRIPT = Path(sys.executable).with_name("fcreview")
PROGRAM = [str(_SCRIPT)] if _SCRIPT.exists() else PYTHON_MODULE
RESET_MODES = {
    "alternate screen": (b"\x1b[?1049h", b"\x1b[?1049l"),
    "hidden cursor": (b"\x1b[?25l", b"\x1b[?25h"),
    "mouse": (b"\x1b[?1000h", b"\x1b[?1000l"),
    "mouse movement": (b"\x1b[?1003h", b"\x1b[?1003l"),
    "bracketed paste": (b"\x1b[?2004h", b"\x1b[?2004l"),
    "focus reports": (b"\x1b[?1004h", b"\x1b[?1004l"),
    "no line wrap": (b"\x1b[?7l", b"\x1b[?7h"),
    "keyboard protocol": (b"\x1b[>25u", b"\x1b[<u"),
}
"""Sequences that turn a mode of the terminal on and off."""
TMUX_MODES = "#{alternate_on}#{mouse_any_flag}#{mouse_standard_flag}"
"""Modes of a tmux pane that are 0 if they are restored."""
_ESCAPE_SEQUENCE = re.compile(rb"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[ -/]*[0-~])")
_ALTERNATE_SCREEN = re.compile(rb"\x1b\[\?1049h.*?(\x1b\[\?1049l|\Z)", re.DOTALL)


class StartedProgram:
    """`fcreview` with these arguments, started with a launcher. Use it as a context manager.

    The shell, `make` and tmux write the exit code of fcreview to `code_file`.
    """

    def __init__(
        self,
        launcher: str,
        arguments: Sequence[str | Path],
        environ: Mapping[str, str],
        folder: Path,
    ) -> None:
        self.launcher = launcher
        self.mark = str(folder)
        """Text on the command line of fcreview, and of no other program."""
        self.output = b""
        self.end_of_wait = 0
        self._code_file = folder / "exit-code"
        self._socket = folder / "tmux"
        self._folder = folder
        self._environ = {**environ, "TERM": "xterm-256color"}
        self._environ.pop("TMUX", None)
        self._status: int | None = None
        program = [*PROGRAM, *map(str, arguments)]
        command = self._wrap_command(program)
        self._terminal, other_end = pty.openpty()
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._attributes = termios.tcgetattr(self._terminal)
        self._pid = os.fork()
        if self._pid == 0:
            _become(other_end, command, self._environ)
        os.close(other_end)

    def _wrap_command(self, program: Sequence[str]) -> list[str]:
        if self.launcher == "directly":
            return list(program)
        # `trap :` lets the shell survive the signal, so that it can write the exit code. Other
        # than an ignored signal, a trap does not apply to the programs that the shell starts.
        script = f"trap : INT QUIT TERM; {shlex.join(program)}; echo $? >{shlex.quote(str(self._code_file))}"
        if self.launcher == "sh -c":
            return ["sh", "-c", script]
        makefile = self._folder / "Makefile"
        recipe = script.replace("$", "$$")
        makefile.write_text(f"run:\n\t@{recipe}\n")
        if self.launcher == "make":
            return ["make", "-s", "-f", str(makefile), "run"]
        pane = f"make -s -f {shlex.quote(str(makefile))} run; exec sleep 1000"
        return ["tmux", "-S", str(self._socket), "-f", os.devnull, "new-session", pane]

    def __enter__(self) -> StartedProgram:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_terminal()
        if self.launcher == "tmux":
            self._call_tmux("kill-server")
        for process in processes_with(self.mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if self._status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)

    def _call_tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), *words],
            capture_output=True, text=True, env=self._environ, timeout=20,
        )  # fmt: skip
        return done.stdout

    def find_processes(self) -> list[int]:
        """Return the ids of fcreview's processes."""
        processes = []
        for process in processes_with(self.mark):
            with contextlib.suppress(OSError):
                command = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
                if Path(os.fsdecode(command[0])).name.startswith("python"):
                    processes.append(process)
        return processes

    def read_for(self, seconds: float) -> None:
        """Read the output, as a terminal does, for this time or until the launcher has ended."""
        end = time.monotonic() + seconds
        while (rest := end - time.monotonic()) > 0 and not self.has_launcher_ended():
            self._read(min(rest, 0.02))

    def _read(self, wait: float) -> bool:
        if self._terminal < 0:
            time.sleep(wait)
            return False
        if not select.select([self._terminal], [], [], wait)[0]:
            return False
        try:
            data = os.read(self._terminal, 1 << 16)
        except OSError:
            time.sleep(wait)
            return False
        self.output += data
        return bool(data)

    def has_launcher_ended(self) -> bool:
        if self._status is None:
            process, status = os.waitpid(self._pid, os.WNOHANG)
            if process:
                self._status = status
        return self._status is not None

    def send_signal(self, number: signal.Signals) -> bool:
        """Send a signal to fcreview. Return False if it is not running."""
        processes = self.find_processes()
        if not processes:
            return False
        try:
            os.kill(min(processes), number)
        except ProcessLookupError:
            return False
        return True

    def close_terminal(self) -> None:
        if self._terminal >= 0:
            os.close(self._terminal)
            self._terminal = -1

    def lose_terminal(self) -> None:
        """Close the terminal, or end the tmux server with the terminals of its panes."""
        if self.launcher == "tmux":
            self._call_tmux("kill-server")
        else:
            self.close_terminal()

    def wait_for_end(self, seconds: float) -> list[int]:
        """Wait until no process of fcreview is left. Return the ids of those that are left."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._read(0.02)
            is_direct_process_left = self.launcher == "directly" and not self.has_launcher_ended()
            if not is_direct_process_left and not self.find_processes():
                break
        while self._read(0.1):
            pass
        return self.find_processes()

    @property
    def exit_code(self) -> int | None:
        """Exit code of fcreview, 128 plus the number after a signal. None if nobody waited."""
        if self.launcher == "directly":
            if self._status is None:
                return None
            code = os.waitstatus_to_exitcode(self._status)
            return 128 - code if code < 0 else code
        try:
            return int(self._code_file.read_text())
        except (OSError, ValueError):
            return None

    def find_modes_left(self) -> list[str]:
        """Return the modes of the terminal that are not restored."""
        if self.launcher == "tmux":
            flags = self._call_tmux("display-message", "-p", TMUX_MODES).strip()
            return [] if not flags or set(flags) == {"0"} else [f"tmux modes {flags}"]
        modes = []
        for name, (start, end) in RESET_MODES.items():
            if self.output.rfind(start) > self.output.rfind(end):
                modes.append(name)
        if self._terminal >= 0 and termios.tcgetattr(self._terminal) != self._attributes:
            modes.append("attributes")
        return modes

    def find_text(self, start: int = 0) -> list[str]:
        """Return the lines that the main screen shows, beginning at a position of the output.

        In tmux, these are always all lines of the pane, because tmux draws them in an order of
        its own.
        """
        if self.launcher == "tmux":
            text = self._call_tmux("capture-pane", "-p", "-J")
        else:
            outside = _ALTERNATE_SCREEN.sub(b"", self.output[:start] + b"\0" + self.output[start:])
            outside = outside.rpartition(b"\0")[2]
            text = _ESCAPE_SEQUENCE.sub(b"", outside).decode(errors="replace")
        lines = [line.rpartition("\r")[2] for line in text.replace("\r\n", "\n").split("\n")]
        return [line.strip() for line in lines if line.strip()]


def _become(terminal: int, command: Sequence[str], environ: Mapping[str, str]) -> NoReturn:
    """Replace the child process by the command on a terminal, or exit."""
    try:
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        os.login_tty(terminal)
        os.execvpe(command[0], list(command), dict(environ))  # noqa: S606
    finally:
        os._exit(127)


def describe_end(program: StartedProgram, extra: Mapping[str, Any]) -> str:
    """Return the facts about an end, for the message of a failed test."""
    facts = {"launcher": program.launcher, **extra, "exit code": program.exit_code}
    tail = program.output[-2000:]
    return f"{facts}\n{tail!r}"

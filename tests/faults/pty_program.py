"""Run fcreview on a pseudo-terminal: type keys, read the screen, hang up."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pyte

from fcreview.tui.review.key_guard import JUST_APPEARED
from fcreview.tui.verdict_keys import VERDICT_KEYS
from tests.commands import PROGRAM

TIME_TO_READ = 0.3
"""Seconds before a verdict key. More than the default of the setting `key_guard_ms`."""


def screen_text(screen: pyte.Screen) -> str:
    """Return the text of the screen.

    `pyte.Screen.display` fails while half of a wide character is overwritten.
    """
    rows, cells = range(screen.lines), range(screen.columns)
    return "\n".join("".join(screen.buffer[row][cell].data for cell in cells) for row in rows)


class TerminalApp:
    """`fcreview` with these arguments on a terminal. Killed when the context ends.

    `program` replaces `fcreview`, for example by a shell. With `ignores_hangup`, the program ignores SIGHUP, as after `nohup`.
    """

    def __init__(
        self,
        arguments: Sequence[str | Path],
        environ: Mapping[str, str],
        size: tuple[int, int] = (80, 24),
        *,
        ignores_hangup: bool = False,
        program: Sequence[str] = PROGRAM,
    ):
        self.bytes = b""
        """All output so far."""
        self.screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self.screen)
        self.code: int | None = None
        self._ours, terminal = pty.openpty()
        self.resize(*size)
        self.attributes = termios.tcgetattr(self._ours)
        """Attributes of the terminal before the program changed them. On a busy machine the program
        may be faster than this process, so they are read before it starts.
        """
        self.pid = os.fork()
        if self.pid == 0:
            signal.signal(signal.SIGHUP, signal.SIG_IGN if ignores_hangup else signal.SIG_DFL)
            command = [*program, *map(str, arguments)]
            self._become(terminal, command, {**environ, "TERM": "xterm-256color"})
        os.close(terminal)

    @staticmethod
    def _become(terminal: int, command: Sequence[str], environ: Mapping[str, str]) -> NoReturn:
        """Replace the child process by the program, or exit."""
        try:
            os.login_tty(terminal)
            os.execvpe(command[0], command, environ)  # noqa: S606
        finally:
            os._exit(127)

    def __enter__(self) -> TerminalApp:
        return self

    def __exit__(self, *_: object) -> None:
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()
        self.hang_up()

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    @property
    def current_attributes(self) -> list[Any]:
        return termios.tcgetattr(self._ours)

    def set_attributes(self, attributes: list[Any]) -> None:
        termios.tcsetattr(self._ours, termios.TCSANOW, attributes)

    def type(self, text: str) -> None:
        """Type the text. Before a verdict key, wait as a person does, because the app ignores a
        verdict on an item that has just appeared.
        """
        if text.startswith(tuple(key.default_key for key in VERDICT_KEYS)):
            end = time.monotonic() + TIME_TO_READ
            while time.monotonic() < end:
                self.read()
        os.write(self._ours, text.encode())

    def give_verdict(self, key: str, saved: str) -> None:
        """Type a verdict key until the screen says that the verdict is saved.

        On a busy machine the app may draw the item later than `type` expects, and then it ignores
        the key. A person who reads so presses the key again.
        """
        assert saved not in self.text()
        end = time.monotonic() + 60
        while saved not in self.text():
            assert time.monotonic() < end, f"no verdict was saved; the screen is\n{self.text()}"
            self.type(key)
            self._wait_for_answer(saved)

    def _wait_for_answer(self, saved: str) -> None:
        """Read until the verdict is saved, or for three seconds after the app ignored the key."""
        end = time.monotonic() + 60
        while saved not in self.text() and time.monotonic() < end:
            if JUST_APPEARED in self.text():
                end = min(end, time.monotonic() + 3)
            assert self.read(), f"the program has ended; the screen is\n{self.text()}"

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def hang_up(self) -> None:
        """Close the terminal. The kernel sends SIGHUP, and later writes fail."""
        if self._ours >= 0:
            os.close(self._ours)
            self._ours = -1

    @property
    def restored(self) -> bool:
        """Whether the attributes, the cursor and the main screen of the terminal are restored."""
        shown = self.bytes.rfind(b"\x1b[?25h") > self.bytes.rfind(b"\x1b[?25l")
        usual = self.bytes.rfind(b"\x1b[?1049l") >= self.bytes.rfind(b"\x1b[?1049h")
        return shown and usual and termios.tcgetattr(self._ours) == self.attributes

    def text(self) -> str:
        return screen_text(self.screen)

    def read(self, wait: float = 0.05) -> bool:
        """Read the available output. Returns False after the program has closed the terminal."""
        if self._ours < 0 or not select.select([self._ours], [], [], wait)[0]:
            return self._ours >= 0
        try:
            data = os.read(self._ours, 1 << 16)
        except OSError:
            return False
        self.bytes += data
        self._stream.feed(data)
        return bool(data)

    def until(self, holds: str | Callable[[], Any], seconds: float = 60) -> None:
        """Wait until the text is on the screen or the condition is true.

        Fails with the text of the screen.
        """
        condition = (lambda: holds in self.text()) if isinstance(holds, str) else holds
        end = time.monotonic() + seconds
        while not condition():
            going = self.read()
            assert time.monotonic() < end, f"timed out; the screen is\n{self.text()}"
            assert going or condition(), f"the program has ended; the screen is\n{self.text()}"

    def wait(self, seconds: float = 30) -> int:
        """Wait for the end and return the exit code, negative for a signal.

        Reads the remaining output.
        """
        end = time.monotonic() + seconds
        while self.code is None:
            found, status = os.waitpid(self.pid, os.WNOHANG)
            if found:
                self.code = os.waitstatus_to_exitcode(status)
            assert time.monotonic() < end, "the program does not end"
            if not self.read(0.02):
                time.sleep(0.02)
        while self._ours >= 0 and select.select([self._ours], [], [], 0)[0] and self.read(0):
            pass
        return self.code

"""Run a program in a pseudo-terminal, keep its screen content, and measure its response times."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import pyte

KEYS = {
    "enter": "\r",
    "escape": "\x1b",
    "down": "\x1b[B",
    "up": "\x1b[A",
    "pagedown": "\x1b[6~",
    "end": "\x1b[F",
}
ANSWERS = {b"\x1b[6n": b"\x1b[1;1R", b"\x1b[?2026$p": b"\x1b[?2026;2$y", b"\x1b[c": b"\x1b[?62;c"}


@dataclass(frozen=True)
class Stroke:
    """Cost of a key press: seconds to the first and to the last byte of the response, and number
    of bytes.
    """

    first: float
    settled: float
    bytes: int


class Terminal:
    def __init__(self, command: list[str], columns: int = 80, rows: int = 24) -> None:
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.bytes = 0
        self.started = time.perf_counter()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", COLUMNS=str(columns), LINES=str(rows))
            os.execvp(command[0], command)  # noqa: S606
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except OSError:
            pass
        os.close(self._fd)

    def _read(self, wait: float) -> int:
        """Return the number of bytes received within `wait` seconds: 0 if none arrived, -1 if
        the program has ended.
        """
        ready, _, _ = select.select([self._fd], [], [], wait)
        if not ready:
            return 0
        try:
            data = os.read(self._fd, 1 << 16)
        except OSError:
            return -1
        for question, answer in ANSWERS.items():
            if question in data:
                os.write(self._fd, answer)
        self.bytes += len(data)
        self._stream.feed(data)
        return len(data) or -1

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def wait_for(self, text: str, timeout: float = 60.0) -> float:
        """Return the seconds from the start of the program until `text` is on the screen.

        Raises TimeoutError with the content of the screen if the text does not appear.
        """
        end = time.perf_counter() + timeout
        if text in self.text():
            return time.perf_counter() - self.started
        while time.perf_counter() < end:
            got = self._read(0.005)
            if got and text in self.text():
                return time.perf_counter() - self.started
            if got < 0:
                break
        raise TimeoutError(f"{text!r} did not appear; the screen is\n{self.text()}")

    def settle(self, quiet: float = 0.12, timeout: float = 10.0) -> Stroke:
        start = time.perf_counter()
        first = last = None
        total = 0
        while time.perf_counter() - start < timeout:
            got = self._read(0.002)
            now = time.perf_counter()
            if got > 0:
                first, last, total = first or now, now, total + got
            elif got < 0 or now - (last or start) > quiet:
                break
        return Stroke((first or start) - start, settled=(last or start) - start, bytes=total)

    def press(self, key: str, quiet: float = 0.12) -> Stroke:
        """Press a key. `quiet`: seconds without a byte after which the response is complete."""
        while self._read(0) > 0:
            pass
        os.write(self._fd, KEYS.get(key, key).encode())
        return self.settle(quiet)

    def memory_mb(self) -> float:
        """Resident memory of the program, in MB (Linux)."""
        with Path(f"/proc/{self.pid}/status").open() as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))

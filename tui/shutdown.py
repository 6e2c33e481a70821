"""Quit the app after a signal and after the loss of the terminal, from its first moment on."""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import os
import select
import signal
import socket
import sys
import termios
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from fcreview.tui.lost_terminal import has_lost_terminal, redirect_lost_streams

SHUTDOWN_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
SHUTDOWN_TIMEOUT = 10.0
"""Maximum number of seconds between a signal and the exit of the process.

Every review that the screen has confirmed is on disk by then.
"""
RESET_SEQUENCES = (
    "\x1b[?2004l"  # bracketed paste
    "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # mouse
    "\x1b[?1004l"  # reports of the focus
    "\x1b[?2048l"  # reports of the size
    "\x1b[?2026l"  # synchronized output
    "\x1b[?7h"  # line wrap on
    "\x1b[<u"  # keyboard protocol
    "\x1b[?1049l"  # main screen
    "\x1b[?25h"  # cursor visible
)
"""Output that switches off all modes of the terminal that Textual switches on."""


class SignalShutdown:
    """Quits the app on a shutdown signal and when the terminal is lost.

    Use it as a context manager around the app, and call `attach` as soon as the event loop runs.
    A signal that arrives before is kept. The kernel sends SIGHUP only to the first process of the
    session, such as `make`, which does not pass it on, so the terminal is watched, too.
    """

    def __init__(self) -> None:
        """Remember the handlers and the terminal as they are before the app starts."""
        self._previous_handlers = {number: signal.getsignal(number) for number in SHUTDOWN_SIGNALS}
        self._terminal_attributes = _read_terminal_attributes()

        self.ignores_interrupts = False
        """Whether SIGINT has no effect, because another program, such as an editor, uses the
        terminal.
        """
        self._signal_number: int | None = None
        """Number of the signal that ends the app. None until one arrives."""

        # These are set when the app runs.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._quit_app: Callable[[int], object] | None = None
        self._hangup_poll: select.epoll | None = None
        """Tells whether the terminal was closed."""

    def __enter__(self) -> SignalShutdown:
        self.install_handlers()
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Restore the previous signal handlers.

        After a signal, keep ignoring further signals instead, so that nothing interrupts the
        shutdown.
        """
        if self._signal_number is None:
            for number, handler in self._previous_handlers.items():
                signal.signal(number, handler)

    def install_handlers(self) -> None:
        """Let the signals that end a program quit the app first, so that it leaves the terminal
        clean.
        """
        if self._signal_number is not None:
            return
        for number, handler in self._previous_handlers.items():
            # The program nohup makes a program ignore SIGHUP.
            if handler is not signal.SIG_IGN:
                signal.signal(number, self._on_signal)

    def attach(self, quit_app: Callable[[int], object]) -> int | None:
        """Let a signal call `quit_app` with the exit code. Must be called by a callback of the
        event loop.

        If a signal has arrived before, return the exit code instead.
        """
        self._loop = asyncio.get_running_loop()
        self._quit_app = quit_app
        if has_lost_terminal() and self._signal_number is None:
            self._on_signal(signal.SIGHUP, None)
        if self._signal_number is not None:
            # By convention, the exit code after a signal is 128 plus its number.
            return 128 + self._signal_number

        self._hangup_poll = _open_hangup_poll()
        if self._hangup_poll is not None:
            self._loop.add_reader(self._hangup_poll, self._on_lost_terminal)
        return None

    def detach(self) -> None:
        """Stop watching the terminal before the event loop closes."""
        if self._loop is not None and self._hangup_poll is not None:
            self._loop.remove_reader(self._hangup_poll)
            self._hangup_poll.close()
        self._hangup_poll = None
        self._loop = None

    def _on_lost_terminal(self) -> None:
        if self._loop is not None and self._hangup_poll is not None:
            self._loop.remove_reader(self._hangup_poll)
        if self._signal_number is None:
            self._on_signal(signal.SIGHUP, None)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        """Handle a signal that ends the app: quit soon, or kill the process if that takes too
        long.
        """
        if number == signal.SIGINT and self.ignores_interrupts:
            return
        self._signal_number = number
        for each in SHUTDOWN_SIGNALS:
            # A dropped connection often sends two signals.
            signal.signal(each, signal.SIG_IGN)
        redirect_lost_streams()
        self._end_process_after_timeout(128 + number)
        self._schedule_quit()

    def _schedule_quit(self) -> None:
        """Quit the app soon, with the exit code that the shell expects after the signal."""
        if self._loop is None or self._quit_app is None or self._signal_number is None:
            return
        exit_code = 128 + self._signal_number
        # If the event loop has closed, the app has ended already.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._quit_app, exit_code)

    def _end_process_after_timeout(self, exit_code: int) -> None:
        """End the process if the app does not end by itself in time."""

        def end_process() -> None:
            time.sleep(SHUTDOWN_TIMEOUT)
            _restore_terminal(self._terminal_attributes)
            os._exit(exit_code)

        # `threading.Thread` takes locks that the interrupted code may hold.
        _thread.start_new_thread(end_process, ())


def _open_hangup_poll() -> select.epoll | None:
    """Return a poll object that becomes readable when the terminal is lost, for example by a closed
    SSH connection.

    None without a terminal, or on a system without `epoll`.
    """
    if not hasattr(select, "epoll") or sys.__stdin__ is None or not sys.__stdin__.isatty():
        return None
    poll = select.epoll()
    # The kernel reports a hang-up even if no event is asked for.
    poll.register(sys.__stdin__.fileno(), 0)
    return poll


def _read_terminal_attributes() -> list[Any] | None:
    """Return the attributes of the terminal at standard input. None without a terminal."""
    if sys.__stdin__ is None:
        return None
    try:
        return termios.tcgetattr(sys.__stdin__.fileno())
    except (termios.error, OSError, ValueError):
        return None


def _restore_terminal(attributes: list[Any] | None) -> None:
    """Restore the attributes and modes that the terminal had before the app started.

    Nothing is done if the terminal is lost or does not accept output, which would block.
    """
    if attributes is None or sys.__stdin__ is None or sys.__stderr__ is None:
        return
    with contextlib.suppress(termios.error, OSError, ValueError):
        termios.tcsetattr(sys.__stdin__.fileno(), termios.TCSANOW, attributes)
        # Textual draws on standard error.
        descriptor = sys.__stderr__.fileno()
        _, writable, _ = select.select([], [descriptor], [], 0)
        if writable:
            os.write(descriptor, RESET_SEQUENCES.encode())


class SignalWakeup:
    """Socket that wakes the event loop on each signal until `close` is called. Create it in the
    main thread.

    Any thread may receive a signal, but its handler runs in the main thread, which waits for keys.
    Without the socket, an app that continues after `fg` on a busy machine may stay blank until the
    window is resized.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._read_end, self._write_end = socket.socketpair()
        for end in (self._read_end, self._write_end):
            end.setblocking(False)

        # At each signal, Python writes a byte. That it can be read wakes up the event loop.
        self._loop.add_reader(self._read_end, self._discard_wakeup_bytes)
        self._previous_fd = signal.set_wakeup_fd(
            self._write_end.fileno(), warn_on_full_buffer=False
        )

    def close(self) -> None:
        signal.set_wakeup_fd(self._previous_fd)
        self._loop.remove_reader(self._read_end)
        for end in (self._read_end, self._write_end):
            end.close()

    def _discard_wakeup_bytes(self) -> None:
        with contextlib.suppress(BlockingIOError):
            # Python calls the signal handlers itself.
            self._read_end.recv(4096)

"""End a command after SIGINT, SIGTERM or SIGHUP, as soon as an exception may be raised.

A signal arrives at any line, also while Python imports a module or deletes an object. An exception
that is raised there can crash a C extension, or Python discards it. fcreview raises it again a
moment later.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time
from types import FrameType
from typing import Any

TERMINATION_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end a command as Ctrl-C does, so that it cleans up.

SIGHUP reports a dropped connection.
"""
RETRY_INTERVAL = 0.02
"""Seconds until fcreview tries again to raise an exception for a signal."""
MAX_EXIT_TIME = 2.0
"""Maximum number of seconds that the interpreter may wait for threads after a signal."""
_received_signals: list[int] = []


def find_received_signal() -> int | None:
    """Return the number of the signal that ends the command, or None."""
    return _received_signals[0] if _received_signals else None


def install_signal_handlers() -> None:
    """Raise KeyboardInterrupt on SIGINT, and SystemExit on a termination signal.

    A signal that is ignored, as under `nohup`, stays ignored.
    """
    sys.unraisablehook = _handle_discarded_exception
    signal.signal(signal.SIGALRM, _raise_if_possible)
    for number in (signal.SIGINT, *TERMINATION_SIGNALS):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end_command)


def watch_terminal() -> None:
    """Send SIGHUP to this process when its terminal is lost, unless SIGHUP is ignored.

    The kernel sends SIGHUP only to the first process of the session. `make` does not pass it on.
    """
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return
    from fcreview.tui.lost_terminal import wait_for_lost_terminal

    def send_signal() -> None:
        if wait_for_lost_terminal():
            os.kill(os.getpid(), signal.SIGHUP)

    _thread.start_new_thread(send_signal, ())


def _end_command(number: int, frame: FrameType | None) -> None:
    """Handle the first signal that ends the command: raise an exception, so that it can clean
    up.
    """
    _received_signals.append(number)
    # A second termination signal usually follows and must not interrupt the cleanup. A user who
    # presses Ctrl-C again does not want to wait for it.
    for each in TERMINATION_SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _raise_if_possible(number, frame)


def _raise_if_possible(_: int, frame: FrameType | None) -> None:
    """Raise the exception of the received signal, or try again later during an import."""
    number = find_received_signal()
    if number is None:
        return
    if _is_importing(frame):
        signal.setitimer(signal.ITIMER_REAL, RETRY_INTERVAL)
        return
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _handle_discarded_exception(discarded: Any) -> None:
    """Replacement of `sys.unraisablehook`, which prints exceptions that Python discards, such as
    those of a finalizer.
    """
    is_interrupt = isinstance(discarded.exc_value, KeyboardInterrupt | SystemExit)
    if is_interrupt and find_received_signal() is not None:
        signal.setitimer(signal.ITIMER_REAL, RETRY_INTERVAL)
    else:
        sys.__unraisablehook__(discarded)


def stop_raising_exceptions() -> None:
    """Let signals end the process at once from now on, because the command has ended."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number in (signal.SIGINT, *TERMINATION_SIGNALS):
        if signal.getsignal(number) is _end_command:
            signal.signal(number, signal.SIG_DFL)


def limit_exit_time(exit_code: int) -> None:
    """End the process after `MAX_EXIT_TIME`, even if threads are still running."""

    def end_process() -> None:
        time.sleep(MAX_EXIT_TIME)
        os._exit(exit_code)

    _thread.start_new_thread(end_process, ())

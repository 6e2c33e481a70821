"""SIGTERM and SIGHUP (a dropped connection) end a command as Ctrl-C does, so that unfinished work is cleaned up."""

from __future__ import annotations

import signal
from types import FrameType

TERMINATION_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_received: list[int] = []


def install_signal_handlers() -> None:
    """Raise SystemExit on these signals. A signal that is ignored (`nohup`) stays ignored."""
    for each in TERMINATION_SIGNALS:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, _exit)


def terminated_by() -> int | None:
    """Exit code for the signal that ended this process, or None.

    It is needed because a library may have replaced the SystemExit by an exception of its own.
    """
    return 128 + _received[0] if _received else None


def _exit(number: int, _: FrameType | None) -> None:
    for each in TERMINATION_SIGNALS:
        signal.signal(each, signal.SIG_IGN)  # a second signal usually follows and must not interrupt the cleanup
    _received.append(number)
    raise SystemExit(128 + number)

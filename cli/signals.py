"""SIGTERM and SIGHUP (a dropped connection) end a command as Ctrl-C does: what is half done is taken away."""

from __future__ import annotations

import signal
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)
_told: list[int] = []


def heed() -> None:
    """From now on these signals raise SystemExit here. One that is ignored (`nohup`) stays so."""
    for each in ENDING:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, _end)


def told_to_end() -> int | None:
    """The exit code that says by which signal this process was told to end; None if it was not. A library may have
    made something else of the SystemExit."""
    return 128 + _told[0] if _told else None


def _end(number: int, _: FrameType | None) -> None:
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)  # one is enough: it usually comes twice, and must not stop the tidying
    _told.append(number)
    raise SystemExit(128 + number)

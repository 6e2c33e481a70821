"""Find out whether the terminal of this process still exists.

This module imports little, because every command uses it when it starts.
"""

from __future__ import annotations

import errno
import os
import select
import sys
import termios


def has_lost_terminal() -> bool:
    """Whether the terminal of a standard stream no longer exists."""
    return bool(_find_lost_streams())


def redirect_lost_streams() -> None:
    """Redirect standard streams to the null device if their terminal is lost, because writing could
    block or fail.
    """
    for descriptor in _find_lost_streams():
        null_device = os.open(os.devnull, os.O_RDWR)
        os.dup2(null_device, descriptor)
        os.close(null_device)


def _find_lost_streams() -> list[int]:
    """Return the file descriptors of the standard streams whose terminal no longer exists."""
    descriptors = []
    for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__):
        if stream is None:
            continue
        try:
            termios.tcgetattr(stream.fileno())
        except termios.error as error:
            # This error means that the terminal is gone. Others mean that the stream is no
            # terminal.
            if error.args[0] == errno.EIO:
                descriptors.append(stream.fileno())
        except (OSError, ValueError):
            continue
    return descriptors


def wait_for_lost_terminal() -> bool:
    """Wait until the terminal of a standard stream is lost. Return False at once without one."""
    if has_lost_terminal():
        return True
    descriptor = _find_terminal()
    if descriptor is None:
        return False
    poll = select.poll()
    # The kernel reports a hang-up even if no event is asked for.
    poll.register(descriptor, 0)
    return any(events & select.POLLHUP for _, events in poll.poll())


def _find_terminal() -> int | None:
    for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__):
        if stream is not None and stream.isatty():
            return stream.fileno()
    return None

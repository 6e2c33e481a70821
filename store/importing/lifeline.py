"""Worker processes that end when their parent does, however it ends.

A pipe is held open by the parent alone; a thread of each worker waits for its end, which comes when the parent lets go
or dies. On Linux the kernel is asked as well: it also ends a worker that no thread can interrupt.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext

_SET_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux's prctl.h"""


class Lifeline:
    """The parent's end, held until the context is left. `initializer` and `initargs` are for the pool."""

    def __init__(self, context: BaseContext) -> None:
        self._end, self._held = context.Pipe(duplex=False)
        forked = context.get_start_method() == "fork"
        self.initargs = (os.getpid(), self._end, self._held if forked else None)

    @staticmethod
    def initializer(parent: int, end: Connection, held: Connection | None) -> None:
        """Runs in a worker. `held` is the parent's end where forking has copied it: it is let go here."""
        if held is not None:
            held.close()
        for each in (signal.SIGHUP, signal.SIGTERM):  # forked workers have the parent's handlers
            signal.signal(each, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all: the parent says what is to be done
        _ask_the_kernel()
        if os.getppid() != parent:  # it died before that
            os._exit(1)
        threading.Thread(target=_end_with, args=(end,), daemon=True, name="lifeline").start()

    def __enter__(self) -> Lifeline:
        return self

    def __exit__(self, *_: object) -> None:
        self._cut()

    @contextlib.contextmanager
    def cut_by_errors(self) -> Iterator[None]:
        """When the parent leaves early, nobody waits for what the workers are at."""
        try:
            yield
        except BaseException:
            self._cut()
            raise

    def _cut(self) -> None:
        self._held.close()
        self._end.close()


def _end_with(end: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        end.recv_bytes()
    os._exit(1)


def _ask_the_kernel() -> None:
    """To kill this process when its parent dies. Where it cannot be asked, the pipe has to do."""
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)

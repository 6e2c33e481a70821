"""Progress on stderr: one line that is rewritten, on a terminal only, gone at the end."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from fcreview.sanitise import clip, visible

PAUSE = 0.1
"""Seconds between two updates: few writes over a slow link. What takes less shows nothing."""


def megabytes(count: int) -> str:
    return f"{count / 1e6:.0f} MB"


class Progress:
    """What `import_runs` calls with (what, bytes done, bytes in all); others with what they count, 0 in all where that
    is not known."""

    def __init__(
        self, doing: str = "importing", amount: Callable[[int], str] = megabytes, *, quiet: bool = False
    ) -> None:
        self._doing, self._amount = doing, amount
        self._shown = False
        self._next = time.monotonic() + PAUSE
        self._on = not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._on or now < self._next:
            return
        self._next = now + PAUSE
        share = f"{100 * done // total:3d} %" if total else self._amount(done)
        line = f"{self._doing} {share}{f' of {self._amount(total)}' if total else ''}  {visible(what)}"
        sys.stderr.write("\r" + clip(line, 78) + "\x1b[K")
        sys.stderr.flush()
        self._shown = True

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False

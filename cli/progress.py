"""Progress on stderr: one line that is rewritten, on a terminal only, gone at the end."""

from __future__ import annotations

import os
import sys
import time

from fcreview.sanitise import clip, visible

PAUSE = 0.1
"""Seconds between two updates: few writes over a slow link. What takes less shows nothing."""


class Progress:
    """What `import_runs` calls with (what, bytes done, bytes in all)."""

    def __init__(self) -> None:
        self._shown = False
        self._next = time.monotonic() + PAUSE
        self._on = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._on or now < self._next:
            return
        self._next = now + PAUSE
        share = f"{100 * done // total:3d} % of " if total else f"{done / 1e6:.0f} of "
        sys.stderr.write("\r" + clip(f"importing {share}{total / 1e6:.0f} MB  {visible(what)}", 78) + "\x1b[K")
        sys.stderr.flush()
        self._shown = True

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False

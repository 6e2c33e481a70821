"""Let tests of screens see a terminal with Unicode and colours, whatever terminal they run in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fcreview.tui.text import styles


@contextmanager
def set_plain_terminal(patch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("NO_COLOR", "LC_ALL", "LC_CTYPE", "FCREVIEW_ASCII"):
        patch.delenv(name, raising=False)
    patch.setenv("LANG", "en_US.UTF-8")
    patch.setenv("TERM", "xterm-256color")
    styles.clear_style_caches()
    yield
    styles.clear_style_caches()

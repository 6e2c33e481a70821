"""What single keys of the item screen open over it, by the names that the key table has for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fcreview.tui.item.judging import About
from fcreview.tui.screens.closer.elsewhere import show_elsewhere
from fcreview.tui.screens.closer.golden import ask_golden
from fcreview.tui.screens.closer.host import Host
from fcreview.tui.screens.closer.labels import ask_labels
from fcreview.tui.screens.closer.why import ask_why
from fcreview.tui.session import Session

CLOSER: dict[str, Callable[[Host, Session, About], Awaitable[None]]] = {
    "golden": ask_golden,
    "labels": ask_labels,
    "elsewhere": show_elsewhere,
    "why": ask_why,
}

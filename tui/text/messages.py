"""Message of the status line."""

from __future__ import annotations

from typing import NamedTuple


class StatusMessage(NamedTuple):
    text: str
    style: str = "good"


NO_MESSAGE = StatusMessage("", "")

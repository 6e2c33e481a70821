"""Keys as they come from a terminal, all at once, and waiting for what comes of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from textual import events
from textual.app import App

PATIENCE = 60.0
"""Seconds."""


def press(app: App[Any], *keys: str) -> None:
    """Nothing is waited for."""
    for key in keys:
        event = events.Key(key, key if len(key) == 1 else None)
        event.set_sender(app)
        app._driver.send_message(event)


async def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it did not come to that"
        await asyncio.sleep(0.005)

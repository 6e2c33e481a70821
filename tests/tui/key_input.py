"""Send keys to an app as a terminal does, and wait for a condition."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from textual import events
from textual.app import App

TIMEOUT = 60.0
"""Seconds."""


def send_keys(app: App[Any], *keys: str) -> None:
    """Send the keys without waiting for the app."""
    for key in keys:
        event = events.Key(key, key if len(key) == 1 else None)
        event.set_sender(app)
        app._driver.send_message(event)


async def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, "timed out"
        await asyncio.sleep(0.005)

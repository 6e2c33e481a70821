"""What keys ask for on a screen that reviews: one thing after the other, and a person is told what came of each."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from fcreview.sanitise import visible
from fcreview.tui.in_order import Act
from fcreview.tui.item.status import SILENT, Remark

if TYPE_CHECKING:
    from fcreview.tui.session import Session

PATIENCE = 0.4
"""Seconds after which a person is told what the screen waits for."""


class Voice(Protocol):
    """The screen, as far as it is needed here."""

    def say(self, remark: Remark) -> None: ...

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs it beside the keys, as long as the screen is there."""
        ...


class Acting:
    def __init__(self, session: Session, voice: Voice) -> None:
        self._session, self._voice = session, voice
        self._said = SILENT

    def do(self, act: Act, waiting: str = "waiting for the disk") -> None:
        """`waiting`: what a person is told if it takes long."""
        if self._session.acts.add(partial(self._guarded, act, waiting)):
            self._voice.start(self._run())

    def say(self, text: str, style: str = "good") -> None:
        self._said = Remark(text, style)
        self._voice.say(self._said)

    async def _run(self) -> None:
        dropped = await self._session.acts.run()
        if dropped:
            keys = "1 key" if dropped == 1 else f"{dropped} keys"
            self.say(f"{self._said.text} · not done: {keys} pressed after it", "bad")

    async def _guarded(self, act: Act, waiting: str) -> bool:
        slow = asyncio.get_running_loop().call_later(PATIENCE, self.say, waiting, "warn")
        try:
            return await act()
        except asyncio.CancelledError:
            if not self._session.leaving:
                raise
            return True  # what cannot be shown any more does not keep what was said behind it from being written
        except Exception as error:  # an item that cannot be read must not end the program
            self.say(visible(str(error) or type(error).__name__), "bad")
            return False
        finally:
            slow.cancel()

"""Exchange with the team in a thread of its own, while the app is open."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fcreview.errors import FcreviewError
from fcreview.store.team.exchange import Exchange, TeamLink

if TYPE_CHECKING:
    from fcreview.store.workspace import Workspace

POLL_SECONDS = 1.0
"""Seconds between two requests for new lines."""
SCAN_SECONDS = 0.2
"""Seconds between two looks at the user's own journal."""
MAX_WAIT_SECONDS = 30.0
"""Longest pause after a failed attempt to connect."""
STOP_SECONDS = 2.0
START_SECONDS = 0.5
"""Pause before the first attempt, so that the first screen does not wait for it."""


@dataclass(frozen=True, slots=True)
class SyncStatus:
    unsent: int = 0
    """Number of the user's lines that the server does not have yet."""
    received: int = 0
    """Number of lines that were received since the start."""
    problem: str = ""
    """Why the last attempt failed; empty after a successful one."""
    refusal: str = ""
    """Message about lines that the server refused; empty if there are none."""


class TeamSync:
    """Sends and receives lines in the background. Only `status` is read by other threads."""

    def __init__(self, workspace: Workspace, link: TeamLink) -> None:
        self.status = SyncStatus()
        self._workspace, self._link = workspace, link
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="team", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> SyncStatus:
        """Send what is left, for at most `STOP_SECONDS`, and return the last status. Without a server, do not wait."""
        self._stopping.set()
        if self._thread.is_alive() and not self.status.problem:
            self._thread.join(STOP_SECONDS)
        return self.status

    def _run(self) -> None:
        self._stopping.wait(START_SECONDS)
        try:
            exchange = Exchange(self._workspace, self._link)
        except (FcreviewError, OSError) as error:
            self.status = SyncStatus(problem=str(error))
            return
        pause = POLL_SECONDS
        is_last = False
        while not is_last:
            is_last = self._stopping.is_set()
            if is_last and self.status.problem:
                break
            problem = self._exchange_lines(exchange)
            pause = min(pause * 2, MAX_WAIT_SECONDS) if problem else POLL_SECONDS
            self.status = replace(self.status, unsent=exchange.outbox.scan(), problem=problem, refusal=exchange.refusal)
            if not is_last:
                self._wait(exchange, pause, is_connected=not problem)
        exchange.close()

    def _exchange_lines(self, exchange: Exchange) -> str:
        """Send and receive lines. Return the reason if that fails; then the next attempt connects again."""
        from fcreview.store.team.shares import fetch_queues

        try:
            if exchange.server is None:
                fetch_queues(exchange.connect(), self._workspace)
            exchange.push()
            received = exchange.pull()
            self.status = replace(self.status, received=self.status.received + received)
        except (FcreviewError, OSError) as error:
            exchange.close()
            return str(error) or type(error).__name__
        return ""

    def _wait(self, exchange: Exchange, pause: float, *, is_connected: bool) -> None:
        """Wait until it is time for the next request, or there are lines to send on an open connection."""
        deadline = time.monotonic() + pause
        while not self._stopping.wait(SCAN_SECONDS) and time.monotonic() < deadline:
            unsent = exchange.outbox.scan()
            if unsent and is_connected:
                return
            if unsent != self.status.unsent:
                self.status = replace(self.status, unsent=unsent)

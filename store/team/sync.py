"""Exchange lines, queues and digests with the team, in a separate thread while the app is open."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import orjson

from fcreview.errors import FcreviewError
from fcreview.store.queues.create import MergedQueue, merge_queue
from fcreview.store.queues.queue_file import QueueError, QueueFile, format_queue, parse_queue
from fcreview.store.team.exchange import Exchange, TeamLink

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.team.server import RunDigest, TeamServer
    from fcreview.store.workspace import Workspace


POLL_SECONDS = 1.0
"""Seconds between two requests for new lines."""
SCAN_SECONDS = 0.2
"""Seconds between two checks of the user's own journal."""
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
        """Send unsent lines for at most `STOP_SECONDS`, and return the last status. Without a server, do not wait."""
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
        """Send and receive lines. If that fails, return the reason; the next attempt then connects again."""
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
        """Wait until the next request is due, or until an open connection has lines to send."""
        deadline = time.monotonic() + pause
        while not self._stopping.wait(SCAN_SECONDS) and time.monotonic() < deadline:
            unsent = exchange.outbox.scan()
            if unsent and is_connected:
                return
            if unsent != self.status.unsent:
                self.status = replace(self.status, unsent=unsent)


_RUN_DIGESTS = """
SELECT concat_ws(' ', r.benchmark, r.generation, r.language, r.model), count(*),
    md5(string_agg(concat_ws('|', i.category, i.id, i.golden_hash), ' ' ORDER BY i.category, i.id)),
    md5(string_agg(concat_ws('|', i.category, i.id, i.prediction_hash), ' ' ORDER BY i.category, i.id))
FROM item_rows i JOIN runs r USING (run) GROUP BY ALL ORDER BY ALL
"""


def assign_queue(server: TeamServer, queue: QueueFile) -> None:
    """Publish a queue to the team and assign its shares. Raises TeamError if an annotator is not a member."""
    shares = [
        {"annotator": share.annotator, "keys": [queue.items[at].key._asdict() for at in dict.fromkeys(share.order)]}
        for share in queue.shares
    ]
    server.assign_queue(queue.name, format_queue(queue), orjson.dumps(shares).decode())


def fetch_queues(server: TeamServer, workspace: Workspace) -> list[MergedQueue]:
    """Copy the team's queues that the workspace lacks. Raises QueueError if a file cannot be written."""
    results = []
    for name, body in server.fetch_queues():
        queue: QueueFile | QueueError
        try:
            queue = parse_queue(body, f"queue {name!a} of the team")
        except QueueError as error:
            queue = error
        results.append(merge_queue(workspace, queue))
    return results


def compute_run_digests(connection: DuckDBPyConnection) -> list[tuple[str, int, str, str]]:
    """Return (run, number of items, digest of the golden answers, digest of the predictions) of each run."""
    return connection.execute(_RUN_DIGESTS).fetchall()


def report_runs(server: TeamServer, runs: list[tuple[str, int, str, str]]) -> None:
    server.report_datasets(orjson.dumps(runs).decode())


def compare_runs(own: list[tuple[str, int, str, str]], others: list[RunDigest], annotator: str) -> list[str]:
    """Describe each run for which the golden answers or predictions of another member differ from the user's."""
    mine = {run: digests for run, *digests in own}
    problems = []
    for other in others:
        digests = mine.get(other.run)
        if other.annotator == annotator or digests is None:
            continue
        theirs = (other.n_items, other.golden, other.predictions)
        pairs = zip(("number of items", "golden answers", "predictions"), digests, theirs, strict=True)
        different = [name for name, here, there in pairs if here != there]
        if different:
            problems.append(f"{other.annotator} has another version of {other.run}: {', '.join(different)}")
    return problems

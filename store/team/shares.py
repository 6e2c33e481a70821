"""Queues of a team, and what each member reviews."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from fcreview.store.queues.create import MergedQueue, merge_queue
from fcreview.store.queues.queue_file import QueueError, QueueFile, format_queue, parse_queue

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.team.server import RunDigest, TeamServer
    from fcreview.store.workspace import Workspace

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
    """Describe each run of which another member has other golden answers or predictions than the user."""
    mine = {run: digests for run, *digests in own}
    problems = []
    for other in others:
        digests = mine.get(other.run)
        if other.annotator == annotator or digests is None:
            continue
        different = [
            name
            for name, here, there in zip(
                ("number of items", "golden answers", "predictions"),
                digests,
                (other.n_items, other.golden, other.predictions),
                strict=True,
            )
            if here != there
        ]
        if different:
            problems.append(f"{other.annotator} has another version of {other.run}: {', '.join(different)}")
    return problems

"""Write reviews of three annotators to a workspace. Each annotator reviews every item; 5 % of the
reviews are of calls.

Usage: python benchmarks/reviewed.py WORKSPACE EVENTS      (WORKSPACE is the folder that contains .fcreview)
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from fcreview.model.review import Event, ItemKey
from fcreview.store.reviews.journal import Journal
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace, find_workspace

ANNOTATORS = ("alice", "bob", "carol")


def write_reviews(workspace: Workspace, events: int) -> None:
    """Write about `events` events on the first items. Annotators disagree on about a quarter of the
    items and retract some reviews.
    """
    with Store.open(workspace) as store:
        rows = store.connection.execute(
            "SELECT benchmark, generation, language, model, category, id, prediction_hash,"
            " golden_hash"
            " FROM items ORDER BY item LIMIT ?",
            [events // len(ANNOTATORS)],
        ).fetchall()
    chance = random.Random(7)
    for annotator in ANNOTATORS:
        journal = Journal(workspace, annotator)
        drawn = [
            Event(
                event=f"{chance.getrandbits(128):032x}",
                time=f"2026-01-{1 + n % 28:02d}T{n // 28 % 24:02d}:00:00.000Z",
                annotator=annotator,
                key=ItemKey(*key),
                prediction_hash=prediction,
                golden_hash=golden,
                target="turn:0/call:0" if n % 20 == 0 else "item",
                verdict=chance.random() > 0.1,
                tags=["format"] if n % 7 == 0 else None,
                note="the warehouse is optional" if n % 11 == 0 else None,
                blind=True,
            )
            for n, (*key, prediction, golden) in enumerate(rows)
        ]
        for event in journal.extend(drawn)[::500]:
            journal.retract(event)


if __name__ == "__main__":
    write_reviews(find_workspace(Path(sys.argv[1])), int(sys.argv[2]))

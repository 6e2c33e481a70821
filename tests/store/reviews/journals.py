"""Journals with a few events, and the ids of their events."""

from __future__ import annotations

from pathlib import Path

from fcreview.model.review import Annotation, ItemKey
from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.journal_reader import read_events_and_warnings
from fcreview.store.workspace import Workspace


def make_key(name: str = "simple_0") -> ItemKey:
    return ItemKey(
        benchmark="bfcl",
        generation="V4",
        language="en",
        model="maple-8b",
        category="simple",
        id=name,
    )


def fill_journal(workspace: Workspace, annotator: str = "alice", count: int = 3) -> Path:
    journal = Journal(workspace, annotator)
    for number in range(count):
        journal.append(
            make_key(f"simple_{number}"),
            Annotation(verdict=number % 2 == 0, note="städtisch – 東京"),
        )
    return journal.path


def read_ids(workspace: Workspace) -> list[str]:
    return [event.key[5] for event in read_events_and_warnings(workspace)[0]]

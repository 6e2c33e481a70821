from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fcreview.exporters.base import EXPORTERS
from fcreview.model.review import Annotation
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.store import Store
from tests.exporters.export_fixtures import DIALOGUES, NOTE, QUESTIONS, ROWS
from tests.scores.conftest import open_runs
from tests.store.factory import Imported

__all__ = ["open_runs"]


@pytest.fixture
def store(tmp_path: Path, imported: Imported) -> Iterator[Store]:
    """A store with one run of four items, of which two annotators reviewed three."""
    workspace = imported(tmp_path / "runs", {"maple-8b": ROWS})
    with Store.open(workspace, "alice") as opened:
        alice, bob = (Reviewer(opened, Journal(workspace, name)) for name in ("alice", "bob"))
        first, second, third, _ = (opened.find_items(str(row["id"]))[0] for row in ROWS)
        alice.review(first, Annotation(verdict=True, fault="golden", tags=["=1+1", "b"], note=NOTE))
        alice.review(third, Annotation(verdict=False, target="turn:1/call:1/arg:city"))
        alice.review(second, Annotation(verdict=True))
        bob.review(second, Annotation(verdict=False))
        yield opened


@pytest.fixture
def two_runs(tmp_path: Path, imported: Imported) -> Iterator[Store]:
    """A store with the same items of two models, and a note on one item."""
    workspace = imported(tmp_path / "runs", {"maple-8b": ROWS, "birch-3b": ROWS})
    with Store.open(workspace, "alice") as opened:
        Reviewer(opened, Journal(workspace, "alice")).review(
            opened.find_items("-1")[0], Annotation(verdict=True, note=NOTE)
        )
        yield opened


@pytest.fixture
def formats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the test formats."""
    for each in (DIALOGUES, QUESTIONS):
        monkeypatch.setitem(EXPORTERS, each.name, each)

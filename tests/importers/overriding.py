"""Review items of a run in a store and compare the corrected figures."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from fcreview.importers.registry import compute_metrics
from fcreview.model.effective_verdict import select_automatic_verdict
from fcreview.model.metric import MetricSource
from fcreview.model.review import Annotation, Event
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal, hash_and_serialize_event
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from tests.sharing import Imports

Figures = dict[tuple[str, str], float | None]
"""Value by (table, name)."""
QUESTIONS = """
SELECT i.item, v.target, v.criterion, v.source, CAST(v."value" AS VARCHAR)
FROM items i JOIN verdicts v USING (item) WHERE i.run = {run} AND v."value" IS NOT NULL
"""


class ReviewedRun:
    """One run of a store and its annotator."""

    def __init__(self, store: Store, workspace: Workspace, annotator: str) -> None:
        self.store, self.workspace = store, workspace
        (self.row,) = store.fetch_runs()
        self.journal = Journal(workspace, annotator)
        self.reviewer = Reviewer(store, self.journal)

    def review(
        self,
        name: str,
        verdict: Any,
        target: str = "item",
        criterion: str = "correct",
        who: str = "",
    ) -> None:
        (item,) = self.store.find_items(name)
        reviewer = Reviewer(self.store, Journal(self.workspace, who)) if who else self.reviewer
        reviewer.review(item, Annotation(target=target, criterion=criterion, verdict=verdict))

    def read_figures(self, source: MetricSource = "corrected") -> Figures:
        found = compute_metrics(
            self.store.analysis.fetch_scored_items(self.row.run)[source], self.row.info
        )
        values = {(each.table, each.name): each.value for each in found}
        assert len(values) == len(found), "two figures of a table have the same name"
        return values

    def changed_figures(self, before: Figures) -> Figures:
        """Return the figures that changed, with their new values."""
        after = self.read_figures()
        return {
            key: after.get(key) for key in {**before, **after} if before.get(key) != after.get(key)
        }

    def confirm(self, seed: int, share: float) -> int:
        """Replace the journal by confirmations of a random share of the automatic verdicts.

        Returns their number.
        """
        automatic: dict[tuple[int, str, str], dict[Any, Any]] = {}
        _, rows = self.store.run_sql(QUESTIONS.format(run=self.row.run))
        for item, target, criterion, source, value in rows:
            automatic.setdefault((item, target, criterion), {})[source] = _json(value)
        keys = {
            item: self.store.reviews.fetch_key_and_hashes(item)
            for item in {item for item, _, _ in automatic}
        }
        draw, previous, lines = random.Random(seed), "", []
        for number, ((item, target, criterion), values) in enumerate(automatic.items()):
            value = select_automatic_verdict(values)
            if value is None or draw.random() >= share:
                continue
            key, prediction_hash, golden_hash = keys[item]
            event = Event(
                event=f"{seed:08x}{number:024x}",
                time="2026-01-01T00:00:00.000Z",
                annotator=self.journal.annotator,
                key=key,
                prediction_hash=prediction_hash,
                golden_hash=golden_hash,
                target=target,
                criterion=criterion,
                verdict=value,
            )
            sealed, line = hash_and_serialize_event(event, previous)
            previous = sealed.hash
            lines.append(line)
        # one write, because thousands of single reviews are slow
        self.journal.path.write_bytes(b"".join(lines))
        self.store.refresh_reviews()
        assert self.store.reviews.warnings == []
        return len(lines)

    def human_verdict(self, name: str) -> Any:
        """Return the human verdict of the item."""
        (item,) = self.store.find_items(name)
        row = self.store.fetch_row(item)
        return None if row is None else row.human


def _json(text: Any) -> Any:
    return orjson.loads(text) if isinstance(text, str) else text


@contextmanager
def open_reviewed_run(
    imports: Imports, path: Path, folder: Path, annotator: str = "ann"
) -> Iterator[ReviewedRun]:
    """Open the only run at `path` in a workspace in `folder`."""
    workspace = imports.copy([path], folder)
    with Store.open(workspace, annotator) as store:
        yield ReviewedRun(store, workspace, annotator)

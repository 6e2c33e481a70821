"""Metrics of imported runs after any reviews.

Review events are written directly to the review tables, so that thousands of them are fast.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from fcreview.cli.report_data import ScoredRun as RunPart
from fcreview.cli.report_data import compute_combined_metrics, compute_run_metrics, load_scored_runs
from fcreview.exporters.report_summary import MetricRow
from fcreview.model.effective_verdict import SCORING_ORDER
from fcreview.model.metric import MetricKey, MetricSource
from fcreview.model.review import ITEM_CORRECT, Event, ItemKey
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace

Values = dict[tuple[int | None, MetricSource, MetricKey], float | None]
"""Values by run (None: several runs combined), source and metric."""


@dataclass(frozen=True)
class ItemVerdict:
    """A verdict on one target of an item."""

    item: int
    target: str
    criterion: str
    value: Any


class ReviewedRuns:
    def __init__(self, workspace: Workspace) -> None:
        self.store = Store.open(workspace, "ann")
        self.events = 0

    def close(self) -> None:
        self.store.close()

    def automatic_verdicts(self) -> list[ItemVerdict]:
        """Return the automatic verdict that counts of each target, in the order of items."""
        rows = self.store.run_sql(
            "SELECT item, CAST(official AS VARCHAR), CAST(rule AS VARCHAR), CAST(judge AS VARCHAR)"
            " FROM items ORDER BY item"
        )[1]
        found = []
        for item, *own in rows:
            value = next((one for one in own if one is not None), None)
            if value is not None:
                found.append(ItemVerdict(item, *ITEM_CORRECT, value == "true"))
        counts: dict[tuple[int, str, str], dict[str, Any]] = {}
        for item, source, target, criterion, text in self.store.run_sql(
            "SELECT item, source, target, criterion, CAST(value AS VARCHAR) FROM verdicts ORDER BY"
            " item"
        )[1]:
            value = None if text is None else orjson.loads(text)
            if (
                (target, criterion) != ITEM_CORRECT
                and value is not None
                and not isinstance(value, dict)
            ):
                counts.setdefault((item, target, criterion), {})[source] = value
        for (item, target, criterion), by in counts.items():
            found.append(
                ItemVerdict(
                    item,
                    target,
                    criterion,
                    next(by[source] for source in SCORING_ORDER if source in by),
                )
            )
        return found

    def make_events(self, verdicts: Iterable[ItemVerdict], annotator: str = "ann") -> list[Event]:
        """Return the events of one annotator who records these verdicts."""
        events = []
        for one in verdicts:
            key, prediction_hash, golden_hash = self._references[one.item]
            self.events += 1
            events.append(
                Event(
                    event=f"e{self.events}",
                    time=f"2026-01-01T00:{self.events:09d}Z",
                    annotator=annotator,
                    key=key,
                    target=one.target,
                    criterion=one.criterion,
                    verdict=one.value,
                    prediction_hash=prediction_hash,
                    golden_hash=golden_hash,
                )
            )
        return events

    @cached_property
    def _references(self) -> dict[int, tuple[ItemKey, str, str]]:
        """Like `ReviewTables.reference`, for all items in one query."""
        columns = ("item", *ItemKey._fields, "prediction_hash", "golden_hash")
        rows = self.store.run_sql(f"SELECT {', '.join(columns)} FROM items")[1]
        return {
            item: (ItemKey(*key), prediction or "", golden or "")
            for item, *key, prediction, golden in rows
        }

    def compute_metrics(self, *events: Event) -> Values:
        """Compute every metric as if the journals contained exactly these events."""
        self.store.reviews.rebuild(events)
        values: Values = {}
        groups: dict[tuple[str, str, str], list[RunPart]] = {}
        for part in load_scored_runs(self.store.analysis, self.store.fetch_runs()):
            row = part.row
            groups.setdefault((row.info.benchmark, row.info.generation, row.info.model), []).append(
                part
            )
            for line in compute_run_metrics(part.items, row.info):
                for source, value in line.values.items():
                    values[row.run, source, (line.table, line.level, line.name)] = value
        for parts in groups.values():
            for line in compute_combined_metrics(parts):
                for source, value in line.values.items():
                    values[None, source, (line.table, line.level, line.name)] = value
        return values

    def compute_rows(self) -> list[MetricRow]:
        """Compute the rows of the report on the only run, with the present reviews."""
        (part,) = load_scored_runs(self.store.analysis, self.store.fetch_runs())
        return compute_run_metrics(part.items, part.row.info)

    def find_item(self, name: str, run: int | None = None) -> int:
        (found,) = self.store.find_items(name, run)
        return found


def find_changes(
    before: Values, after: Values
) -> dict[tuple[MetricSource, MetricKey], tuple[float | None, float | None]]:
    """Return the values before and after of each metric that differs in any run."""
    return {
        (source, key): (before.get((run, source, key)), after.get((run, source, key)))
        for run, source, key in before.keys() | after.keys()
        if before.get((run, source, key)) != after.get((run, source, key))
    }

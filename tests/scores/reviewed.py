"""A workspace imported once, and its figures after any reviews: people's events go straight into the review tables, so
that thousands of them cost little."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from fcreview.cli.report_data import ScoredRun as RunPart
from fcreview.cli.report_data import compute_combined_metrics, compute_run_metrics, load_scored_runs
from fcreview.model.metric import MetricKey, MetricSource
from fcreview.model.review import ITEM_CORRECT, Event, ItemKey
from fcreview.model.verdict import SCORING_ORDER
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace

Values = dict[tuple[int | None, MetricSource, MetricKey], float | None]
"""Of every run (None: of several together), source and figure."""


@dataclass(frozen=True)
class Said:
    """An automatic verdict that counts."""

    item: int
    target: str
    criterion: str
    value: Any


class Reviewed:
    """Runs and what people say of them."""

    def __init__(self, workspace: Workspace) -> None:
        self.store = Store.open(workspace, "ann")
        self.events = 0

    def close(self) -> None:
        self.store.close()

    def automatic(self) -> list[Said]:
        """Every automatic verdict that counts, in the order of items."""
        rows = self.store.run_sql(
            "SELECT item, CAST(official AS VARCHAR), CAST(rule AS VARCHAR), CAST(judge AS VARCHAR)"
            " FROM items ORDER BY item"
        )[1]
        found = []
        for item, *own in rows:
            value = next((one for one in own if one is not None), None)
            if value is not None:
                found.append(Said(item, *ITEM_CORRECT, value == "true"))
        counts: dict[tuple[int, str, str], dict[str, Any]] = {}
        for item, source, target, criterion, text in self.store.run_sql(
            "SELECT item, source, target, criterion, CAST(value AS VARCHAR) FROM verdicts ORDER BY item"
        )[1]:
            value = None if text is None else orjson.loads(text)
            if (target, criterion) != ITEM_CORRECT and value is not None and not isinstance(value, dict):
                counts.setdefault((item, target, criterion), {})[source] = value
        for (item, target, criterion), by in counts.items():
            found.append(Said(item, target, criterion, next(by[source] for source in SCORING_ORDER if source in by)))
        return found

    def says(self, said: Iterable[Said], who: str = "ann") -> list[Event]:
        """Events of one annotator."""
        made = []
        for one in said:
            key, prediction_hash, golden_hash = self._references[one.item]
            self.events += 1
            made.append(
                Event(
                    event=f"e{self.events}", time=f"2026-01-01T00:{self.events:09d}Z", annotator=who, key=key,
                    target=one.target, criterion=one.criterion, verdict=one.value,
                    prediction_hash=prediction_hash, golden_hash=golden_hash,
                )
            )  # fmt: skip
        return made

    @cached_property
    def _references(self) -> dict[int, tuple[ItemKey, str, str]]:
        """As `ReviewTables.reference` gives them one by one."""
        columns = ("item", *ItemKey._fields, "prediction_hash", "golden_hash")
        rows = self.store.run_sql(f"SELECT {', '.join(columns)} FROM items")[1]
        return {item: (ItemKey(*key), prediction or "", golden or "") for item, *key, prediction, golden in rows}

    def figures(self, *events: Event) -> Values:
        """Every figure if these events, and no others, were in the journals."""
        self.store.reviews.rebuild(events)
        values: Values = {}
        groups: dict[tuple[str, str, str], list[RunPart]] = {}
        for part in load_scored_runs(self.store.analysis, self.store.fetch_runs()):
            row = part.row
            groups.setdefault((row.info.benchmark, row.info.generation, row.info.model), []).append(part)
            for line in compute_run_metrics(part.items, row.info):
                for source, value in line.values.items():
                    values[row.run, source, (line.table, line.level, line.name)] = value
        for parts in groups.values():
            for line in compute_combined_metrics(parts):
                for source, value in line.values.items():
                    values[None, source, (line.table, line.level, line.name)] = value
        return values

    def item(self, name: str, run: int | None = None) -> int:
        (found,) = self.store.find_items(name, run)
        return found


def changed(before: Values, after: Values) -> dict[tuple[MetricSource, MetricKey], tuple[float | None, float | None]]:
    """What differs, of whichever run."""
    return {
        (source, key): (before.get((run, source, key)), after.get((run, source, key)))
        for run, source, key in before.keys() | after.keys()
        if before.get((run, source, key)) != after.get((run, source, key))
    }

"""Read runs in tests, and turn their items into scored items."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item
from fcreview.model.metric import ScoredItem
from fcreview.run_plan import RunPlan

Json = dict[str, Any]


def find_only_plan(folder: Path, format_name: str, **options: str) -> RunPlan:
    """Return the plan of a folder with one run."""
    (plan,) = discover([folder], format=format_name).plans
    plan.options.update(options)  # type: ignore[call-overload]
    return plan


def read_run(plan: RunPlan) -> tuple[list[Item], list[ImportIssue]]:
    """Return the items of a run, and the issues of the items and of the files."""
    return read_runs([plan])


def read_runs(plans: Iterable[RunPlan]) -> tuple[list[Item], list[ImportIssue]]:
    items: list[Item] = []
    issues: list[ImportIssue] = []
    for plan in plans:
        for record in read_items(plan):
            if isinstance(record, Item):
                items.append(record)
                issues += record.issues
            elif isinstance(record, ImportIssue):
                issues.append(record)
    return items, issues


def score_item(item: Item, **fields: Any) -> ScoredItem:
    """Return an item with its official verdicts, and with other values in some fields."""
    values = {
        verdict.criterion: verdict.value
        for verdict in item.verdicts
        if verdict.source == "official" and verdict.target == "item"
    }
    return ScoredItem(
        item.id,
        item.category,
        item.group,
        fields.pop("valid", item.official),
        values=values,
        metadata=item.extra.metadata,
        **{"is_incident": item.has_incident} | fields,
    )


def read_rows(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write_rows(path: Path, rows: Sequence[Json]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))

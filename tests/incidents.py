"""Runs with incidents, flags and missing items, for tests of the surfaces that show them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fcreview.importers.registry import discover, read_items
from fcreview.model.incident import Incident
from fcreview.model.item import Item, MissingItem, ReadRecord, RunFact
from fcreview.run_plan import RunPlan
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.workspace import Workspace, find_workspace

RATE_LIMIT = Incident(
    "rate_limit", "Error during inference: 429 Too Many Requests", "result", "rule"
)
TIMEOUT = Incident("timeout", "Request timed out.", "info.error", "marked")
LIMIT = Incident("limit", "30 steps", "termination_reason", "marked")
EMPTY = Incident("empty_reply", "", "result", "weak")
CALL = {"function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}
GOLDEN = [{"name": "get_weather", "arguments": {"city": "Oslo"}}]
ChangeItem = Callable[[Item], None]


def generic_record(
    item_id: str, *, passes: bool, category: str = "weather", **fields: Any
) -> dict[str, Any]:
    """Return a record of the generic format with an official verdict. No reply is empty."""
    reply = {"content": "", "tool_calls": [CALL]} if passes else {"content": "I do not know."}
    return {
        "id": item_id,
        "category": category,
        "messages": [
            {"role": "user", "content": f"What is the weather? ({item_id})"},
            {"role": "assistant", **reply},
        ],
        "golden": GOLDEN,
        "verdicts": [
            {"source": "official", "value": passes, "error_type": None if passes else "no_call"}
        ],
        **fields,
    }


def write_generic_run(
    folder: Path, records: Sequence[dict[str, Any]], model: str = "maple"
) -> Path:
    """Write a run in the generic format, and return its file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{model}.jsonl"
    header = {"fcreview": 1, "benchmark": "weather-bench", "model": model}
    path.write_text("".join(json.dumps(line) + "\n" for line in [header, *records]))
    return path


def import_changed(
    folder: Path, change: ChangeItem, not_run: Sequence[MissingItem] = ()
) -> Workspace:
    """Import the runs of a folder.

    `change` changes each item, and `not_run` are the items that every run lacks.
    """

    def read_changed(plan: RunPlan) -> Iterator[ReadRecord]:
        n_items = 0
        for record in read_items(plan):
            if isinstance(record, Item):
                change(record)
                n_items += 1
            yield record
        yield from not_run
        if not_run:
            yield RunFact("expected_items", n_items + len(not_run))

    workspace = find_workspace(folder, folder)
    import_runs(workspace, discover([folder]).plans, read_changed, n_workers=1)
    return workspace


def set_incidents(incidents: dict[str, Incident]) -> ChangeItem:
    """Return a function for `import_changed` that sets the incident of each listed item."""

    def change(item: Item) -> None:
        item.set_incident(incidents.get(item.id))

    return change

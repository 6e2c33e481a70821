"""Results of imports, and plans of runs that exist already."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fcreview.model.item import ImportIssue, Item, Run
from fcreview.run_plan import RunPlan
from fcreview.store.store import Store, View
from fcreview.store.workspace import Workspace


def list_statuses(summary: Any) -> dict[str, str]:
    return {run["model"]: run["status"] for run in summary.runs}


def read_ids(workspace: Workspace) -> list[str]:
    with Store.open(workspace) as store:
        return [f"{row.model}/{row.id}" for row in store.fetch_page(View(queue="dataset"), 0, 1000)]


def fail_if_read(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    raise AssertionError(f"{plan.run.model} was read")


def write_plan(place: Path, model: str) -> RunPlan:
    """Return the plan of a run that exists already."""
    return RunPlan(
        Run("bfcl", "V4", "en", model, str(place / model)), [place / model / "results.jsonl"]
    )

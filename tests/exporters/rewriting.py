"""Export reviewed runs in the native format, import the result and compare the metrics of both."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.cli.report_data import compute_run_metrics
from fcreview.exporters.base import BenchmarkServices
from fcreview.exporters.export import export
from fcreview.importers.registry import (
    discover,
    explain_golden_fix_rejection,
    find_summary_files,
    parse_golden_fix,
    rewrite_golden,
    rewrite_scores,
    write_reviewed_logs,
)
from fcreview.model.item import Run
from fcreview.model.review import Event
from fcreview.run_plan import RunPlan
from fcreview.store.store import Store
from tests.scores.reviewed_runs import ItemVerdict, ReviewedRuns
from tests.sharing import Imports

RunName = tuple[str, str, str, str]
Key = tuple[RunName, str, int, str]
"""Run, table, level and name of a metric."""
Metrics = dict[Key, float | None]


def run_name(run: Run) -> RunName:
    return run.benchmark, run.generation, run.language, run.model


@dataclass
class ExportServices:
    """Benchmark services for the runs at some paths, with the messages of the export."""

    paths: Sequence[Path]
    messages: list[str] = field(default_factory=list)

    def benchmarks(self) -> BenchmarkServices:
        plans = {(run_name(plan.run), plan.run.path): plan for plan in discover(self.paths).plans}

        def plan(run: Run) -> RunPlan:
            return plans[run_name(run), run.path]

        return BenchmarkServices(
            plan,
            rewrite_scores,
            find_summary_files,
            explain_golden_fix_rejection,
            rewrite_golden,
            self.messages.append,
            write_reviewed_logs,
            parse_golden_fix,
        )


def export_native(
    reviewed: ReviewedRuns, events: Iterable[Event], paths: Sequence[Path], out: Path
) -> list[str]:
    """Export the runs with these review events, and return the messages."""
    reviewed.store.reviews.rebuild(list(events))
    services = ExportServices(paths)
    export(reviewed.store, "native", out, benchmarks=services.benchmarks())
    return services.messages


def compute_metrics(store: Store) -> tuple[Metrics, Metrics]:
    """Return the official and the corrected metrics of all runs."""
    official, corrected = Metrics(), Metrics()
    for row in store.fetch_runs():
        for line in compute_run_metrics(store.analysis.fetch_scored_items(row.run), row.info):
            key = (run_name(row.info), line.table, line.level, line.name)
            official[key], corrected[key] = (
                line.values.get("official"),
                line.values.get("corrected"),
            )
    return official, corrected


def import_metrics(imports: Imports, out: Path) -> tuple[Metrics, Metrics]:
    """Import the written runs and return their metrics."""
    with Store.open(imports.of([out])) as store:
        return compute_metrics(store)


def find_official_keys(reviewed: ReviewedRuns) -> set[Key]:
    """Remove all reviews, and return the keys of metrics that depend only on official verdicts."""
    reviewed.store.reviews.rebuild([])
    official, corrected = compute_metrics(reviewed.store)
    return {
        key
        for key, value in official.items()
        if value is not None and is_close(value, corrected.get(key))
    }


def find_differences(one: Metrics, other: Metrics) -> dict[Key, Any]:
    """Return the metrics that differ by more than rounding errors."""
    keys = one.keys() | other.keys()
    return {
        key: (one.get(key), other.get(key))
        for key in keys
        if not is_close(one.get(key), other.get(key))
    }


def find_wrong_metrics(
    reviewed: ReviewedRuns, known: set[Key], imports: Imports, out: Path
) -> dict[Key, Any]:
    """Compare the written runs with the corrected metrics of the reviewed runs, and return the
    differences.

    All corrected metrics must be equal, and the official metrics in `known` too.
    """
    _, corrected = compute_metrics(reviewed.store)
    official, read_again = import_metrics(imports, out)
    found = find_differences(corrected, read_again)
    return found | {
        key: (corrected[key], official.get(key))
        for key in known & corrected.keys()
        if not is_close(corrected[key], official.get(key))
    }


def is_close(one: float | None, other: float | None) -> bool:
    return one == other if one is None or other is None else abs(one - other) < 1e-9


def contradict(verdict: ItemVerdict) -> ItemVerdict | None:
    """Return a different verdict on the same target, or None if the criterion has no other
    value.
    """
    value = verdict.value
    if isinstance(value, bool):
        value = not value
    elif isinstance(value, int) and verdict.criterion in ("completeness", "correctness"):
        value = (value + 1) % 3
    elif isinstance(value, float):
        value = round(1 - value, 4)
    elif verdict.criterion == "dialog_act":
        value = ["agent_reject_request"] if value != ["agent_reject_request"] else ["agent_other"]
    else:
        return None
    return ItemVerdict(verdict.item, verdict.target, verdict.criterion, value)


def contradict_some(
    reviewed: ReviewedRuns, questions: Sequence[tuple[str, str]], share: float, seed: int = 1
) -> list[Event]:
    """Return events that contradict a share of the automatic verdicts with these target kinds
    and criteria.
    """
    dice = random.Random(seed)
    rows = reviewed.store.run_sql(
        "SELECT item FROM items WHERE official IS NOT NULL OR benchmark <> 'complexfuncbench'"
    )[1]
    known = {item for (item,) in rows}  # A sample with only a log has no result record.
    verdicts = [
        each
        for each in reviewed.automatic_verdicts()
        if (target_kind(each.target), each.criterion) in questions
    ]
    verdicts = [each for each in verdicts if each.item in known]
    overrides = [contradict(each) for each in verdicts if dice.random() < share]
    return reviewed.make_events([each for each in overrides if each is not None])


def target_kind(target: str) -> str:
    """Return the kind of a target, such as `call` for `turn:1/call:2`."""
    return (
        "argument"
        if "/arg:" in target
        else "call"
        if "/call:" in target
        else target.partition(":")[0]
    )

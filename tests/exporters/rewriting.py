"""Runs written by what people say and read again: figures of both, by run."""

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
    find_golden_fix_problem,
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

Named = tuple[str, str, str, str]
Key = tuple[Named, str, int, str]
"""(run, table, level, name)"""
Figures = dict[Key, float | None]


def named(run: Run) -> Named:
    return run.benchmark, run.generation, run.language, run.model


@dataclass
class Lent:
    """What the command line lends, of the runs at some paths."""

    paths: Sequence[Path]
    told: list[str] = field(default_factory=list)

    def benchmarks(self) -> BenchmarkServices:
        plans = {(named(plan.run), plan.run.path): plan for plan in discover(self.paths).plans}

        def plan(run: Run) -> RunPlan:
            return plans[named(run), run.path]

        return BenchmarkServices(
            plan,
            rewrite_scores,
            find_summary_files,
            find_golden_fix_problem,
            rewrite_golden,
            self.told.append,
            write_reviewed_logs,
            parse_golden_fix,
        )


def written(reviewed: ReviewedRuns, events: Iterable[Event], paths: Sequence[Path], out: Path) -> list[str]:
    """Writes the runs after these events; what was told."""
    reviewed.store.reviews.rebuild(list(events))
    lent = Lent(paths)
    export(reviewed.store, "native", out, benchmarks=lent.benchmarks())
    return lent.told


def figures(store: Store) -> tuple[Figures, Figures]:
    """Every official and every corrected figure of every run."""
    official, corrected = Figures(), Figures()
    for row in store.fetch_runs():
        for line in compute_run_metrics(store.analysis.fetch_scored_items(row.run), row.info):
            key = (named(row.info), line.table, line.level, line.name)
            official[key], corrected[key] = line.values.get("official"), line.values.get("corrected")
    return official, corrected


def reimported(imports: Imports, out: Path) -> tuple[Figures, Figures]:
    """The figures of what was written."""
    with Store.open(imports.of([out])) as store:
        return figures(store)


def official_keys(reviewed: ReviewedRuns) -> set[Key]:
    """Figures whose every verdict is official: without reviews they are corrected as they are. Forgets the reviews."""
    reviewed.store.reviews.rebuild([])
    official, corrected = figures(reviewed.store)
    return {key for key, value in official.items() if value is not None and close(value, corrected.get(key))}


def differing(one: Figures, other: Figures) -> dict[Key, Any]:
    """Figures that differ by more than the last bits."""
    keys = one.keys() | other.keys()
    return {key: (one.get(key), other.get(key)) for key in keys if not close(one.get(key), other.get(key))}


def wrong(reviewed: ReviewedRuns, known: set[Key], imports: Imports, out: Path) -> dict[Key, Any]:
    """Where the figures of what was written are not the corrected ones of what people said: all of them as corrected
    figures, those of `known` as official ones."""
    _, corrected = figures(reviewed.store)
    official, read_again = reimported(imports, out)
    found = differing(corrected, read_again)
    return found | {key: (corrected[key], official.get(key)) for key in known & corrected.keys()
                    if not close(corrected[key], official.get(key))}  # fmt: skip


def close(one: float | None, other: float | None) -> bool:
    return one == other if one is None or other is None else abs(one - other) < 1e-9


def opposite(said: ItemVerdict) -> ItemVerdict | None:
    """Another answer to the same question; None for one that has none."""
    value = said.value
    if isinstance(value, bool):
        value = not value
    elif isinstance(value, int) and said.criterion in ("completeness", "correctness"):
        value = (value + 1) % 3
    elif isinstance(value, float):
        value = round(1 - value, 4)
    elif said.criterion == "dialog_act":
        value = ["agent_reject_request"] if value != ["agent_reject_request"] else ["agent_other"]
    else:
        return None
    return ItemVerdict(said.item, said.target, said.criterion, value)


def some(reviewed: ReviewedRuns, questions: Sequence[tuple[str, str]], share: float, seed: int = 1) -> list[Event]:
    """The opposite of a share of the automatic verdicts on these (kind of target, criterion)."""
    dice = random.Random(seed)
    rows = reviewed.store.run_sql(
        "SELECT item FROM items WHERE official IS NOT NULL OR benchmark <> 'complexfuncbench'"
    )[1]
    known = {item for (item,) in rows}  # of a sample that has a log only, there is no record to write in
    asked = [each for each in reviewed.automatic_verdicts() if (kind(each.target), each.criterion) in questions]
    asked = [each for each in asked if each.item in known]
    turned = [opposite(each) for each in asked if dice.random() < share]
    return reviewed.make_events([each for each in turned if each is not None])


def kind(target: str) -> str:
    """`call` of `turn:1/call:2`."""
    return "argument" if "/arg:" in target else "call" if "/call:" in target else target.partition(":")[0]

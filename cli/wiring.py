"""Functions of the importers that exporters and screens get passed, because they may not import them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.cli.config import load_config
from fcreview.cli.errors import CommandError
from fcreview.cli.output import note
from fcreview.cli.workspace import WorkspaceOptions, discover_runs

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.exporters.base import BenchmarkServices
    from fcreview.model.item import Item, Run
    from fcreview.run_plan import RunPlan
    from fcreview.store.store import Store
    from fcreview.tui.exports import ReportServices
    from fcreview.tui.session import GoldenSupport

RunId = tuple[str, str, str, str, str]
"""Benchmark, generation, language, model and path of a run."""


def benchmark_services(options: WorkspaceOptions) -> BenchmarkServices:
    """Access to runs and their files, for exporters. Files are searched for on first use."""
    from fcreview.exporters.base import BenchmarkServices
    from fcreview.importers import registry

    @cache
    def plans() -> dict[RunId, RunPlan]:
        return {_run_id(plan.run): plan for plan in discover_runs(options, load_config()).plans}

    def plan(run: Run) -> RunPlan:
        found = plans().get(_run_id(run))
        if found is None:
            raise CommandError(f"files of {run.full_title}, {run.model} not found at {run.path}")
        return found

    return BenchmarkServices(
        plan, registry.rewrite_scores, registry.find_summary_files, registry.check_golden_fix, registry.rewrite_golden, note
    )


def golden_services() -> GoldenSupport:
    """Golden answer functions, for screens. Importers are loaded on first use."""
    from fcreview.tui.session import GoldenSupport

    def draft(run: Run, item: Item) -> dict[str, Any] | None:
        from fcreview.importers.registry import make_golden_template

        return make_golden_template(run, item)

    def problem(run: Run, item: Item, fix: dict[str, Any]) -> str | None:
        from fcreview.importers.registry import check_golden_fix

        return check_golden_fix(run, item, fix)

    def regraded(run: Run, item: Item, fix: dict[str, Any], record: Any) -> bool | None:
        from fcreview.importers import registry

        return registry.recheck(run, item, fix, record)

    return GoldenSupport(draft, problem, regraded)


def screen_services(session: WorkspaceSession) -> ReportServices:
    """Reports and exports, for the command palette. The screens pass their own store."""
    from fcreview.tui.exports import ReportServices

    def report(store: Store, runs: Sequence[int], stopped: Callable[[], bool]) -> str:
        from fcreview.cli.report_data import report_text

        return report_text(replace(session, scope=tuple(runs), _store=store, _runs=[]), stopped)

    def benchmarks(tell: Callable[[str], None]) -> BenchmarkServices:
        return replace(benchmark_services(session.options or WorkspaceOptions([session.workspace.parent_folder])), print_message=tell)

    return ReportServices(report, benchmarks)


def print_lost_datasets(out: Path) -> None:
    """Print which runs written to `out` would open without their dataset."""
    for plan in discover_runs(WorkspaceOptions([out]), load_config()).plans:
        if plan.run.needs_dataset and not plan.data:
            note(f"{plan.run.full_title}, {plan.run.model}: its dataset is not found from there; open it with --data DIR")


def _run_id(run: Run) -> RunId:
    return run.benchmark, run.generation, run.language, run.model, os.path.realpath(run.path)

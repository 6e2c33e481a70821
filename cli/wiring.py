"""Pass functions of importers to exporters and screens, which must not import the importers themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.cli.config import load_config
from fcreview.cli.errors import CommandError
from fcreview.cli.output import print_message
from fcreview.cli.workspace import WorkspaceOptions, discover_runs

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.exporters.base import BenchmarkServices
    from fcreview.model.item import Item, Run
    from fcreview.run_plan import RunPlan
    from fcreview.stats.conventions import RunConventions
    from fcreview.store.store import Store
    from fcreview.tui.exports import ReportServices
    from fcreview.tui.session import GoldenSupport

RunId = tuple[str, str, str, str, str]
"""Benchmark, version, language, model and resolved path of a run."""


def build_benchmark_services(options: WorkspaceOptions) -> BenchmarkServices:
    """Create the functions that exporters use to find and rewrite files of runs. Files are searched on first use."""
    from fcreview.exporters.base import BenchmarkServices
    from fcreview.importers import registry

    @cache
    def find_plans() -> dict[RunId, RunPlan]:
        return {_run_id(plan.run): plan for plan in discover_runs(options, load_config()).plans}

    def find_plan(run: Run) -> RunPlan:
        plan = find_plans().get(_run_id(run))
        if plan is None:
            raise CommandError(
                f"no result files of {run.full_title}, {run.model} at {run.path}. Restore them or run fcreview import"
            )
        return plan

    return BenchmarkServices(
        find_plan,
        registry.rewrite_scores,
        registry.find_summary_files,
        registry.find_golden_fix_problem,
        registry.rewrite_golden,
        print_message,
        registry.write_reviewed_logs,
        registry.parse_golden_fix,
    )


def build_golden_services() -> GoldenSupport:
    """Create the functions that screens use to edit golden answers. Importers are loaded on first use."""
    from fcreview.tui.session import GoldenSupport

    def make_template(run: Run, item: Item) -> dict[str, Any] | None:
        from fcreview.importers.registry import make_golden_template

        return make_golden_template(run, item)

    def check_fix(run: Run, item: Item, fix: dict[str, Any]) -> str | None:
        from fcreview.importers.registry import check_golden_fix

        return check_golden_fix(run, item, fix)

    def recompute_verdict(run: Run, item: Item, fix: dict[str, Any], record: Any) -> bool | None:
        from fcreview.importers import registry

        return registry.recheck(run, item, fix, record)

    def is_unchanged(run: Run, item: Item, fix: dict[str, Any]) -> bool:
        from fcreview.importers import registry

        return registry.is_golden_answer(run, item, fix)

    return GoldenSupport(make_template, check_fix, recompute_verdict, is_unchanged)


def build_screen_services(session: WorkspaceSession) -> ReportServices:
    """Create the functions that the command palette uses for reports and exports. They use the screens' store."""
    from fcreview.cli.form_commands import build_command_service
    from fcreview.tui.exports import ReportServices

    def build_report(store: Store, runs: Sequence[int], stopped: Callable[[], bool]) -> str:
        from fcreview.cli.report_data import build_report_text

        return build_report_text(replace(session, scope=tuple(runs), _store=store, _runs=[]), stopped)

    def build_services(tell: Callable[[str], None]) -> BenchmarkServices:
        return replace(
            build_benchmark_services(session.options or WorkspaceOptions([session.workspace.parent_folder])),
            print_message=tell,
        )

    def compare_conventions(store: Store, runs: Sequence[int]) -> list[RunConventions]:
        from fcreview.cli.conventions import compute_run_conventions
        from fcreview.tui.queue.header import label_runs

        rows = store.fetch_runs()
        names = label_runs(rows)  # the same names as on the overview
        return [
            replace(compute_run_conventions(store.analysis, row.run, row.info), name=names[row.run])
            for row in rows
            if not runs or row.run in runs
        ]

    return ReportServices(build_report, build_services, build_command_service(session), compare_conventions)


def print_runs_without_dataset(folder: Path) -> None:
    """Print which runs in the folder have no dataset that fcreview finds without --data."""
    for plan in discover_runs(WorkspaceOptions([folder]), load_config()).plans:
        if plan.run.needs_dataset and not plan.data:
            print_message(
                f"{plan.run.full_title}, {plan.run.model}: no dataset found next to the export. Open it with --data DIR"
            )


def _run_id(run: Run) -> RunId:
    return run.benchmark, run.generation, run.language, run.model, os.path.realpath(run.path)

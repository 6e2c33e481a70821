"""What exporters are lent of the importers: a run's files as they lie on disk, and how they are written back."""

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
from fcreview.cli.workspace import Place, discovered

if TYPE_CHECKING:
    from fcreview.cli.workspace import Opened
    from fcreview.exporters.base import Benchmarks
    from fcreview.model.item import Item, Run
    from fcreview.run_plan import RunPlan
    from fcreview.store.store import Store
    from fcreview.tui.exports import ReportServices
    from fcreview.tui.session import GoldenSupport

Named = tuple[str, str, str, str, str]


def lend(place: Place) -> Benchmarks:
    """Files are looked for when the first run is asked for."""
    from fcreview.exporters.base import Benchmarks
    from fcreview.importers import registry

    @cache
    def plans() -> dict[Named, RunPlan]:
        return {_name(plan.run): plan for plan in discovered(place, load_config()).plans}

    def plan(run: Run) -> RunPlan:
        found = plans().get(_name(run))
        if found is None:
            raise CommandError(f"the files of {run.kind}, {run.model} are no longer at {run.path}")
        return found

    return Benchmarks(
        plan, registry.rewrite, registry.summaries, registry.golden_problem, registry.rewrite_golden, note
    )


def lend_golden() -> GoldenSupport:
    """For the screens. Importers are loaded when the first golden answer is looked at."""
    from fcreview.tui.session import GoldenSupport

    def draft(run: Run, item: Item) -> dict[str, Any] | None:
        from fcreview.importers.registry import golden_template

        return golden_template(run, item)

    def problem(run: Run, item: Item, fix: dict[str, Any]) -> str | None:
        from fcreview.importers.registry import golden_problem

        return golden_problem(run, item, fix)

    def regraded(run: Run, item: Item, fix: dict[str, Any], record: Any) -> bool | None:
        from fcreview.importers import registry

        return registry.regraded(run, item, fix, record)

    return GoldenSupport(draft, problem, regraded)


def lend_screens(session: Opened) -> ReportServices:
    """Return the services of the command palette. The screens have their own store of the workspace."""
    from fcreview.tui.exports import ReportServices

    def report(store: Store, runs: Sequence[int], stopped: Callable[[], bool]) -> str:
        from fcreview.cli.report_data import as_text

        return as_text(replace(session, scope=tuple(runs), _store=store, _runs=[]), stopped)

    def benchmarks(tell: Callable[[str], None]) -> Benchmarks:
        return replace(lend(session.place or Place([session.workspace.place])), tell=tell)

    return ReportServices(report, benchmarks)


def tell_lost_datasets(out: Path) -> None:
    """Of runs that were written there: which would open without the dataset they had, and what to say then."""
    for plan in discovered(Place([out]), load_config()).plans:
        if plan.run.needs_dataset and not plan.data:
            note(f"{plan.run.kind}, {plan.run.model}: its dataset is not found from there: open it with --data")


def _name(run: Run) -> Named:
    return run.benchmark, run.generation, run.language, run.model, os.path.realpath(run.path)

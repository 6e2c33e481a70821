"""Import Inspect evaluation logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.importers.importer import Importer
from fcreview.model.metric import OwnMetric

if TYPE_CHECKING:
    from fcreview.model.item import ReadRecord, Run
    from fcreview.model.metric import Metric, ScoredItem
    from fcreview.run_plan import (
        DiscoveredRuns,
        ReviewedVerdict,
        RewrittenFile,
        RunPart,
        RunPlan,
        SearchOptions,
        Unrepresentable,
    )
    from fcreview.stats.conventions import TrialTable


class InspectImporter(Importer):
    name = "inspect"
    title = "Inspect"
    expected_files = "Inspect logs, .eval or .json"
    version = 10
    options = ("verdict_from", "scorers")
    own_metrics = (OwnMetric("accuracy", title="accuracy"), OwnMetric("mean", title="mean"))
    needs_part_verdicts = True
    why_no_golden_fix = "an Inspect log has no dataset whose golden answers can be corrected"

    def find_runs(
        self, files: Sequence[Path], dataset_folders: Sequence[Path], search: SearchOptions
    ) -> DiscoveredRuns:
        from fcreview.importers.inspect import discovery

        return discovery.find_runs(files, dataset_folders, search)

    def read_items(self, plan: RunPlan) -> Iterator[ReadRecord]:
        from fcreview.importers.inspect import read

        return read.read_items(plan)

    def split_run(self, plan: RunPlan) -> list[RunPart]:
        from fcreview.importers.inspect import parts

        return parts.split_run(plan)

    def read_part(self, plan: RunPlan, part: RunPart) -> Iterator[ReadRecord]:
        from fcreview.importers.inspect import parts

        return parts.read_part(plan, part)

    def finish_run(self, plan: RunPlan, summaries: Sequence[Any]) -> Iterator[ReadRecord]:
        from fcreview.importers.inspect import parts

        return parts.finish_run(plan, summaries)

    def compute_metrics(self, items: Sequence[ScoredItem], run: Run) -> list[Metric]:
        from fcreview.importers.inspect import leaderboard

        return leaderboard.compute_metrics(items, run)

    def list_trials(self, items: Sequence[ScoredItem], run: Run) -> TrialTable:
        from fcreview.importers.inspect import leaderboard

        return leaderboard.list_trials(items, run)

    def list_verdict_choices(self, plan: RunPlan) -> list[str]:
        from fcreview.importers.inspect import read

        return read.list_choices(plan)

    def write_reviewed_logs(
        self, plan: RunPlan, verdicts: Sequence[ReviewedVerdict], items: Sequence[ScoredItem]
    ) -> Iterator[RewrittenFile | Unrepresentable]:
        from fcreview.importers.inspect import writeback

        return writeback.write_reviewed_logs(plan, verdicts, items)

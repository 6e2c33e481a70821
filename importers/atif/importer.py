"""Import ATIF trajectories and Harbor job folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.importers.importer import Importer
from fcreview.model.metric import OwnMetric

if TYPE_CHECKING:
    from fcreview.model.item import ReadRecord, Run
    from fcreview.model.metric import Metric, ScoredItem
    from fcreview.run_plan import (
        AppliedGoldenFix,
        DiscoveredRuns,
        RewrittenFile,
        RunPlan,
        SearchOptions,
        Unrepresentable,
    )
    from fcreview.stats.conventions import TrialTable


class AtifImporter(Importer):
    name = "atif"
    title = "ATIF"
    expected_files = "ATIF trajectories (trajectory.json with steps), or a Harbor job folder"
    version = 10
    own_metrics = (OwnMetric("mean", title="mean reward", table="reward"),)
    why_no_golden_fix = "an ATIF trajectory has no golden answer to correct"

    def find_runs(
        self, files: Sequence[Path], dataset_folders: Sequence[Path], search: SearchOptions
    ) -> DiscoveredRuns:
        from fcreview.importers.atif import discovery

        return discovery.find_runs(files, dataset_folders, search)

    def read_items(self, plan: RunPlan) -> Iterator[ReadRecord]:
        from fcreview.importers.atif import read

        return read.read_items(plan)

    def compute_metrics(self, items: Sequence[ScoredItem], run: Run) -> list[Metric]:
        from fcreview.importers.atif import leaderboard

        return leaderboard.compute_metrics(items, run)

    def list_trials(self, items: Sequence[ScoredItem], run: Run) -> TrialTable:
        from fcreview.importers.atif import leaderboard

        return leaderboard.list_trials(items, run)

    def rewrite_scores(
        self, plan: RunPlan, items: Sequence[ScoredItem]
    ) -> Iterator[RewrittenFile | Unrepresentable]:
        from fcreview.importers.atif import writeback

        return writeback.rewrite_scores(plan, items)

    def find_summary_files(self, plan: RunPlan) -> list[Path]:
        from fcreview.importers.atif import writeback

        return writeback.find_summary_files(plan)

    def rewrite_golden(
        self, plan: RunPlan, fixes: Mapping[tuple[str, str], dict[str, Any]]
    ) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
        from fcreview.importers.atif import writeback

        return writeback.rewrite_golden(plan, fixes)

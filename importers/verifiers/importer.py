"""Import rollouts of verifiers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fcreview.importers.importer import Importer

if TYPE_CHECKING:
    from fcreview.model.item import ReadRecord, Run
    from fcreview.model.metric import Metric, ScoredItem
    from fcreview.run_plan import (
        DiscoveredRuns,
        RewrittenFile,
        RunPlan,
        SearchOptions,
        Unrepresentable,
    )


class VerifiersImporter(Importer):
    name = "verifiers"
    title = "verifiers"
    expected_files = "traces.jsonl, or results.jsonl with metadata.json"
    options = ("verdict_from",)
    version = 5
    why_no_golden_fix = "the golden answers of verifiers are texts of the environment, not calls"

    def find_runs(
        self, files: Sequence[Path], dataset_folders: Sequence[Path], search: SearchOptions
    ) -> DiscoveredRuns:
        from fcreview.importers.verifiers import discovery

        return discovery.find_runs(files, dataset_folders, search)

    def read_items(self, plan: RunPlan) -> Iterator[ReadRecord]:
        from fcreview.importers.verifiers import read

        return read.read_items(plan)

    def compute_metrics(self, items: Sequence[ScoredItem], run: Run) -> list[Metric]:
        from fcreview.importers.verifiers import leaderboard

        return leaderboard.compute_metrics(items, run)

    def list_verdict_choices(self, plan: RunPlan) -> list[str]:
        from fcreview.importers.verifiers import read

        return read.list_verdict_choices(plan)

    def rewrite_scores(
        self, plan: RunPlan, items: Sequence[ScoredItem]
    ) -> Iterator[RewrittenFile | Unrepresentable]:
        from fcreview.importers.verifiers import writeback

        return writeback.rewrite_scores(plan, items)

    def find_summary_files(self, plan: RunPlan) -> list[Path]:
        from fcreview.importers.verifiers import writeback

        return writeback.find_summary_files(plan)

"""Import output folders of EvalScope."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fcreview.importers.importer import Importer
from fcreview.model.metric import OwnMetric

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
    from fcreview.stats.conventions import TrialTable


class EvalscopeImporter(Importer):
    name = "evalscope"
    title = "EvalScope"
    expected_files = (
        "an output folder of EvalScope with reviews/ or predictions/, MODEL/BENCHMARK_SUBSET.jsonl"
    )
    own_metrics = (
        OwnMetric("OVERALL", title="OVERALL"),
        OwnMetric("score", title="primary metric"),
    )
    version = 7
    why_no_golden_fix = (
        "EvalScope reads golden answers from the benchmark's dataset, which is not in its output"
        " folder"
    )

    def find_runs(
        self, files: Sequence[Path], dataset_folders: Sequence[Path], search: SearchOptions
    ) -> DiscoveredRuns:
        from fcreview.importers.evalscope import discovery

        return discovery.find_runs(files, dataset_folders, search)

    def read_items(self, plan: RunPlan) -> Iterator[ReadRecord]:
        from fcreview.importers.evalscope import read

        return read.read_items(plan)

    def compute_metrics(self, items: Sequence[ScoredItem], run: Run) -> list[Metric]:
        from fcreview.importers.evalscope import leaderboard

        return leaderboard.compute_metrics(items, run)

    def list_trials(self, items: Sequence[ScoredItem], run: Run) -> TrialTable:
        from fcreview.importers.evalscope import leaderboard

        return leaderboard.list_trials(items, run)

    def rewrite_scores(
        self, plan: RunPlan, items: Sequence[ScoredItem]
    ) -> Iterator[RewrittenFile | Unrepresentable]:
        from fcreview.importers.evalscope import writeback

        return writeback.rewrite_scores(plan, items)

    def find_summary_files(self, plan: RunPlan) -> list[Path]:
        from fcreview.importers.evalscope import writeback

        return writeback.find_summary_files(plan)
